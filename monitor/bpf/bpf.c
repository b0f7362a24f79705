/* SPDX-License-Identifier: MIT */
/*
 * Loads the BPF program, assigns control groups to vGPUs, and reads the counters from mapped
 * memory.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/xalloc.h"
#include "monitor/bpf/count.h"
#include "gpu/cgroup.h"
#include "monitor/bpf/bpf.h"
#include "monitor/bpf/files.h"
#include "monitor/fps/phase.h"

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"
#define UPROBES	   "/sys/bus/event_source/devices/uprobe/type"

/* The compiled BPF programs, embedded by monitor/bpf/embed.S. */
extern const char fps_bpf_present_1[], fps_bpf_present_1_end[];
extern const char fps_bpf_present_2[], fps_bpf_present_2_end[];

struct watch {
	char id[ID_MAX];
	uint64_t group;
	uint32_t row;
	struct fps_bpf_row base; /* counters of @row when counting for this vGPU began */
	struct fps_totals totals;
	struct fps_phase phase; /* of all programs together */
};

struct fps_bpf {
	struct bpf_object *object;
	struct bpf_link *ends[2];	/* links to the tracepoints of thread exit and exec() */
	int groups;			/* fd of the map of control groups, owned by @object */
	const struct fps_bpf_row *rows; /* mapped */
	uint32_t next_row;
	struct watch **watches; /* sorted by id */
	size_t n_watches;
	struct fps_bpf_files *files;
};

static size_t rows_size(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (FPS_BPF_ROWS * sizeof(struct fps_bpf_row) + page - 1) / page * page;
}

/* --- vGPUs --- */

static int watch_compare(const void *id, const void *entry)
{
	return strcmp(id, (*(struct watch *const *)entry)->id);
}

static struct watch **watch_find(const struct fps_bpf *bpf, const char *id)
{
	if (bpf->n_watches == 0)
		return NULL;
	return bsearch(id, bpf->watches, bpf->n_watches, sizeof(*bpf->watches), watch_compare);
}

static void watch_insert(struct fps_bpf *bpf, struct watch *watch)
{
	size_t at = bpf->n_watches++;

	for (; at > 0 && strcmp(bpf->watches[at - 1]->id, watch->id) > 0; at--)
		bpf->watches[at] = bpf->watches[at - 1];
	bpf->watches[at] = watch;
}

/*
 * Returns the kernel's id of a control group. The file handle of the group's folder contains the
 * id.
 */
static int group_id(const char *folder, uint64_t *ret_group)
{
	union {
		struct file_handle handle;
		char bytes[sizeof(struct file_handle) + sizeof(uint64_t)];
	} file = {.handle.handle_bytes = sizeof(uint64_t)};
	int mount;

	if (name_to_handle_at(AT_FDCWD, folder, &file.handle, &mount, 0) < 0)
		return -errno;
	if (file.handle.handle_bytes != sizeof(uint64_t))
		return -EOPNOTSUPP;
	memcpy(ret_group, file.handle.f_handle, sizeof(*ret_group));
	return 0;
}

static bool row_taken(const struct fps_bpf *bpf, uint32_t row)
{
	for (size_t i = 0; i < bpf->n_watches; i++)
		if (bpf->watches[i]->row == row)
			return true;
	return false;
}

/*
 * Returns an unused row of counters. Reuses rows as late as possible, so that late frames of a
 * removed vGPU are not counted for another vGPU.
 */
static uint32_t free_row(struct fps_bpf *bpf)
{
	do
		bpf->next_row = (bpf->next_row + 1) % FPS_BPF_ROWS;
	while (row_taken(bpf, bpf->next_row));
	return bpf->next_row;
}

static void row_read(const struct fps_bpf *bpf, uint32_t index, struct fps_bpf_row *ret_row)
{
	const struct fps_bpf_row *row = &bpf->rows[index];

	ret_row->frames = __atomic_load_n(&row->frames, __ATOMIC_RELAXED);
	ret_row->last_ns = __atomic_load_n(&row->last_ns, __ATOMIC_RELAXED);
	ret_row->longest_gap_ns = __atomic_load_n(&row->longest_gap_ns, __ATOMIC_RELAXED);
	ret_row->threads = __atomic_load_n(&row->threads, __ATOMIC_RELAXED);
	for (int b = 0; b < FPS_WIRE_BUCKETS; b++)
		ret_row->frame_time[b] = __atomic_load_n(&row->frame_time[b], __ATOMIC_RELAXED);
}

