/* SPDX-License-Identifier: MIT */
/*
 * Intel GVT-g: mediated devices whose scheduler accepts caps. Uses the files of design.md section 5
 * in ROOT/bus/mdev/devices/UUID/intel_vgpu and keeps them open. Never creates or removes a vGPU:
 * the software that starts virtual machines does this on the mdev bus.
 *
 * New vGPUs are found by listing the folder again at each call. inotify does not work: sysfs sends
 * no event when the kernel creates or removes a folder (tested on Linux 6.18 with a network device
 * under /sys/class/net), and a FUSE file system sends no event either.
 *
 * After a vGPU was removed, its open files fail with ENODEV, also if its UUID was used again. A
 * file that is opened later may not exist, and on a FUSE file system it may be that of the new
 * vGPU.
 *
 * The mdev bus may also contain devices of other vendors. Only a GPU of GVT-g has a type
 * i915-GVTg_*, and only a vGPU of GVT-g has the folder intel_vgpu.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "gpu/gpu.h"
#include "gpu/gvt/gvt.h"

#define PARENTS	  "class/mdev_bus"
#define DEVICES	  "bus/mdev/devices"
#define NAMES_MAX 256 /* bytes for the names of all GPUs in a message */

#define SHARING_PATH_MAX (PATH_MAX + sizeof("/gover_sharing"))
#define VGPU_PATH_MAX	 (PATH_MAX + ID_MAX + sizeof("/intel_vgpu"))

const char *const gvt_files[GVT_FILES] = {
	[GVT_CAP] = "cap",
	[GVT_BUSY] = "busy_time",
	[GVT_SCHED] = "sched_time",
	[GVT_LEASE] = "cap_lease_ms",
	[GVT_CEILING] = "cap_ceiling",
};

static bool is_uuid(const char *name)
{
	size_t n = 0;

	for (; name[n]; n++) {
		bool dash = n == 8 || n == 13 || n == 18 || n == 23;

		if (dash ? name[n] != '-' : !isxdigit((unsigned char)name[n]))
			return false;
	}
	return n == 36;
}

bool gvt_is_parent(const char *path)
{
	char types[PATH_MAX];

	return snprintf(types, sizeof(types), "%s/mdev_supported_types/*GVTg_*", path) <
		       (int)sizeof(types) &&
	       file_each_match(types, NULL, NULL) > 0;
}

/* The GPUs of GVT-g on this host. */
struct parents {
	int n;
	char path[PATH_MAX];   /* path of the last GPU found */
	char names[NAMES_MAX]; /* names of all GPUs */
};

static void add_parent(void *userdata, const char *path)
{
	struct parents *parents = userdata;

	if (!gvt_is_parent(path))
		return;
	parents->n++;
	strcpy(parents->path, path);
	text_append(parents->names, sizeof(parents->names), "%s%s", parents->names[0] ? ", " : "",
		    strrchr(path, '/') + 1);
}

static void find_parents(const char *root, struct parents *parents)
{
	char pattern[GPU_ROOT_MAX + sizeof("/" PARENTS "/*")];

	*parents = (struct parents){.n = 0};
	snprintf(pattern, sizeof(pattern), "%s/" PARENTS "/*", root);
	(void)file_each_match(pattern, add_parent, parents);
}

/*
 * Writes the path of the GPU that @config names as parent. Returns -ENOENT if the path does not
 * exist.
 */
static int named_parent(const struct gpu_config *config, char ret_path[PATH_MAX])
{
	snprintf(ret_path, PATH_MAX, "%s/" PARENTS "/%s", gpu_sysfs(config), config->parent);
	return access(ret_path, F_OK) < 0 ? -errno : 0;
}

