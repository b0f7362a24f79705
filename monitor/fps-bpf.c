/* SPDX-License-Identifier: MIT */
/*
 * The kernel's program from the outside: loading it, saying which control group is whose, reading
 * its rows, which are mapped, and putting it on library files. The list of files belongs to the
 * thread that scans; that of vGPUs to the loop, which the scan may look at under the lock.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "fps-bpf/count.h"
#include "gpu/cgroup.h"
#include "monitor/fps-bpf.h"
#include "monitor/present-file.h"
#include "monitor/present-scan.h"

#define LOADER_CACHE  "/etc/ld.so.cache"
#define KERNEL_BTF    "/sys/kernel/btf/vmlinux"
#define UPROBES	      "/sys/bus/event_source/devices/uprobe/type"
#define FILES_MAX     256
#define FILES_OF_VGPU 16 /* of one: who has many leaves room for the others */

/* A file that nobody has mapped in two rounds of looks is let go: it keeps a file system busy. */
#define UNSEEN_SCANS (2 * PRESENT_SCAN_ROUND)

/* fps-bpf/embed.S */
extern const char fps_bpf_present_1[], fps_bpf_present_1_end[];
extern const char fps_bpf_present_2[], fps_bpf_present_2_end[];

/* A library file. */
struct file {
	dev_t dev;
	ino_t ino;
	char vgpu[ID_MAX]; /* where it was met first; "": known to the host's loader */
	unsigned int seen; /* number of the scan */
	struct bpf_link *links[PRESENT_PLACES_MAX];
	int n_links;
	bool failed; /* the program could not be put on all of it */
};

struct watch {
	char id[ID_MAX];
	char folder[PATH_MAX];
	uint64_t group;
	uint32_t row;
	struct fps_bpf_row base; /* what was in the row before */
	struct fps_totals totals;
};

struct fps_bpf {
	struct bpf_object *object;
	struct bpf_program *present;
	struct bpf_link *ends[2];	/* on the ends of threads and programs */
	int groups;			/* the map's fd, the object's */
	const struct fps_bpf_row *rows; /* mapped */
	uint32_t next_row;

	pthread_mutex_t lock; /* for changing the list, and for reading it outside the loop */
	struct watch **watches;
	size_t n_watches;

	/* the scan's */
	struct present_scan *scan;
	unsigned int scans;
	struct timespec cache_mtime;
	struct file files[FILES_MAX];
	int n_files;
	const char *scanned; /* the vGPU that is being looked at; "": the host */
	int attach_errno;    /* of the last file that refused */
	int crowded;	     /* files for which there was no room in this scan */
	atomic_int counted, refused;
};

static size_t rows_size(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (FPS_BPF_ROWS * sizeof(struct fps_bpf_row) + page - 1) / page * page;
}

/* --- library files --- */

static struct file *file_find(struct fps_bpf *bpf, const struct stat *st)
{
	for (int i = 0; i < bpf->n_files; i++)
		if (bpf->files[i].dev == st->st_dev && bpf->files[i].ino == st->st_ino)
			return &bpf->files[i];
	return NULL;
}

static bool has_room(const struct fps_bpf *bpf)
{
	int same = 0;

	for (int i = 0; i < bpf->n_files; i++)
		same += strcmp(bpf->files[i].vgpu, bpf->scanned) == 0;
	return bpf->n_files < FILES_MAX && (same < FILES_OF_VGPU || bpf->scanned[0] == '\0');
}

/* Puts the program on every function of @path that presents. All that worked is kept. */
static int file_attach(struct fps_bpf *bpf, struct file *file, const char *path, int fd)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options);
	struct present_file found;
	int r = present_file_read(fd, &found);

	for (int i = 0; r == 0 && i < found.n; i++) {
		struct bpf_link *link = bpf_program__attach_uprobe_opts(bpf->present, -1, path,
									found.place[i], &options);

		if (link)
			file->links[file->n_links++] = link;
		else
			r = -errno;
	}
	return r;
}

static void file_detach(struct file *file)
{
	for (int i = 0; i < file->n_links; i++)
		(void)bpf_link__destroy(file->links[i]);
}

