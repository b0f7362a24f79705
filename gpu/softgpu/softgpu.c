/* SPDX-License-Identifier: MIT */
/*
 * softgpu: a GPU that consists of CPU time, for programs that render with Mesa's llvmpipe. A vGPU
 * is a control group ROOT/GPU/ID. Its cap is a bandwidth limit or a CPU weight, its busy time is
 * the CPU time of the group. One GPU second is capacity_cores CPU seconds.
 *
 * The limit of ROOT/GPU applies to the whole GPU, even if the sum of the caps is larger. If
 * capacity_cores is a whole number, the GPU is pinned to that number of cores; with guarantees, a
 * GPU of less than one core is pinned to one core. ROOT has the maximum CPU weight, so that other
 * programs on the host do not take capacity from the GPU. Never moves or ends a process.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "gpu/cgroup-tree.h"
#include "gpu/softgpu/softgpu.h"

#define CORES_DEFAULT 1.0

/*
 * --- caps in the files of a control group ---
 *
 * Without guarantees, the cap is the bandwidth limit: the vGPU never gets more. With guarantees,
 * the cap is the share of the group (its CPU weight), and the bandwidth limit is the ceiling: vGPUs
 * with work share the time that other vGPUs do not use, each up to its ceiling.
 *
 * A group without a share belongs to a GPU without guarantees, because every share differs from the
 * weight of a new group (base/linux/cgroup.h).
 */

/* What a cap of 100 % is, and how caps work. */
struct softgpu_scale {
	double gpu_cores;
	bool guarantees;
};

/* Returns the smallest cap that a limit can enforce on a GPU with @gpu_cores. */
static int cap_floor(double gpu_cores)
{
	int pct = (int)ceil(CGROUP_CORES_MIN * 100 / gpu_cores - 1e-6);

	return pct > 1 ? pct : 1;
}

static int write_limit_pct(const struct cgroup_files *files, const struct softgpu_scale *scale,
			   int pct)
{
	struct cgroup_limit limit = cgroup_limit_for(scale->gpu_cores * pct / 100);

	return cgroup_write_limit(files, &limit);
}

/*
 * Reads the share of the GPU that the limit allows. *ret_pct is 0 if there is no limit. @ret_share
 * may be NULL.
 */
static int read_limit_pct(const struct cgroup_files *files, const struct softgpu_scale *scale,
			  double *ret_share, int *ret_pct)
{
	struct cgroup_limit limit;
	int r = files->version->read_limit(files, &limit), pct;
	double cores, share;

	if (r < 0)
		return r;
	cores = cgroup_limit_cores(&limit);
	share = cores == 0 || cores > scale->gpu_cores ? 1 : cores / scale->gpu_cores;
	pct = (int)lround(share * 100);
	if (ret_share)
		*ret_share = share;
	*ret_pct = cores == 0 ? 0 : pct > 1 ? pct : 1;
	return 0;
}

/*
 * Sets the cap, cap_floor()..100. With guarantees, the limit becomes the larger of the cap
 * and @ceiling_pct. Returns -EINVAL for other caps.
 */
static int cap_write(const struct cgroup_files *files, const struct softgpu_scale *scale,
		     int cap_pct, int ceiling_pct)
{
	int limit_pct = cap_pct > ceiling_pct ? cap_pct : ceiling_pct, is_pct, r;

	if (cap_pct < cap_floor(scale->gpu_cores) || cap_pct > 100)
		return -EINVAL;
	if (!scale->guarantees)
		return write_limit_pct(files, scale, cap_pct);
	r = read_limit_pct(files, scale, NULL, &is_pct);
	if (r == 0 && is_pct != limit_pct)
		r = write_limit_pct(files, scale, limit_pct);
	return r < 0 ? r : cgroup_write_share(files, cap_pct);
}

