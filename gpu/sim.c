/* SPDX-License-Identifier: MIT */
/*
 * A simulated GPU inside the daemon. It runs the model in sim/model/ by the monotonic clock of the
 * host, multiplied by speed. It ends with the daemon; a new daemon starts without vGPUs. Each
 * reading advances the simulation to the instant of the reading. The label "workload" defines the
 * load of a vGPU (sim/model/workload.h). With unit = work, a frame of the model counts as a unit of
 * work.
 *
 * If root is set, it is a control folder: tests and operators put files into it to change the GPU
 * of a running daemon. The daemon reads the folder once a tick, when it reads the physical
 * utilisation:
 *
 *   ID.cap       a number, 0 to 100: sets the cap, as an external writer would; 0 is no limit
 *   ID.workload  one line: the new workload
 *   ID.gone      may be empty: the vGPU disappears, and reading it fails with ENODEV
 *   ID.fault     a fault of the vGPU, to rehearse alerts: "read" (its busy time cannot be read),
 *                "write" (its cap cannot be written), "cap" (its cap is not enforced), "ignore" (a
 *                write of its cap is acknowledged and ignored), "forget" (the cap before a write
 *                returns at the next reading), "stall" (it gets no GPU time and draws no frames,
 *                as on a GPU that hangs), or "none"
 *
 * After the change the file is removed. If the vGPU does not exist or the value is not allowed, the
 * file is renamed to FILE.bad. An empty ID.cap or ID.workload is read again at the next tick,
 * because it may not be written completely. Files with other names are ignored.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/xalloc.h"
#include "gpu/gpu.h"
#include "kernel/sched/sched.h"
#include "sim/model/sim.h"

struct gpu {
	struct sim *sim;
	double speed;
	enum gpu_unit unit;
	bool started;
	uint64_t start_mono_ns; /* host time at which the simulation started */
	struct gpu_vgpu *attached;
	char root[PATH_MAX]; /* path of the control folder; "": no control folder */
};

enum fault {
	FAULT_NONE,
	FAULT_READ,
	FAULT_WRITE,
	FAULT_CAP,
	FAULT_IGNORE,
	FAULT_FORGET,
	FAULT_STALL,
};
static const char *const fault_names[] = {"none",   "read",   "write", "cap",
					  "ignore", "forget", "stall"};

struct gpu_vgpu {
	struct gpu_vgpu *next; /* element of gpu.attached */
	struct gpu *gpu;
	struct sim_vgpu *vgpu; /* NULL: the vGPU has disappeared */
	uint64_t serial;       /* of @vgpu */
	enum fault fault;
	struct sim_counters last;    /* of the last reading */
	struct sim_counters stalled; /* busy time and frames that FAULT_STALL has left out */
	int shown_cap_pct;	     /* during FAULT_CAP: the cap that readers see */
	bool forgets;		     /* during FAULT_FORGET: the next reading sets kept_cap_pct */
	int kept_cap_pct;
};

/* Returns the cap that readers see. */
static int shown_cap(const struct gpu_vgpu *attached)
{
	return attached->fault == FAULT_CAP ? attached->shown_cap_pct : sim_cap(attached->vgpu);
}

static int open_gpu(const struct gpu_config *config, struct gpu **ret_gpu, struct err *reterr)
{
	struct gpu *gpu;
	DIR *dir;

	if (config->root[0] != '\0') {
		dir = opendir(config->root);
		if (!dir)
			return err_fail(reterr, errno, "gpu %s: control folder %s: %s",
					config->name, config->root, strerror(errno));
		closedir(dir);
	}
	gpu = xcalloc(1, sizeof(*gpu));
	gpu->sim = sim_new();
	gpu->speed = gpu_speed(config);
	gpu->unit = strcmp(config->unit, "work") == 0 ? GPU_WORK : GPU_FRAMES;
	strcpy(gpu->root, config->root);
	*ret_gpu = gpu;
	return 0;
}

static void close_gpu(struct gpu *gpu)
{
	if (!gpu)
		return;
	sim_free(gpu->sim);
	free(gpu);
}