/* A library that is in use. Known ones are noted, new ones taken up; one that cannot be is
 * remembered too, so that it is not tried again and again. */
static void meet_file(void *userdata, const char *path)
{
	struct fps_bpf *bpf = userdata;
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct file fresh = {.seen = bpf->scans};
	struct file *known;
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	known = file_find(bpf, &st);
	if (known) {
		known->seen = bpf->scans;
		if (bpf->scanned[0] == '\0')
			known->vgpu[0] = '\0';
		return;
	}
	if (!has_room(bpf)) {
		bpf->crowded++;
		return;
	}
	fresh.dev = st.st_dev;
	fresh.ino = st.st_ino;
	strcpy(fresh.vgpu, bpf->scanned);
	r = file_attach(bpf, &fresh, path, fd);
	if (r < 0)
		bpf->attach_errno = r;
	fresh.failed = r < 0;
	bpf->files[bpf->n_files++] = fresh;
}

/* What the host's loader knows, when its list has changed; else all of it stands as it was. */
static void scan_host(struct fps_bpf *bpf)
{
	struct stat st;

	bpf->scanned = "";
	if (stat(LOADER_CACHE, &st) < 0 || (st.st_mtim.tv_sec == bpf->cache_mtime.tv_sec &&
					    st.st_mtim.tv_nsec == bpf->cache_mtime.tv_nsec)) {
		for (int i = 0; i < bpf->n_files; i++)
			if (bpf->files[i].vgpu[0] == '\0')
				bpf->files[i].seen = bpf->scans;
		return;
	}
	bpf->cache_mtime = st.st_mtim;
	(void)present_scan_cache(LOADER_CACHE, meet_file, bpf);
}

static void drop_unseen(struct fps_bpf *bpf)
{
	for (int i = bpf->n_files; i-- > 0;) {
		if (bpf->scans - bpf->files[i].seen <= UNSEEN_SCANS)
			continue;
		file_detach(&bpf->files[i]);
		bpf->files[i] = bpf->files[--bpf->n_files];
	}
}

static void tell_files(struct fps_bpf *bpf)
{
	int counted = 0, refused = bpf->crowded;

	for (int i = 0; i < bpf->n_files; i++) {
		counted += bpf->files[i].n_links > 0;
		refused += bpf->files[i].failed;
	}
	atomic_store(&bpf->counted, counted);
	atomic_store(&bpf->refused, refused);
}

struct place {
	char id[ID_MAX];
	char folder[PATH_MAX];
};

/* A copy of whom to look at, as the loop may change the list meanwhile. */
static size_t copy_places(struct fps_bpf *bpf, struct place **ret_places)
{
	struct place *places;
	size_t n = 0;

	pthread_mutex_lock(&bpf->lock);
	places = calloc(bpf->n_watches + 1, sizeof(*places));
	for (; places && n < bpf->n_watches; n++) {
		memcpy(places[n].id, bpf->watches[n]->id, sizeof(places[n].id));
		memcpy(places[n].folder, bpf->watches[n]->folder, sizeof(places[n].folder));
	}
	pthread_mutex_unlock(&bpf->lock);
	*ret_places = places;
	return n;
}

void fps_bpf_scan(struct fps_bpf *bpf)
{
	CLEANUP_FREE struct place *places = NULL;
	size_t n = copy_places(bpf, &places);

	bpf->scans++;
	bpf->crowded = 0;
	scan_host(bpf);
	present_scan_begin(bpf->scan);
	/* Each time another is first, in case not all have a turn. */
	for (size_t i = 0; i < n; i++) {
		const struct place *place = &places[(i + bpf->scans) % n];

		bpf->scanned = place->id;
		present_scan_group(bpf->scan, place->folder, meet_file, bpf);
	}
	present_scan_end(bpf->scan);
	drop_unseen(bpf);
	tell_files(bpf);
}

void fps_bpf_stats(const struct fps_bpf *bpf, struct fps_bpf_stats *ret_stats)
{
	*ret_stats = (struct fps_bpf_stats){
		.files = atomic_load(&bpf->counted),
		.refused = atomic_load(&bpf->refused),
	};
}