/*
 * Reads the cap; 0: no limit. *ret_share is the cap as a fraction of the GPU. With
 * guarantees, a limit below the share is the cap, because another program has set it, unless the
 * limit is @ceiling_pct, the ceiling that the caller has written (0: none). Another program has
 * then set the share, which takes time from other vGPUs up to the limit. A group with a limit and
 * the weight of a new group has a cap of 1 %.
 */
static int cap_read(const struct cgroup_files *files, const struct softgpu_scale *scale,
		    int ceiling_pct, double *ret_share, int *ret_cap_pct)
{
	int r = read_limit_pct(files, scale, ret_share, ret_cap_pct), pct;

	if (r < 0 || !scale->guarantees)
		return r;
	r = cgroup_read_share(files, &pct);
	if (r < 0)
		return r;
	/* A group with a limit and the weight of a new group is guaranteed about 1 %. */
	if (pct == 0 && *ret_cap_pct > 0)
		pct = 1;
	if (pct > 0 && (*ret_cap_pct == 0 || *ret_cap_pct == ceiling_pct || pct <= *ret_cap_pct)) {
		*ret_cap_pct = pct;
		*ret_share = pct / 100.0;
	}
	return 0;
}

/* Reads the ceiling from the limit, 1..100. */
static int cap_read_ceiling(const struct cgroup_files *files, const struct softgpu_scale *scale,
			    int *ret_ceiling_pct)
{
	int pct, r = read_limit_pct(files, scale, NULL, &pct);

	if (r == 0)
		*ret_ceiling_pct = pct == 0 ? 100 : pct;
	return r;
}

/*
 * Without guarantees, an operator may give a group any weight. It is not a share unless it is
 * exactly the weight of one (base/linux/cgroup.c).
 */
static int convert_to_limit(const struct cgroup_files *files, const struct softgpu_scale *scale)
{
	int share_pct, limit_pct, r = cgroup_read_share(files, &share_pct);

	if (r <= 0)
		return r == -EOPNOTSUPP ? 0 : r;
	r = read_limit_pct(files, scale, NULL, &limit_pct);
	/* Write the limit first, so that a group is converted again after an interruption. */
	if (r == 0 && (limit_pct == 0 || share_pct < limit_pct))
		r = write_limit_pct(files, scale, share_pct);
	return r < 0 ? r : cgroup_clear_share(files);
}

static int convert_to_share(const struct cgroup_files *files, const struct softgpu_scale *scale)
{
	int share_pct, limit_pct, r = cgroup_read_share(files, &share_pct);

	if (r < 0 || share_pct > 0)
		return r < 0 ? r : 0;
	r = read_limit_pct(files, scale, NULL, &limit_pct);
	return r < 0 || limit_pct == 0 ? r : cgroup_write_share(files, limit_pct);
}

/*
 * Converts a group that a daemon with the other value of @scale->guarantees has left, so that its
 * cap stays the same. A group that needs no conversion stays unchanged. With guarantees, the
 * ceiling is the cap until it is written.
 */
static int cap_convert(const struct cgroup_files *files, const struct softgpu_scale *scale)
{
	return scale->guarantees ? convert_to_share(files, scale) : convert_to_limit(files, scale);
}

/* --- the GPU --- */

struct gpu {
	struct cgroup_tree tree;
	struct softgpu_scale scale;
	/* open files of the group; not open if a dry run found no group */
	struct cgroup_files files;
};

struct gpu_vgpu {
	const struct softgpu_scale *scale; /* of its GPU */
	int ceiling_pct;
	uint64_t identity;
	bool ceiling_written; /* false: ceiling_pct was read when the vGPU was attached */
	struct cgroup_files files;
	double share; /* share of the GPU that the cap has allotted since at_ns, as a fraction */
	double sched_ns;
	uint64_t at_ns;
};