static void get_traits(const struct gpu *gpu, struct gpu_traits *ret_traits)
{
	*ret_traits = (struct gpu_traits){
		.step_pct = 1,
		.floor_pct = 1,
		.min_interval_ms = 100,
		.share = GPU_HARD_CAP,
		.guarantees = sim_discipline(gpu->sim) == sched_sharing_find("guarantee"),
		.creates = true,
		.counts_frames = true,
		.unit = gpu->unit,
	};
}

static void catch_up(struct gpu *gpu, uint64_t now_mono_ns)
{
	if (!gpu->started) {
		gpu->started = true;
		gpu->start_mono_ns = now_mono_ns;
	}
	if (now_mono_ns > gpu->start_mono_ns)
		sim_advance(gpu->sim,
			    (uint64_t)((double)(now_mono_ns - gpu->start_mono_ns) * gpu->speed));
}

static int list_vgpus(struct gpu *gpu, gpu_found_fn found, void *userdata)
{
	const struct sim_vgpu *vgpu;

	for (size_t i = 0; (vgpu = sim_at(gpu->sim, i)); i++)
		found(userdata, sim_id(vgpu), sim_initial_cap(vgpu));
	return 0;
}

static int create_vgpu(struct gpu *gpu, const char *id, int cap_pct, struct err *reterr)
{
	struct sim_vgpu *vgpu;
	int r = cap_pct < 1 ? -EINVAL : sim_add(gpu->sim, id, cap_pct, &vgpu);

	switch (-r) {
	case 0:
		return 0;
	case EEXIST:
		return err_fail(reterr, EEXIST, "vGPU %s exists already", id);
	case ENOSPC:
		return err_fail(reterr, ENOSPC,
				"vGPU %s: too many vGPUs on a simulated GPU (limit %d)", id,
				SIM_VGPUS_MAX);
	case EINVAL:
		return err_fail(reterr, EINVAL,
				"vGPU %s: cap %d %% is not allowed (allowed: 1..100)", id, cap_pct);
	default:
		return err_fail(reterr, -r, "vGPU %s: %s", id, strerror(-r));
	}
}

static void remove_vgpu(struct gpu *gpu, struct sim_vgpu *vgpu)
{
	for (struct gpu_vgpu *a = gpu->attached; a; a = a->next)
		if (a->vgpu == vgpu)
			a->vgpu = NULL;
	sim_remove(gpu->sim, vgpu);
}

static int destroy_vgpu(struct gpu *gpu, const char *id, struct err *reterr)
{
	struct sim_vgpu *vgpu = sim_find(gpu->sim, id);

	if (!vgpu)
		return err_fail(reterr, ENOENT, "vGPU %s does not exist", id);
	remove_vgpu(gpu, vgpu);
	return 0;
}

static int attach_vgpu(struct gpu *gpu, const char *id, uint64_t now_mono_ns,
		       struct gpu_vgpu **ret_vgpu, struct err *reterr)
{
	struct sim_vgpu *vgpu = sim_find(gpu->sim, id);
	struct gpu_vgpu *attached;

	if (!vgpu)
		return err_fail(reterr, ENOENT, "vGPU %s does not exist", id);
	attached = xmalloc(sizeof(*attached));
	catch_up(gpu, now_mono_ns);
	*attached = (struct gpu_vgpu){
		.next = gpu->attached, .gpu = gpu, .vgpu = vgpu, .serial = sim_serial(vgpu)};
	gpu->attached = attached;
	*ret_vgpu = attached;
	return 0;
}

static void detach_vgpu(struct gpu_vgpu *attached)
{
	struct gpu_vgpu **link;

	if (!attached)
		return;
	for (link = &attached->gpu->attached; *link != attached; link = &(*link)->next)
		;
	*link = attached->next;
	free(attached);
}

static uint64_t get_identity(const struct gpu_vgpu *attached)
{
	return attached->serial;
}

/* The model goes on during FAULT_STALL. What it counts then is left out of all later readings. */
static void leave_out_stalls(struct gpu_vgpu *attached, struct sim_counters *counters)
{
	counters->busy_ns -= attached->stalled.busy_ns;
	counters->frames -= attached->stalled.frames;
	if (attached->fault == FAULT_STALL) {
		attached->stalled.busy_ns += counters->busy_ns - attached->last.busy_ns;
		attached->stalled.frames += counters->frames - attached->last.frames;
		counters->busy_ns = attached->last.busy_ns;
		counters->frames = attached->last.frames;
		counters->frame_p99_ms = 0;
	}
	attached->last = *counters;
}