static int find_folder(const struct gpu_config *config, char ret_dir[PATH_MAX], struct err *reterr)
{
	const char *root = gpu_sysfs(config);
	struct parents parents;

	if (config->parent[0] && named_parent(config, ret_dir) == 0)
		return 0;
	find_parents(root, &parents);
	if (config->parent[0])
		return err_fail(reterr, EOPNOTSUPP,
				"parent = %s: not a GPU of GVT-g (%s/" PARENTS " has %s%s)",
				config->parent, root, parents.n ? "only " : "none", parents.names);
	if (parents.n > 1)
		return err_fail(reterr, EINVAL,
				"parent: required (this host has %d GPUs of GVT-g: %s; each needs "
				"a section [gpu NAME] with its parent)",
				parents.n, parents.names);
	if (parents.n == 1) {
		memcpy(ret_dir, parents.path, PATH_MAX);
		return 0;
	}
	snprintf(ret_dir, PATH_MAX, "%s/" DEVICES, root);
	if (access(ret_dir, F_OK) == 0)
		return 0;
	return err_fail(reterr, EOPNOTSUPP,
			"%s: no bus of mediated devices (boot with i915.enable_gvt=1 and load "
			"kvmgt)",
			ret_dir);
}

static bool any_vgpu(const char *root)
{
	char pattern[GPU_ROOT_MAX + sizeof("/" DEVICES "/*/intel_vgpu")];

	snprintf(pattern, sizeof(pattern), "%s/" DEVICES "/*/intel_vgpu", root);
	return file_each_match(pattern, NULL, NULL) > 0;
}

static bool is_present(const struct gpu_config *config)
{
	char path[PATH_MAX];
	struct parents parents;

	if (config->parent[0])
		return named_parent(config, path) == 0;
	find_parents(gpu_sysfs(config), &parents);
	return parents.n > 0 || any_vgpu(gpu_sysfs(config));
}

struct gpu_vgpu {
	struct gpu_vgpu *next; /* element of gpu.attached */
	struct gpu *gpu;
	char id[ID_MAX];
	int dir;      /* intel_vgpu */
	dev_t device; /* of @dir, with the inode: identifies the vGPU */
	ino_t inode;
	/* its open files; GVT_LEASE: -1: the kernel does not have this file */
	int fds[GVT_CEILING];
};

struct gpu {
	char dir[PATH_MAX];    /* the folder that contains the vGPUs */
	char device[PATH_MAX]; /* path of the device in sysfs; "": the configuration has no parent
				*/
	double speed;
	bool dry_run;
	bool guarantees;  /* caps are guaranteed shares */
	const char *word; /* what gover_sharing must read; NULL: not set by this daemon */
	/* why the vGPUs or a busy time could not be read since the last listing; "": all were */
	struct err problem;
	struct gpu_vgpu *attached;
};

static int open_gpu(const struct gpu_config *config, struct gpu **ret_gpu, struct err *reterr)
{
	struct gpu *gpu = xcalloc(1, sizeof(*gpu));
	int r;

	gpu->speed = gpu_speed(config);
	gpu->dry_run = config->dry_run;
	r = find_folder(config, gpu->dir, reterr);
	if (r < 0) {
		free(gpu);
		return r;
	}
	if (config->parent[0] == '\0' || !realpath(gpu->dir, gpu->device))
		gpu->device[0] = '\0';
	*ret_gpu = gpu;
	return 0;
}

static void close_gpu(struct gpu *gpu)
{
	free(gpu);
}

static void get_traits(const struct gpu *gpu, struct gpu_traits *ret_traits)
{
	*ret_traits = (struct gpu_traits){
		.step_pct = 1,
		.floor_pct = 1,
		.min_interval_ms = 100, /* the scheduler applies a new cap at its next time slot */
		.share = GPU_HARD_CAP,
		.guarantees = gpu->guarantees,
		.sysfs_device = gpu->device[0] ? gpu->device : NULL,
	};
}

static int parse_cap(int fd, int *ret_cap_pct)
{
	uint64_t value;
	int r = gpu_gone_or(file_pread_u64(fd, &value));

	if (r == 0 && value > 100)
		r = -EINVAL;
	if (r == 0)
		*ret_cap_pct = (int)value;
	return r;
}

static int read_cap_file(int dir, const char *name, int *ret_cap_pct)
{
	CLEANUP_CLOSE int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : parse_cap(fd, ret_cap_pct);
}