/* Starts counting the frames of vGPU watch->id and scanning its programs. */
static int watch_begin(struct fps_bpf *bpf, const struct watch *watch, const char *folder)
{
	int r = fps_bpf_files_add(bpf->files, watch->id, folder);

	if (r == 0 && bpf_map_update_elem(bpf->groups, &watch->group, &watch->row, BPF_ANY) < 0) {
		r = -errno;
		fps_bpf_files_drop(bpf->files, watch->id);
	}
	return r;
}

int fps_bpf_watch(struct fps_bpf *bpf, const char *id, const char *folder)
{
	CLEANUP_FREE struct watch *watch = NULL;
	int r;

	if (watch_find(bpf, id))
		return 0;
	if (bpf->n_watches >= FPS_BPF_ROWS)
		return -ENOSPC;
	bpf->watches = xreallocarray(bpf->watches, bpf->n_watches + 1, sizeof(struct watch *));
	watch = xcalloc(1, sizeof(*watch));
	if (id_copy(watch->id, id) < 0)
		return -EINVAL;
	r = group_id(folder, &watch->group);
	if (r < 0)
		return r;
	watch->row = free_row(bpf);
	row_read(bpf, watch->row, &watch->base);
	r = watch_begin(bpf, watch, folder);
	if (r < 0)
		return r;
	watch_insert(bpf, watch);
	watch = NULL;
	return 0;
}

void fps_bpf_forget(struct fps_bpf *bpf, const char *id)
{
	struct watch **known = watch_find(bpf, id);

	if (!known)
		return;
	(void)bpf_map_delete_elem(bpf->groups, &(*known)->group);
	fps_bpf_files_drop(bpf->files, id);
	free(*known);
	bpf->n_watches--;
	memmove(known, known + 1, (size_t)(bpf->watches + bpf->n_watches - known) * sizeof(*known));
}

const struct fps_totals *fps_bpf_totals(struct fps_bpf *bpf, const char *id)
{
	struct watch **known = watch_find(bpf, id), *watch;
	struct fps_bpf_row now;
	uint64_t before;

	if (!known)
		return NULL;
	watch = *known;
	watch->totals.at_ns = clock_now().mono_ns;
	row_read(bpf, watch->row, &now);
	before = watch->totals.frames;
	watch->totals.frames = now.frames - watch->base.frames;
	for (int b = 0; b < FPS_WIRE_BUCKETS; b++)
		watch->totals.frame_time[b] = now.frame_time[b] - watch->base.frame_time[b];
	watch->totals.open = now.threads > 0 ? (int)now.threads : 0;
	if (now.last_ns > watch->base.last_ns)
		watch->totals.newest_ns = now.last_ns;
	watch->totals.partial_frames = fps_phase_take(&watch->phase, watch->totals.frames - before,
						      watch->totals.newest_ns, watch->totals.at_ns);
	if (watch->totals.open == 0) {
		watch->totals.partial_frames = 0;
		watch->phase = (struct fps_phase){0}; /* the next frame is of another program */
	}
	if (now.longest_gap_ns > watch->base.longest_gap_ns)
		watch->totals.longest_gap_ns = now.longest_gap_ns;
	return &watch->totals;
}

bool fps_bpf_request_scan(struct fps_bpf *bpf)
{
	return fps_bpf_files_request_scan(bpf->files);
}

void fps_bpf_stats(const struct fps_bpf *bpf, struct fps_bpf_stats *ret_stats)
{
	fps_bpf_files_stats(bpf->files, &ret_stats->files, &ret_stats->refused);
}

/* --- loading --- */

static int silence(enum libbpf_print_level level, const char *format, va_list ap)
{
	(void)level, (void)format, (void)ap;
	return 0;
}

static int fail_load(struct err *reterr, int error, const char *what)
{
	if (error == EPERM || error == EACCES)
		return err_fail(reterr, EPERM,
				"%s: not permitted (%s); needs root or CAP_BPF, CAP_PERFMON and "
				"CAP_SYS_ADMIN, and no kernel lockdown",
				what, strerror(error));
	return err_fail(reterr, EOPNOTSUPP,
			"%s: %s; needs Linux 5.7 or later with CONFIG_BPF_SYSCALL and "
			"CONFIG_BPF_EVENTS",
			what, strerror(error));
}

/*
 * Checks the requirements that can be checked without root. Sets *ret_version to the version of the
 * control groups.
 */