static int read_vgpu(struct gpu_vgpu *attached, uint64_t now_mono_ns,
		     struct gpu_reading *ret_reading)
{
	struct sim *sim = attached->gpu->sim;
	struct sim_counters counters;

	if (!attached->vgpu)
		return -ENODEV;
	catch_up(attached->gpu, now_mono_ns);
	if (attached->forgets)
		(void)sim_set_cap(sim, attached->vgpu, attached->kept_cap_pct);
	attached->forgets = false;
	sim_read(sim, attached->vgpu, &counters);
	leave_out_stalls(attached, &counters);
	*ret_reading = (struct gpu_reading){
		.at_ns = sim_now_ns(sim),
		.busy_valid = attached->fault != FAULT_READ,
		.busy_ns = counters.busy_ns,
		.sched_ns = counters.sched_ns,
		.cap_valid = true,
		.cap_pct = shown_cap(attached),
		.ask = attached->fault == FAULT_STALL ? GPU_ASK_UNKNOWN
		       : counters.has_work	      ? GPU_ASK_WORK
						      : GPU_ASK_NOTHING,
		.frames_valid = counters.makes_frames,
		.frames = counters.frames,
		.frame_p99_ms =
			attached->gpu->unit == GPU_FRAMES ? (float)counters.frame_p99_ms : 0,
	};
	return 0;
}

static int write_cap(struct gpu_vgpu *attached, uint64_t now_mono_ns, int cap_pct)
{
	if (cap_pct < 1 || cap_pct > 100)
		return -EINVAL;
	if (!attached->vgpu)
		return -ENODEV;
	if (attached->fault == FAULT_WRITE)
		return -EIO;
	if (attached->fault == FAULT_IGNORE)
		return 0;
	if (attached->fault == FAULT_CAP) {
		attached->shown_cap_pct = cap_pct;
		return 0;
	}
	if (attached->fault == FAULT_FORGET && !attached->forgets) {
		attached->kept_cap_pct = sim_cap(attached->vgpu);
		attached->forgets = true;
	}
	catch_up(attached->gpu, now_mono_ns);
	return sim_set_cap(attached->gpu->sim, attached->vgpu, cap_pct);
}

static int set_sharing(struct gpu *gpu, bool guarantee, bool by_default, struct err *reterr)
{
	(void)by_default, (void)reterr;
	sim_set_discipline(gpu->sim, sched_sharing_find(gpu_sharing_name(guarantee)));
	return 0;
}

static int write_ceiling(struct gpu_vgpu *attached, int ceiling_pct)
{
	return attached->vgpu ? sim_set_ceiling(attached->vgpu, ceiling_pct) : -ENODEV;
}

static int read_cap(struct gpu_vgpu *attached, int *ret_cap_pct)
{
	if (!attached->vgpu)
		return -ENODEV;
	*ret_cap_pct = shown_cap(attached);
	return 0;
}

static int set_label(struct gpu_vgpu *attached, const char *key, const char *value,
		     struct err *reterr)
{
	struct workload workload;
	int r;

	if (strcmp(key, "workload") != 0)
		return 0;
	r = workload_parse(value, &workload, reterr);
	if (r < 0)
		return r;
	if (!attached->vgpu)
		return err_fail(reterr, ENODEV, "workload: the vGPU does not exist any more");
	sim_set_workload(attached->gpu->sim, attached->vgpu, &workload);
	return 0;
}

/* --- control folder: @text is the content of a file without its newline --- */

static int command_cap(struct gpu *gpu, struct sim_vgpu *vgpu, const char *text)
{
	int64_t cap_pct;
	int r = parse_int(text, 0, 100, &cap_pct);

	return r < 0 ? r : sim_set_cap(gpu->sim, vgpu, (int)cap_pct);
}

static int command_workload(struct gpu *gpu, struct sim_vgpu *vgpu, const char *text)
{
	struct workload workload;
	int r = workload_parse(text, &workload, NULL);

	if (r < 0)
		return r;
	sim_set_workload(gpu->sim, vgpu, &workload);
	return 0;
}

static int command_gone(struct gpu *gpu, struct sim_vgpu *vgpu, const char *text)
{
	(void)text;
	remove_vgpu(gpu, vgpu);
	return 0;
}