/* Creates ROOT. Gives a new ROOT the maximum CPU weight, unless the GPU uses all cores. */
static int make_root(struct gpu *gpu, struct err *reterr)
{
	bool leaves_cores = gpu->scale.gpu_cores < cgroup_cores(&gpu->tree.host);
	int r = cgroup_tree_make_root(&gpu->tree, reterr);

	if (r == 0 && leaves_cores) {
		r = cgroup_maximize_weight(&gpu->tree.host, gpu->tree.root);
		if (r < 0)
			return err_fail(reterr, -r, "control group %s: cannot set its weight: %s",
					gpu->tree.root, strerror(-r));
	}
	return r < 0 ? r : 0;
}

/* Returns the fewest cores that can do the work of the GPU. */
static int whole_cores(const struct gpu *gpu)
{
	return (int)ceil(gpu->scale.gpu_cores);
}

/* True if the GPU never uses a core only in part, except its only one. */
static bool fills_cores(const struct gpu *gpu)
{
	int cores = whole_cores(gpu);

	return cores == 1 || gpu->scale.gpu_cores == cores;
}

/* Limits a new group to the size of the GPU. */
static int set_size(struct gpu *gpu, struct err *reterr)
{
	struct cgroup_limit limit = cgroup_limit_parent(gpu->scale.gpu_cores);
	int r = 0;

	if (gpu->scale.gpu_cores == whole_cores(gpu) || (gpu->scale.guarantees && fills_cores(gpu)))
		r = cgroup_pin(&gpu->tree.host, gpu->tree.group, whole_cores(gpu));
	if (r >= 0)
		r = cgroup_write_limit(&gpu->files, &limit);
	if (r < 0)
		return err_fail(reterr, -r, "control group %s: cannot be limited to %g cores: %s%s",
				gpu->tree.group, gpu->scale.gpu_cores, strerror(-r),
				r == -EINVAL ? " (a group above it has a smaller limit)" : "");
	return 0;
}

/* Caps are relative to the size of the GPU, so a GPU that has vGPUs cannot change its size. */
static int check_size(struct gpu *gpu, struct err *reterr)
{
	struct cgroup_limit limit;
	int r = gpu->files.version->read_limit(&gpu->files, &limit);
	double is;

	if (r < 0)
		return err_fail(reterr, -r, "control group %s: its limit cannot be read: %s",
				gpu->tree.group, strerror(-r));
	is = cgroup_limit_cores(&limit);
	if (fabs(is - gpu->scale.gpu_cores) < 1e-4)
		return 0;
	return err_fail(
		reterr, EBUSY,
		"capacity_cores %g: control group %s has vGPUs of an earlier daemon, and its limit "
		"is %g cores, where 0 is no limit (restore capacity_cores, or end the programs and "
		"remove the groups)",
		gpu->scale.gpu_cores, gpu->tree.group, is);
}

/*
 * The kernel compares the weights of two vGPUs only if both need the same core. On more cores than
 * the GPU has, each vGPU could use cores of its own until the limit of the GPU stops all of them.
 */
static int check_pinned(const struct gpu *gpu, struct err *reterr)
{
	int cores = cgroup_cores_of(&gpu->tree.host, gpu->tree.group);

	if (!gpu->scale.guarantees)
		return 0;
	if (!fills_cores(gpu))
		return err_fail(
			reterr, EOPNOTSUPP,
			"sharing = guarantee: not possible with capacity_cores = %.9g, "
			"because CPU weights count only on the same cores (allowed: a whole "
			"number, or less than 1)",
			gpu->scale.gpu_cores);
	if (cores <= whole_cores(gpu))
		return 0;
	return err_fail(reterr, EOPNOTSUPP,
			"sharing = guarantee: control group %s can use %d cores, and CPU weights "
			"guarantee no caps on more than the %d of the GPU (allowed: hard, or a GPU "
			"that is pinned to its cores or has all cores of the host)",
			gpu->tree.group, cores, whole_cores(gpu));
}