/* --- sharing --- */

static int write_word(const char *path, const char *word)
{
	char text[GPU_SHARING_MAX];
	int r = file_write_text(path, word);

	if (r == 0)
		r = file_read_text(path, text, sizeof(text));
	if (r < 0)
		return r;
	return strcmp(text, word) == 0 ? 0 : -EIO;
}

static void sharing_path(const struct gpu *gpu, char path[SHARING_PATH_MAX])
{
	snprintf(path, SHARING_PATH_MAX, "%s/gover_sharing", gpu->dir);
}

/*
 * Takes the discipline in force instead of another one that the configuration does not name: in a
 * dry run, and if an administrator has loaded the driver with a third discipline. Returns 1 with a
 * message, or 0 if the discipline may be changed.
 */
static int keep_sharing(struct gpu *gpu, const char *path, const char *is, struct err *reterr)
{
	bool guarantee = strcmp(is, "guarantee") == 0;

	if (!gpu->dry_run && (guarantee || strcmp(is, "hard") == 0))
		return 0;
	gpu->guarantees = guarantee;
	(void)err_fail(reterr, EBUSY, "%s reads %s, and %s does not change it", path, is,
		       gpu->dry_run ? "a dry run" : "sharing = auto");
	return 1;
}

static int set_sharing(struct gpu *gpu, bool guarantee, bool by_default, struct err *reterr)
{
	const char *word = gpu_sharing_name(guarantee);
	char path[SHARING_PATH_MAX], text[GPU_SHARING_MAX];
	int r;

	gpu->word = NULL;
	sharing_path(gpu, path);
	r = file_read_text(path, text, sizeof(text));
	if (r >= 0 && strcmp(text, word) != 0 && (by_default || gpu->dry_run) &&
	    keep_sharing(gpu, path, text, reterr) > 0)
		return 1;
	if (r >= 0 && strcmp(text, word) != 0)
		r = write_word(path, word);
	if (r == -ENOENT && !guarantee)
		r = 0;
	if (r == -ENOENT)
		return err_fail(reterr, EOPNOTSUPP,
				"sharing = guarantee: the scheduler of this kernel has only hard "
				"caps, %s does not exist (allowed: hard)",
				path);
	if (r < 0)
		return err_fail(reterr, -r, "sharing = %s: %s cannot be written: %s", word, path,
				strerror(-r));
	gpu->guarantees = guarantee;
	gpu->word = gpu->dry_run ? NULL : word;
	return 0;
}

static int renew_sharing(struct gpu *gpu, char ret_was[GPU_SHARING_MAX])
{
	char path[SHARING_PATH_MAX];
	int r;

	if (!gpu->word)
		return 0;
	sharing_path(gpu, path);
	r = file_read_text(path, ret_was, GPU_SHARING_MAX);
	if (r < 0)
		return r == -ENOENT && !gpu->guarantees ? 0 : r;
	if (strcmp(ret_was, gpu->word) == 0)
		return 0;
	r = write_word(path, gpu->word);
	return r < 0 ? r : 1;
}

/* --- list --- */

static bool is_attached(const struct gpu *gpu, const char *id)
{
	const struct gpu_vgpu *vgpu = gpu->attached;

	while (vgpu && strcmp(vgpu->id, id) != 0)
		vgpu = vgpu->next;
	return vgpu;
}

/*
 * Calls @found for a vGPU. Does not read the initial cap of an attached vGPU, because the caller
 * knows it already.
 */
static void report(struct gpu *gpu, int dir, const char *id, gpu_found_fn found, void *userdata)
{
	char name[NAME_MAX + sizeof("/intel_vgpu/initial_cap")];
	int initial_cap_pct = 0;

	if (!is_attached(gpu, id)) {
		snprintf(name, sizeof(name), "%s/intel_vgpu", id);
		if (faccessat(dir, name, F_OK, 0) < 0)
			return; /* a vGPU of another vendor, or a vGPU that was removed meanwhile */
		snprintf(name, sizeof(name), "%s/intel_vgpu/initial_cap", id);
		if (read_cap_file(dir, name, &initial_cap_pct) < 0)
			initial_cap_pct = 0;
	}
	found(userdata, id, initial_cap_pct);
}