/* --- vGPUs --- */

static struct watch **watch_find(const struct fps_bpf *bpf, const char *id)
{
	for (size_t i = 0; i < bpf->n_watches; i++)
		if (strcmp(bpf->watches[i]->id, id) == 0)
			return &bpf->watches[i];
	return NULL;
}

/* The kernel's number of a control group, which is that of its folder's handle. */
static int group_number(const char *folder, uint64_t *ret_group)
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

/* One after the other: what comes late for a vGPU that is gone meets no other. */
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

int fps_bpf_watch(struct fps_bpf *bpf, const char *id, const char *folder)
{
	CLEANUP_FREE struct watch *watch = NULL;
	struct watch **grown;
	int r;

	if (watch_find(bpf, id))
		return 0;
	if (bpf->n_watches >= FPS_BPF_ROWS)
		return -ENOSPC;
	if (strlen(folder) >= PATH_MAX)
		return -ENAMETOOLONG;
	watch = calloc(1, sizeof(*watch));
	if (!watch || id_copy(watch->id, id) < 0)
		return -ENOMEM;
	strcpy(watch->folder, folder);
	r = group_number(folder, &watch->group);
	if (r < 0)
		return r;
	watch->row = free_row(bpf);
	row_read(bpf, watch->row, &watch->base);
	pthread_mutex_lock(&bpf->lock);
	grown = realloc(bpf->watches, (bpf->n_watches + 1) * sizeof(*grown));
	if (grown)
		bpf->watches = grown;
	r = grown ? bpf_map_update_elem(bpf->groups, &watch->group, &watch->row, BPF_ANY) : -ENOMEM;
	if (r == 0) {
		grown[bpf->n_watches++] = watch;
		watch = NULL;
	}
	pthread_mutex_unlock(&bpf->lock);
	return r;
}

void fps_bpf_forget(struct fps_bpf *bpf, const char *id)
{
	struct watch **known = watch_find(bpf, id);

	if (!known)
		return;
	(void)bpf_map_delete_elem(bpf->groups, &(*known)->group);
	pthread_mutex_lock(&bpf->lock);
	free(*known);
	*known = bpf->watches[--bpf->n_watches];
	pthread_mutex_unlock(&bpf->lock);
}

const struct fps_totals *fps_bpf_totals(struct fps_bpf *bpf, const char *id)
{
	struct watch **known = watch_find(bpf, id), *watch;
	struct fps_bpf_row now;

	if (!known)
		return NULL;
	watch = *known;
	row_read(bpf, watch->row, &now);
	watch->totals.frames = now.frames - watch->base.frames;
	for (int b = 0; b < FPS_WIRE_BUCKETS; b++)
		watch->totals.frame_time[b] = now.frame_time[b] - watch->base.frame_time[b];
	watch->totals.open = now.threads > 0 ? (int)now.threads : 0;
	if (now.last_ns > watch->base.last_ns)
		watch->totals.newest_ns = now.last_ns;
	if (now.longest_gap_ns > watch->base.longest_gap_ns)
		watch->totals.longest_gap_ns = now.longest_gap_ns;
	return &watch->totals;
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
				"%s: not allowed (%s); run gover-d as root, or with CAP_BPF, "
				"CAP_PERFMON and CAP_SYS_ADMIN, and not under a lockdown",
				what, strerror(error));
	return err_fail(reterr, EOPNOTSUPP,
			"%s: %s; Linux 5.7 or later with CONFIG_BPF_SYSCALL and CONFIG_BPF_EVENTS "
			"is needed",
			what, strerror(error));
}