static struct gpu_vgpu *find_attached(struct gpu *gpu, const struct sim_vgpu *vgpu)
{
	struct gpu_vgpu *attached = gpu->attached;

	while (attached && attached->vgpu != vgpu)
		attached = attached->next;
	return attached;
}

static int command_fault(struct gpu *gpu, struct sim_vgpu *vgpu, const char *text)
{
	struct gpu_vgpu *attached = find_attached(gpu, vgpu);
	size_t fault = 0;
	int cap_pct;

	while (fault < ARRAY_SIZE(fault_names) && strcmp(fault_names[fault], text) != 0)
		fault++;
	if (fault == ARRAY_SIZE(fault_names) || !attached)
		return -EINVAL;
	cap_pct = shown_cap(attached);
	attached->fault = (enum fault)fault;
	attached->shown_cap_pct = cap_pct;
	return sim_set_cap(gpu->sim, vgpu, attached->fault == FAULT_CAP ? 0 : cap_pct);
}

static const struct command {
	const char *suffix;
	bool may_be_empty;
	int (*act)(struct gpu *gpu, struct sim_vgpu *vgpu, const char *text);
} commands[] = {
	{".cap", false, command_cap},
	{".workload", false, command_workload},
	{".gone", true, command_gone},
	{".fault", false, command_fault},
};

/*
 * Returns the command for the suffix of @name and writes the id before the suffix to @ret_id.
 * Returns NULL for an unknown suffix.
 */
static const struct command *find_command(const char *name, char ret_id[ID_MAX])
{
	const char *suffix = strrchr(name, '.');
	size_t length = suffix ? (size_t)(suffix - name) : 0;

	if (length == 0 || length >= ID_MAX)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(commands[i].suffix, suffix) != 0)
			continue;
		memcpy(ret_id, name, length);
		ret_id[length] = '\0';
		return &commands[i];
	}
	return NULL;
}

static void apply_file(struct gpu *gpu, int dir_fd, const char *name)
{
	char id[ID_MAX], text[WORKLOAD_TEXT_MAX + 1], bad[NAME_MAX + 5];
	const struct command *command = find_command(name, id);
	struct sim_vgpu *vgpu;
	int r;

	if (!command)
		return;

	CLEANUP_CLOSE int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	r = fd < 0 ? -errno : file_pread_text(fd, text, sizeof(text));
	if (r == 0 && !command->may_be_empty)
		return;
	vgpu = sim_find(gpu->sim, id);
	if (r >= 0)
		r = vgpu ? command->act(gpu, vgpu, text) : -ENOENT;
	if (r >= 0) {
		(void)unlinkat(dir_fd, name, 0);
		return;
	}
	snprintf(bad, sizeof(bad), "%s.bad", name);
	(void)renameat(dir_fd, name, dir_fd, bad);
}

static void read_control_folder(struct gpu *gpu)
{
	const struct dirent *entry;
	DIR *dir = opendir(gpu->root);

	if (!dir)
		return;
	while ((entry = readdir(dir)))
		apply_file(gpu, dirfd(dir), entry->d_name);
	closedir(dir);
}

static int read_physical(struct gpu *gpu, uint64_t now_mono_ns, uint64_t *ret_at_ns,
			 uint64_t *ret_busy_ns)
{
	catch_up(gpu, now_mono_ns);
	if (gpu->root[0] != '\0')
		read_control_folder(gpu);
	*ret_at_ns = sim_now_ns(gpu->sim);
	*ret_busy_ns = sim_busy_ns(gpu->sim);
	return 0;
}

const struct gpu_ops gpu_sim_ops = {
	.name = "sim",
	.in_memory = true, /* but for the control folder, which is for tests */
	.open = open_gpu,
	.close = close_gpu,
	.traits = get_traits,
	.list = list_vgpus,
	.create = create_vgpu,
	.destroy = destroy_vgpu,
	.attach = attach_vgpu,
	.detach = detach_vgpu,
	.identity = get_identity,
	.read = read_vgpu,
	.write_cap = write_cap,
	.read_cap = read_cap,
	.sharing.set = set_sharing,
	.sharing.write_ceiling = write_ceiling,
	.observe.physical = read_physical,
	.label = set_label,
};