static int list_vgpus(struct gpu *gpu, gpu_found_fn found, void *userdata)
{
	const struct dirent *entry;
	DIR *dir = opendir(gpu->dir);

	gpu->problem.msg[0] = '\0';
	if (!dir)
		return err_fail(&gpu->problem, errno, "%s: %s (is the driver loaded?)", gpu->dir,
				strerror(errno));
	while ((entry = readdir(dir)))
		if (is_uuid(entry->d_name))
			report(gpu, dirfd(dir), entry->d_name, found, userdata);
	closedir(dir);
	return 0;
}

static int create_vgpu(struct gpu *gpu, const char *id, int cap_pct, struct err *reterr)
{
	(void)gpu, (void)cap_pct;
	return err_fail(reterr, EOPNOTSUPP,
			"vGPU %s: gover cannot create vGPUs of GVT-g (write a UUID to "
			"mdev_supported_types/TYPE/create)",
			id);
}

static int destroy_vgpu(struct gpu *gpu, const char *id, struct err *reterr)
{
	(void)gpu;
	return err_fail(reterr, EOPNOTSUPP,
			"vGPU %s: gover cannot remove vGPUs of GVT-g (write 1 to the file remove "
			"of its device)",
			id);
}

/* --- one vGPU --- */

static void close_files(const struct gpu_vgpu *vgpu)
{
	cleanup_closep(&vgpu->dir);
	for (int i = 0; i < GVT_CEILING; i++)
		cleanup_closep(&vgpu->fds[i]);
}

/*
 * Opens a file for reading and writing. Without the permission to write, opens it read-only; see
 * write_file().
 */
static int open_to_write(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDWR | O_CLOEXEC);

	if (fd < 0 && (errno == EACCES || errno == EPERM || errno == EROFS))
		fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	return fd;
}

static int fail_open(const struct gpu_vgpu *vgpu, const char *name, int error, struct err *reterr)
{
	if (error == ENODEV)
		return -ENOENT;
	if (error != ENOENT)
		return err_fail(reterr, error, "vGPU %s: %s cannot be opened: %s%s", vgpu->id, name,
				strerror(error),
				error == EMFILE ? " (raise the limit LimitNOFILE=)" : "");
	/* If vgpu_id is missing too, the vGPU was removed meanwhile. */
	if (faccessat(vgpu->dir, "vgpu_id", F_OK, 0) < 0)
		return -ENOENT;
	return err_fail(reterr, EOPNOTSUPP,
			"vGPU %s has no file %s: the scheduler of this kernel does not accept caps "
			"(run 'gover-ctl doctor')",
			vgpu->id, name);
}

static void vgpu_path(const struct gpu *gpu, const char *id, char path[VGPU_PATH_MAX])
{
	snprintf(path, VGPU_PATH_MAX, "%s/%s/intel_vgpu", gpu->dir, id);
}

/* Returns -ENODEV if the vGPU was removed, also if another vGPU has its UUID. */
static int check_exists(const struct gpu_vgpu *vgpu)
{
	char path[VGPU_PATH_MAX];
	struct stat st;

	vgpu_path(vgpu->gpu, vgpu->id, path);
	if (stat(path, &st) < 0)
		return errno == ENOENT ? -ENODEV : gpu_gone_or(-errno);
	return st.st_dev == vgpu->device && st.st_ino == vgpu->inode ? 0 : -ENODEV;
}

/* Opens a file of the vGPU. An open file stays that of this vGPU, so it is checked afterwards. */
static int open_file(const struct gpu_vgpu *vgpu, const char *name, int flags)
{
	int fd = openat(vgpu->dir, name, flags | O_CLOEXEC), error = errno;
	int r = check_exists(vgpu);

	if (r == 0)
		return fd < 0 ? -error : fd;
	cleanup_closep(&fd);
	return r;
}