static int check_host(int *ret_version, struct err *reterr)
{
	CLEANUP_FREE struct cgroup_host *host = xcalloc(1, sizeof(*host));
	int r = cgroup_find(CGROUP_MOUNTINFO, host, reterr);

	if (r < 0)
		return r;
	if (access(UPROBES, F_OK) < 0)
		return err_fail(reterr, EOPNOTSUPP,
				"%s: missing (needs a kernel with CONFIG_UPROBE_EVENTS and a "
				"mounted /sys)",
				UPROBES);
	if (host->version->number == 1 && access(KERNEL_BTF, R_OK) < 0)
		return err_fail(reterr, EOPNOTSUPP,
				"%s: not readable, but needed with control groups of version 1 "
				"(CONFIG_DEBUG_INFO_BTF); boot with "
				"systemd.unified_cgroup_hierarchy=1 to use version 2 instead",
				KERNEL_BTF);
	*ret_version = host->version->number;
	return 0;
}

static int attach_ends(struct fps_bpf *bpf, struct err *reterr)
{
	static const struct {
		const char *program, *tracepoint;
	} ends[] = {
		{"thread_exit", "sched_process_exit"},
		{"thread_exec", "sched_process_exec"},
	};
	_Static_assert(ARRAY_SIZE(ends) == ARRAY_SIZE(bpf->ends), "every link is stored");

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct bpf_program *program =
			bpf_object__find_program_by_name(bpf->object, ends[i].program);

		bpf->ends[i] =
			program ? bpf_program__attach_raw_tracepoint(program, ends[i].tracepoint)
				: NULL;
		if (!bpf->ends[i])
			return fail_load(reterr, errno, ends[i].tracepoint);
	}
	return 0;
}

static int attach_files(struct fps_bpf *bpf, struct err *reterr)
{
	struct bpf_program *present = bpf_object__find_program_by_name(bpf->object, "present");
	int r = present ? fps_bpf_files_new(present, &bpf->files) : -EINVAL;

	return r < 0 ? fail_load(reterr, -r, "cannot attach the BPF program to a library") : 0;
}

static int load(struct fps_bpf *bpf, int version, struct err *reterr)
{
	struct bpf_object_open_opts options = {.sz = sizeof(options), .object_name = "gover_fps"};
	const char *bytes = version == 1 ? fps_bpf_present_1 : fps_bpf_present_2;
	const char *end = version == 1 ? fps_bpf_present_1_end : fps_bpf_present_2_end;
	const void *mapped;
	int rows;

	(void)libbpf_set_print(silence); /* without this call libbpf prints to stderr */
	bpf->object = bpf_object__open_mem(bytes, (size_t)(end - bytes), &options);
	if (!bpf->object)
		return fail_load(reterr, errno, "cannot open the BPF program");
	if (bpf_object__load(bpf->object) < 0)
		return fail_load(reterr, errno, "the kernel rejects the BPF program");
	bpf->groups = bpf_object__find_map_fd_by_name(bpf->object, "groups");
	rows = bpf_object__find_map_fd_by_name(bpf->object, "rows");
	if (bpf->groups < 0 || rows < 0)
		return err_fail(reterr, EINVAL,
				"the BPF program does not match this build of gover-d");
	mapped = mmap(NULL, rows_size(), PROT_READ, MAP_SHARED, rows, 0);
	if (mapped == MAP_FAILED)
		return fail_load(reterr, errno, "cannot map the counters");
	bpf->rows = mapped;
	return attach_ends(bpf, reterr);
}

int fps_bpf_new(struct fps_bpf **ret_bpf, struct err *reterr)
{
	struct fps_bpf *bpf = xcalloc(1, sizeof(*bpf));
	int version = 2, r;

	r = check_host(&version, reterr);
	if (r == 0)
		r = load(bpf, version, reterr);
	if (r == 0)
		r = attach_files(bpf, reterr);
	if (r < 0) {
		fps_bpf_free(bpf);
		return r;
	}
	*ret_bpf = bpf;
	return 0;
}

struct fps_bpf *fps_bpf_free(struct fps_bpf *bpf)
{
	if (!bpf || !fps_bpf_files_free(bpf->files))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(bpf->ends); i++)
		(void)bpf_link__destroy(bpf->ends[i]);
	while (bpf->n_watches > 0)
		free(bpf->watches[--bpf->n_watches]);
	free(bpf->watches);
	if (bpf->rows)
		(void)munmap((void *)(uintptr_t)bpf->rows, rows_size());
	bpf_object__close(bpf->object);
	free(bpf);
	return NULL;
}