/* Returns -ENOENT if @id is no valid id. */
static int open_vgpu(const struct gpu *gpu, const char *id, struct cgroup_files *ret_files)
{
	char group[PATH_MAX];
	int r = cgroup_tree_vgpu(&gpu->tree, id, group);

	return r < 0 ? r : cgroup_open(&gpu->tree.host, group, ret_files);
}

struct conversion {
	const struct gpu *gpu;
	int result;
};

static int convert_one(void *userdata, const char *id)
{
	struct conversion *conversion = userdata;
	struct cgroup_files files;
	int r = open_vgpu(conversion->gpu, id, &files);

	if (r == 0) {
		r = cap_convert(&files, &conversion->gpu->scale);
		cgroup_close(&files);
	}
	if (r < 0 && r != -ENOENT && r != -ENODEV)
		conversion->result = r;
	return 0;
}

/* An earlier daemon with another sharing may have created the vGPUs. */
static int convert_caps(const struct gpu *gpu, struct err *reterr)
{
	struct conversion conversion = {.gpu = gpu};
	int r = cgroup_each(&gpu->tree.host, gpu->tree.group, convert_one, &conversion);

	if (r == 0)
		r = conversion.result;
	return r == 0 ? 0
		      : err_fail(reterr, -r,
				 "sharing = %s: the caps below control group %s cannot be "
				 "converted: %s",
				 gpu_sharing_name(gpu->scale.guarantees), gpu->tree.group,
				 strerror(-r));
}

static int open_files(struct gpu *gpu, struct err *reterr)
{
	int r = cgroup_open(&gpu->tree.host, gpu->tree.group, &gpu->files);

	if (r == -ENOENT)
		return err_fail(
			reterr, EOPNOTSUPP,
			"control group %s has no file %s: the kernel has no CONFIG_CFS_BANDWIDTH "
			"and cannot enforce caps (set backend = sim)",
			gpu->tree.group, gpu->tree.host.version->limit_file);
	if (r < 0)
		return err_fail(reterr, -r, "control group %s: cannot be opened: %s",
				gpu->tree.group, strerror(-r));
	return 0;
}

/* Creates or adopts ROOT/GPU and opens its files. */
static int establish(struct gpu *gpu, struct err *reterr)
{
	int existed;
	int r = make_root(gpu, reterr);

	if (r < 0)
		return r;
	/*
	 * An empty group of an earlier daemon may have another size, so remove the group first. The
	 * kernel does not remove a group in use.
	 */
	(void)cgroup_remove(&gpu->tree.host, gpu->tree.group);
	existed = cgroup_make(&gpu->tree.host, gpu->tree.group, reterr);
	if (existed < 0)
		return existed;
	r = open_files(gpu, reterr);
	if (r < 0)
		return r;
	return existed ? check_size(gpu, reterr) : set_size(gpu, reterr);
}

struct shares {
	const struct gpu *gpu;
	int n_vgpus, n_shares;
};

static int count_share(void *userdata, const char *id)
{
	struct shares *shares = userdata;
	struct cgroup_files files;
	int pct;

	if (open_vgpu(shares->gpu, id, &files) < 0)
		return 0;
	shares->n_vgpus++;
	shares->n_shares += cgroup_read_share(&files, &pct) > 0;
	cgroup_close(&files);
	return 0;
}

/* In a dry run, caps are what the last daemon has made them: shares if a group has one. */
static int find_sharing(struct gpu *gpu, struct err *reterr)
{
	struct shares shares = {.gpu = gpu};
	bool wanted = gpu->scale.guarantees;

	(void)cgroup_each(&gpu->tree.host, gpu->tree.group, count_share, &shares);
	if (shares.n_vgpus == 0)
		return 0;
	gpu->scale.guarantees = shares.n_shares > 0;
	if (gpu->scale.guarantees == wanted)
		return 0;
	(void)err_fail(reterr, EBUSY,
		       "the control groups have sharing %s, and a dry run does not change it",
		       gpu_sharing_name(!wanted));
	return 1;
}