static int open_folder(struct gpu_vgpu *vgpu, const char *path)
{
	struct stat st;

	vgpu->dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (vgpu->dir < 0 || fstat(vgpu->dir, &st) < 0)
		return -errno;
	vgpu->device = st.st_dev;
	vgpu->inode = st.st_ino;
	return 0;
}

static int open_files(struct gpu_vgpu *vgpu, struct err *reterr)
{
	static const enum gvt_file order[] = {GVT_BUSY, GVT_SCHED, GVT_CAP, GVT_LEASE};

	for (size_t n = 0; n < ARRAY_SIZE(order); n++) {
		enum gvt_file i = order[n];
		const char *name = gvt_files[i];
		bool needed = i < GVT_NEEDED;

		vgpu->fds[i] = i == GVT_CAP || i == GVT_LEASE
				       ? open_to_write(vgpu->dir, name)
				       : openat(vgpu->dir, name, O_RDONLY | O_CLOEXEC);
		if (vgpu->fds[i] < 0 && (needed || errno != ENOENT))
			return fail_open(vgpu, name, errno, reterr);
	}
	return check_exists(vgpu);
}

/* The driver may have been loaded again since the sharing was set. */
static int check_sharing(struct gpu *gpu, struct err *reterr)
{
	const char *word = gpu->word;
	int r = set_sharing(gpu, gpu->guarantees, /* by_default= */ false, reterr);

	if (r < 0)
		gpu->word = word; /* the next call checks it again */
	return r;
}

static int attach_vgpu(struct gpu *gpu, const char *id, uint64_t now_mono_ns,
		       struct gpu_vgpu **ret_vgpu, struct err *reterr)
{
	CLEANUP_FREE struct gpu_vgpu *vgpu = xcalloc(1, sizeof(*vgpu));
	char path[VGPU_PATH_MAX];
	int r;

	(void)now_mono_ns;
	if (id_copy(vgpu->id, id) < 0)
		return err_fail(reterr, ENOENT, "\"%s\" is not a vGPU", id);
	vgpu->gpu = gpu;
	memset(vgpu->fds, -1, sizeof(vgpu->fds));
	vgpu_path(gpu, id, path);
	r = open_folder(vgpu, path);
	if (r == 0)
		r = open_files(vgpu, reterr);
	if (r == 0 && gpu->word)
		r = check_sharing(gpu, reterr);
	if (r == -ENOENT || r == -ENODEV)
		r = err_fail(reterr, ENOENT, "vGPU %s does not exist in %s", id, gpu->dir);
	else if (r < 0 && vgpu->dir < 0)
		r = err_fail(reterr, -r, "vGPU %s: %s: %s", id, path, strerror(-r));
	if (r < 0) {
		close_files(vgpu);
		return r;
	}
	vgpu->next = gpu->attached;
	*ret_vgpu = gpu->attached = vgpu;
	vgpu = NULL;
	return 0;
}

static void detach_vgpu(struct gpu_vgpu *vgpu)
{
	struct gpu_vgpu **at;

	if (!vgpu)
		return;
	for (at = &vgpu->gpu->attached; *at != vgpu; at = &(*at)->next)
		;
	*at = vgpu->next;
	close_files(vgpu);
	free(vgpu);
}

static uint64_t get_identity(const struct gpu_vgpu *vgpu)
{
	return vgpu->inode;
}

static int read_time(const struct gpu_vgpu *vgpu, enum gvt_file file, uint64_t *ret_ns)
{
	int r = gpu_gone_or(file_pread_u64(vgpu->fds[file], ret_ns));

	if (r < 0 && r != -ENODEV)
		(void)err_fail(&vgpu->gpu->problem, -r, "vGPU %s: %s cannot be read: %s", vgpu->id,
			       gvt_files[file], strerror(-r));
	return r;
}

static void describe_problem(const struct gpu *gpu, struct err *ret_problem)
{
	*ret_problem = gpu->problem;
}