/* What can be said of this host before the kernel is asked. *ret_version: of its control groups. */
static int look_at_host(int *ret_version, struct err *reterr)
{
	CLEANUP_FREE struct cgroup_host *host = calloc(1, sizeof(*host));
	int r = host ? cgroup_find(CGROUP_MOUNTINFO, host, reterr)
		     : err_fail(reterr, ENOMEM, "no memory");

	if (r < 0)
		return r;
	if (access(UPROBES, F_OK) < 0)
		return err_fail(reterr, EOPNOTSUPP,
				"%s does not exist: the kernel was built without "
				"CONFIG_UPROBE_EVENTS, or /sys is not its own",
				UPROBES);
	if (host->version->number == 1 && access(KERNEL_BTF, R_OK) < 0)
		return err_fail(
			reterr, EOPNOTSUPP,
			"%s cannot be read: with control groups of version 1 the "
			"kernel's own types are needed (CONFIG_DEBUG_INFO_BTF); boot with "
			"systemd.unified_cgroup_hierarchy=1 for version 2, which needs none",
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
	_Static_assert(ARRAY_SIZE(ends) == ARRAY_SIZE(bpf->ends), "each is kept");

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

static int load(struct fps_bpf *bpf, int version, struct err *reterr)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "gover_fps");
	const char *bytes = version == 1 ? fps_bpf_present_1 : fps_bpf_present_2;
	const char *end = version == 1 ? fps_bpf_present_1_end : fps_bpf_present_2_end;
	const void *mapped;
	int rows;

	(void)libbpf_set_print(silence); /* it would write to stderr */
	bpf->object = bpf_object__open_mem(bytes, (size_t)(end - bytes), &options);
	if (!bpf->object)
		return fail_load(reterr, errno, "the BPF program cannot be read");
	if (bpf_object__load(bpf->object) < 0)
		return fail_load(reterr, errno, "the kernel does not take the BPF program");
	bpf->present = bpf_object__find_program_by_name(bpf->object, "present");
	bpf->groups = bpf_object__find_map_fd_by_name(bpf->object, "groups");
	rows = bpf_object__find_map_fd_by_name(bpf->object, "rows");
	if (!bpf->present || bpf->groups < 0 || rows < 0)
		return err_fail(reterr, EINVAL, "the BPF program is not the one of this build");
	mapped = mmap(NULL, rows_size(), PROT_READ, MAP_SHARED, rows, 0);
	if (mapped == MAP_FAILED)
		return fail_load(reterr, errno, "the counters cannot be mapped");
	bpf->rows = mapped;
	return attach_ends(bpf, reterr);
}

int fps_bpf_new(struct fps_bpf **ret_bpf, struct err *reterr)
{
	struct fps_bpf *bpf = calloc(1, sizeof(*bpf));
	int version = 2, r;

	if (!bpf)
		return err_fail(reterr, ENOMEM, "no memory");
	(void)pthread_mutex_init(&bpf->lock, NULL);
	r = look_at_host(&version, reterr);
	if (r == 0)
		r = load(bpf, version, reterr);
	if (r == 0 && present_scan_new("/proc", &bpf->scan) < 0)
		r = err_fail(reterr, ENOMEM, "no memory");
	if (r == 0) {
		fps_bpf_scan(bpf);
		if (bpf->attach_errno < 0 && atomic_load(&bpf->counted) == 0)
			r = fail_load(reterr, -bpf->attach_errno,
				      "the BPF program cannot be put on a library");
	}
	if (r < 0) {
		fps_bpf_free(bpf);
		return r;
	}
	*ret_bpf = bpf;
	return 0;
}

struct fps_bpf *fps_bpf_free(struct fps_bpf *bpf)
{
	if (!bpf)
		return NULL;
	while (bpf->n_files > 0)
		file_detach(&bpf->files[--bpf->n_files]);
	for (size_t i = 0; i < ARRAY_SIZE(bpf->ends); i++)
		(void)bpf_link__destroy(bpf->ends[i]);
	present_scan_free(bpf->scan);
	while (bpf->n_watches > 0)
		free(bpf->watches[--bpf->n_watches]);
	free(bpf->watches);
	if (bpf->rows)
		(void)munmap((void *)(uintptr_t)bpf->rows, rows_size());
	bpf_object__close(bpf->object); /* NULL is fine */
	(void)pthread_mutex_destroy(&bpf->lock);
	free(bpf);
	return NULL;
}