static int softgpu_set_sharing(struct gpu *gpu, bool guarantee, bool by_default, struct err *reterr)
{
	int r;

	(void)by_default; /* a group has no third discipline */
	gpu->scale.guarantees = guarantee;
	if (gpu->tree.dry_run)
		return find_sharing(gpu, reterr);
	r = check_pinned(gpu, reterr);
	return r < 0 ? r : convert_caps(gpu, reterr);
}

static int stop_at_first(void *userdata, const char *name)
{
	(void)userdata, (void)name;
	return 1;
}

/*
 * Opens ROOT/GPU in a dry run, if the group exists. The size of an empty group does not matter,
 * because a daemon would create it again.
 */
static int open_existing(struct gpu *gpu, struct err *reterr)
{
	int r;

	if (cgroup_tree_is_missing(&gpu->tree, reterr))
		return 1;
	r = open_files(gpu, reterr);
	if (r < 0)
		return r;
	return cgroup_each(&gpu->tree.host, gpu->tree.group, stop_at_first, NULL) > 0
		       ? check_size(gpu, reterr)
		       : 0;
}

static void softgpu_close(struct gpu *gpu)
{
	if (!gpu)
		return;
	cgroup_close(&gpu->files);
	cgroup_tree_remove_empty(&gpu->tree);
	free(gpu);
}

static int check_cores(const struct gpu_config *config, struct gpu *gpu, struct err *reterr)
{
	int cores = cgroup_cores(&gpu->tree.host);

	gpu->scale.gpu_cores = config->capacity_cores == 0 ? CORES_DEFAULT : config->capacity_cores;
	/* sharing = auto: a new group is pinned, so that guarantees are possible */
	gpu->scale.guarantees = gpu_wants_guarantees(config) || gpu_chooses_sharing(config);
	/* Written this way, the test also rejects NaN. */
	if (!(gpu->scale.gpu_cores >= CGROUP_CORES_MIN && gpu->scale.gpu_cores <= cores))
		return err_fail(
			reterr, EINVAL,
			"GPU %s: capacity_cores %g is not allowed (allowed: %g..%d, the cores of "
			"this host)",
			config->name, gpu->scale.gpu_cores, CGROUP_CORES_MIN, cores);
	return 0;
}

static int softgpu_open(const struct gpu_config *config, struct gpu **ret_gpu, struct err *reterr)
{
	struct gpu *gpu = xcalloc(1, sizeof(*gpu));
	int r;

	gpu->files = (struct cgroup_files){
		.usage = -1, .limit = -1, .period = -1, .burst = -1, .weight = -1};
	r = cgroup_tree_init(config, &gpu->tree, reterr);
	if (r == 0)
		r = check_cores(config, gpu, reterr);
	if (r < 0) {
		free(gpu);
		return r;
	}
	/* set even if the files stay closed, so that reading them fails with -EBADF */
	gpu->files.version = gpu->tree.host.version;
	r = gpu->tree.dry_run ? open_existing(gpu, reterr) : establish(gpu, reterr);
	if (r < 0) {
		softgpu_close(gpu);
		return r;
	}
	*ret_gpu = gpu;
	return r;
}

static void softgpu_traits(const struct gpu *gpu, struct gpu_traits *ret_traits)
{
	*ret_traits = (struct gpu_traits){
		.step_pct = 1,
		.floor_pct = cap_floor(gpu->scale.gpu_cores),
		.min_interval_ms = 100, /* the longest period of a bandwidth limit */
		.share = GPU_HARD_CAP,
		.guarantees = gpu->scale.guarantees,
		.creates = true,
		.capacity_cores = gpu->scale.gpu_cores,
	};
}

static int softgpu_list(struct gpu *gpu, gpu_found_fn found, void *userdata)
{
	return cgroup_tree_list(&gpu->tree, found, userdata);
}