static int read_vgpu(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, struct gpu_reading *ret_reading)
{
	struct gpu_reading reading = {
		.at_ns = (uint64_t)((double)now_mono_ns * vgpu->gpu->speed),
		.busy_valid = true,
	};
	int r = read_time(vgpu, GVT_BUSY, &reading.busy_ns);

	if (r == 0)
		r = read_time(vgpu, GVT_SCHED, &reading.sched_ns);
	if (r < 0)
		return r;
	r = parse_cap(vgpu->fds[GVT_CAP], &reading.cap_pct);
	if (r == -ENODEV)
		return r;
	reading.cap_valid = r == 0;
	reading.cap_errno = -r;
	*ret_reading = reading;
	return 0;
}

static int read_cap(struct gpu_vgpu *vgpu, int *ret_cap_pct)
{
	return parse_cap(vgpu->fds[GVT_CAP], ret_cap_pct);
}

/*
 * If the file was opened read-only, a write fails with EBADF, or in sysfs with ESPIPE. This
 * function then opens the file again, because udev may have granted the permission since then.
 * Returns -EACCES if the permission is still missing.
 */
static int write_file(struct gpu_vgpu *vgpu, enum gvt_file file, int64_t value)
{
	int again, *fd = &vgpu->fds[file], r = file_pwrite_i64(*fd, value);

	if (r != -EBADF && r != -ESPIPE)
		return gpu_gone_or(r);
	again = open_file(vgpu, gvt_files[file], O_RDWR);
	if (again < 0)
		return again == -ENODEV ? again : -EACCES;
	(void)close(*fd);
	*fd = again;
	return gpu_gone_or(file_pwrite_i64(*fd, value));
}

static int write_cap(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, int cap_pct)
{
	(void)now_mono_ns;
	if (cap_pct < 1 || cap_pct > 100)
		return -EINVAL;
	return write_file(vgpu, GVT_CAP, cap_pct);
}

/* The file is optional: without it, the initial cap is the ceiling. */
static int write_ceiling(struct gpu_vgpu *vgpu, int ceiling_pct)
{
	CLEANUP_CLOSE int fd = open_file(vgpu, gvt_files[GVT_CEILING], O_WRONLY);

	if (fd < 0)
		return fd == -ENOENT ? -EOPNOTSUPP : gpu_gone_or(fd);
	return gpu_gone_or(file_pwrite_i64(fd, ceiling_pct));
}

static int read_initial_cap(struct gpu_vgpu *vgpu, int *ret_cap_pct)
{
	CLEANUP_CLOSE int fd = open_file(vgpu, "initial_cap", O_RDONLY);

	return fd < 0 ? fd : parse_cap(fd, ret_cap_pct);
}

/*
 * Writes the cap after the initial cap, because the scheduler would otherwise apply the initial cap
 * at its next time slot.
 */
static int write_initial_cap(struct gpu_vgpu *vgpu, int initial_cap_pct, int cap_pct)
{
	CLEANUP_CLOSE int fd = open_file(vgpu, "initial_cap", O_WRONLY);
	int r = fd < 0 ? fd : file_pwrite_i64(fd, initial_cap_pct);

	return r < 0 ? gpu_gone_or(r) : write_file(vgpu, GVT_CAP, cap_pct);
}

static int renew(struct gpu_vgpu *vgpu, int lease_ms)
{
	double gpu_ms = fmin((double)lease_ms * vgpu->gpu->speed, UINT32_MAX);

	if (vgpu->fds[GVT_LEASE] < 0)
		return -EOPNOTSUPP;
	return write_file(vgpu, GVT_LEASE, (int64_t)gpu_ms);
}

const struct gpu_ops gpu_gvt_ops = {
	.name = "gvt",
	.checks = gpu_gvt_checks,
	.present = is_present,
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
	.sharing.renew = renew_sharing,
	.sharing.write_ceiling = write_ceiling,
	.lease.read_initial_cap = read_initial_cap,
	.lease.write_initial_cap = write_initial_cap,
	.lease.renew = renew,
	/*
	 * not supported: GVT-g does not count the work of the host; intel_gpu_top measures the
	 * whole GPU
	 */
	.observe.physical = NULL,
	.observe.problem = describe_problem,
};