/* Creates the group of the GPU again if another program has removed the group. */
static int ensure_group(struct gpu *gpu, struct err *reterr)
{
	uint64_t usage_ns;
	int r = gpu->files.version->read_usage(&gpu->files, &usage_ns);

	if (r != -ENODEV)
		return 0;
	cgroup_close(&gpu->files);
	return establish(gpu, reterr);
}

static int softgpu_create(struct gpu *gpu, const char *id, int cap_pct, struct err *reterr)
{
	struct cgroup_files files;
	char group[PATH_MAX];
	int r;

	r = ensure_group(gpu, reterr);
	if (r == 0)
		r = cgroup_tree_create(&gpu->tree, id, group, reterr);
	if (r < 0)
		return r;
	r = cgroup_open(&gpu->tree.host, group, &files);
	if (r == 0) {
		r = cap_write(&files, &gpu->scale, cap_pct, cap_pct);
		cgroup_close(&files);
	}
	if (r == 0)
		return 0;
	(void)cgroup_remove(&gpu->tree.host, group);
	return err_fail(reterr, -r, "vGPU %s: cap %d %% cannot be set: %s (allowed: %d..100)", id,
			cap_pct, strerror(-r), cap_floor(gpu->scale.gpu_cores));
}

static int softgpu_destroy(struct gpu *gpu, const char *id, struct err *reterr)
{
	return cgroup_tree_destroy(&gpu->tree, id, reterr);
}

static int read_vgpu_cap(const struct gpu_vgpu *vgpu, double *ret_share, int *ret_cap_pct)
{
	return cap_read(&vgpu->files, vgpu->scale, vgpu->ceiling_written ? vgpu->ceiling_pct : 0,
			ret_share, ret_cap_pct);
}

static void integrate(struct gpu_vgpu *vgpu, uint64_t now_mono_ns)
{
	if (now_mono_ns <= vgpu->at_ns)
		return;
	vgpu->sched_ns += vgpu->share * (double)(now_mono_ns - vgpu->at_ns);
	vgpu->at_ns = now_mono_ns;
}

/* The file of the CPU time is opened first. If its group is removed, it can no longer be read. */
static int identify(struct gpu_vgpu *vgpu)
{
	struct stat st;

	if (fstat(vgpu->files.usage, &st) < 0)
		return -errno;
	vgpu->identity = st.st_ino;
	return 0;
}

static int softgpu_attach(struct gpu *gpu, const char *id, uint64_t now_mono_ns,
			  struct gpu_vgpu **ret_vgpu, struct err *reterr)
{
	CLEANUP_FREE struct gpu_vgpu *vgpu = xcalloc(1, sizeof(*vgpu));
	int cap_pct, r;

	r = open_vgpu(gpu, id, &vgpu->files);
	if (r < 0)
		return err_fail(reterr, -r, "vGPU %s: its control group cannot be opened: %s", id,
				strerror(-r));
	vgpu->scale = &gpu->scale;
	/* another program may have created the group after the GPU was opened */
	r = gpu->tree.dry_run ? 0 : cap_convert(&vgpu->files, vgpu->scale);
	if (r == 0)
		r = identify(vgpu);
	if (r == 0)
		r = read_vgpu_cap(vgpu, &vgpu->share, &cap_pct);
	if (r == 0)
		r = cap_read_ceiling(&vgpu->files, vgpu->scale, &vgpu->ceiling_pct);
	if (r < 0) {
		cgroup_close(&vgpu->files);
		return err_fail(reterr, -r, "vGPU %s: its cap cannot be read: %s", id,
				strerror(-r));
	}
	vgpu->at_ns = now_mono_ns;
	*ret_vgpu = vgpu;
	vgpu = NULL;
	return 0;
}

static void softgpu_detach(struct gpu_vgpu *vgpu)
{
	if (!vgpu)
		return;
	cgroup_close(&vgpu->files);
	free(vgpu);
}

static uint64_t softgpu_identity(const struct gpu_vgpu *vgpu)
{
	return vgpu->identity;
}

/*
 * The time at which an external writer changed the limit is unknown, so the new limit counts from
 * the first reading with this limit.
 */
static int softgpu_read(struct gpu_vgpu *vgpu, uint64_t now_mono_ns,
			struct gpu_reading *ret_reading)
{
	struct gpu_reading reading = {.at_ns = now_mono_ns};
	uint64_t usage_ns;
	int r = vgpu->files.version->read_usage(&vgpu->files, &usage_ns);

	if (r < 0)
		return r;
	integrate(vgpu, now_mono_ns);
	r = read_vgpu_cap(vgpu, &vgpu->share, &reading.cap_pct);
	if (r == -ENODEV)
		return r;
	reading.cap_valid = r == 0;
	reading.cap_errno = -r;
	reading.busy_valid = true;
	reading.busy_ns = (uint64_t)((double)usage_ns / vgpu->scale->gpu_cores);
	reading.sched_ns = (uint64_t)vgpu->sched_ns;
	*ret_reading = reading;
	return 0;
}

static int softgpu_read_cap(struct gpu_vgpu *vgpu, int *ret_cap_pct)
{
	double share;

	return read_vgpu_cap(vgpu, &share, ret_cap_pct);
}

static int softgpu_write_cap(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, int cap_pct)
{
	int r;

	integrate(vgpu, now_mono_ns);
	r = cap_write(&vgpu->files, vgpu->scale, cap_pct, vgpu->ceiling_pct);
	if (r == 0)
		vgpu->share = cap_pct / 100.0;
	return r;
}

static int softgpu_write_ceiling(struct gpu_vgpu *vgpu, int ceiling_pct)
{
	double share;
	int cap_pct, r;

	if (ceiling_pct < 1 || ceiling_pct > 100)
		return -EINVAL;
	r = vgpu->scale->guarantees ? read_vgpu_cap(vgpu, &share, &cap_pct) : 0;
	if (r < 0)
		return r;
	vgpu->ceiling_pct = ceiling_pct;
	vgpu->ceiling_written = true;
	if (!vgpu->scale->guarantees || cap_pct == 0)
		return 0;
	return cap_write(&vgpu->files, vgpu->scale, cap_pct, ceiling_pct);
}

static int softgpu_physical(struct gpu *gpu, uint64_t now_mono_ns, uint64_t *ret_at_ns,
			    uint64_t *ret_busy_ns)
{
	uint64_t usage_ns;
	int r = gpu->files.version->read_usage(&gpu->files, &usage_ns);

	if (r < 0)
		return r;
	*ret_at_ns = now_mono_ns;
	*ret_busy_ns = (uint64_t)((double)usage_ns / gpu->scale.gpu_cores);
	return 0;
}

static int softgpu_owner(struct gpu *gpu, pid_t pid, char ret_id[ID_MAX])
{
	return cgroup_tree_owner(&gpu->tree, pid, ret_id);
}

static int softgpu_places(struct gpu *gpu, const char *id, gpu_path_fn path, void *userdata)
{
	return cgroup_tree_places(&gpu->tree, id, path, userdata);
}

const struct gpu_ops gpu_softgpu_ops = {
	.name = "softgpu",
	.checks = gpu_softgpu_checks,
	.open = softgpu_open,
	.close = softgpu_close,
	.traits = softgpu_traits,
	.list = softgpu_list,
	.create = softgpu_create,
	.destroy = softgpu_destroy,
	.attach = softgpu_attach,
	.detach = softgpu_detach,
	.identity = softgpu_identity,
	.read = softgpu_read,
	.write_cap = softgpu_write_cap,
	.read_cap = softgpu_read_cap,
	.sharing.set = softgpu_set_sharing,
	.sharing.write_ceiling = softgpu_write_ceiling,
	.observe.physical = softgpu_physical,
	.processes.owner = softgpu_owner,
	.processes.places = softgpu_places,
};
