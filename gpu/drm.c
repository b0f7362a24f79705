/* SPDX-License-Identifier: MIT */
/*
 * drm: observes a GPU that programs in control groups share, such as containers on an AMD, Intel or
 * NVIDIA GPU. No driver lets an operator limit a control group today, so this backend only reads: a
 * vGPU is a control group (gpu/drm-groups.h), and its busy time is the host's truth about its
 * programs (monitor/truth/). The cap of a vGPU is its equal part of the GPU, a measure and no
 * limit.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "gpu/drm-device.h"
#include "gpu/drm-groups.h"
#include "monitor/truth/truth.h"

#define SYSFS	      "/sys"
#define DMEM_TEXT_MAX 4096

struct gpu {
	struct drm_groups groups;
	char device[GPU_PARENT_MAX];
	char path[PATH_MAX]; /* of the device in sysfs; "": unknown */
	struct truth *truth;
	bool guarantees;
	bool complete;	    /* the last sample shows the use of all programs */
	struct err problem; /* see gpu_ops.problem */
	uint64_t sample;    /* number of the last sample; 0: none */
	uint64_t at_ns;	    /* time of the last sample */
	bool swept;	    /* a sweep has ended since the last sample */
	double grown_ns[DRM_TENANTS_MAX][TRUTH_CLASSES_MAX]; /* in the last sample */
	double busy_ns;					     /* of all programs on the host */
	uint64_t physical_sample; /* last sample that physical() has used */
};

struct gpu_vgpu {
	struct gpu *gpu;
	struct drm_tenant *tenant;
	uint64_t sample;   /* last sample that a reading has used */
	uint64_t begin_ns; /* busy time of the tenant when the vGPU was attached */
	uint64_t sched_begin_ns;
};

/* --- samples --- */

static int tenant_of(void *userdata, pid_t pid)
{
	int r = drm_groups_tenant(userdata, pid);

	if (r == -ENOENT)
		return TRUTH_TENANT_NONE;
	return r < 0 ? TRUTH_TENANT_UNKNOWN : r;
}

static double largest(const double values[TRUTH_CLASSES_MAX])
{
	double most = 0;

	for (int i = 0; i < TRUTH_CLASSES_MAX; i++)
		most = values[i] > most ? values[i] : most;
	return most;
}

/*
 * Without limits, a tenant could have used the time that it has used and the time in which the GPU
 * was idle. Part of the time is never 0, because the tenant could also have taken it from others.
 */
static double available_ns(double own_ns, double idle_ns, double passed_ns)
{
	return fmax(own_ns + idle_ns, passed_ns / 100);
}

/* Adds up the growth of the users of each tenant, and the memory that they have. */
static void distribute(struct gpu *gpu, uint64_t passed_ns)
{
	struct drm_tenant *tenants = gpu->groups.tenants;
	double all[TRUTH_CLASSES_MAX] = {0}, idle_ns;
	const struct truth_user *user;
	size_t n;

	memset(gpu->grown_ns, 0, sizeof(gpu->grown_ns));
	for (int i = 0; i < DRM_TENANTS_MAX; i++) {
		tenants[i].memory_valid = false;
		tenants[i].memory_bytes = 0;
	}
	user = truth_users(gpu->truth, &n);
	for (; n > 0; n--, user++) {
		for (int i = 0; i < TRUTH_CLASSES_MAX; i++)
			all[i] += user->grown_ns[i];
		if (user->tenant < 0)
			continue;
		for (int i = 0; i < TRUTH_CLASSES_MAX; i++)
			gpu->grown_ns[user->tenant][i] += user->grown_ns[i];
		tenants[user->tenant].memory_valid |= user->memory_valid;
		tenants[user->tenant].memory_bytes += user->memory_bytes;
	}
	idle_ns = fmax((double)passed_ns - largest(all), 0);
	for (int i = 0; i < DRM_TENANTS_MAX; i++) {
		double own_ns = largest(gpu->grown_ns[i]);

		tenants[i].busy_ns += (uint64_t)own_ns;
		tenants[i].sched_ns += (uint64_t)available_ns(own_ns, idle_ns, (double)passed_ns);
	}
	gpu->busy_ns += largest(all);
}

/* False if the last sample does not show the use of all programs. */
static bool is_complete(const struct gpu *gpu)
{
	return !truth_report(gpu->truth)->problem.msg[0];
}

/* A first complete sample gives no use yet, so that the reason of the last one holds. */
static void keep_problem(struct gpu *gpu)
{
	bool complete = is_complete(gpu);

	if (!complete || gpu->complete)
		gpu->problem = truth_report(gpu->truth)->problem;
	gpu->complete = complete;
}

static void take_sample(struct gpu *gpu, uint64_t now_mono_ns)
{
	int r;

	drm_groups_expire(&gpu->groups);
	gpu->sample++;
	gpu->swept = false;
	r = truth_sample(gpu->truth, now_mono_ns);
	keep_problem(gpu);
	if (r < 0)
		return;
	distribute(gpu, gpu->at_ns && now_mono_ns > gpu->at_ns ? now_mono_ns - gpu->at_ns : 0);
	gpu->at_ns = now_mono_ns;
}

/*
 * Each sample gives one reading, so that all readings of a sweep have the same time. The first
 * reading of a sweep takes a new sample, because one between two sweeps may have taken the last.
 */
static void refresh(struct gpu *gpu, uint64_t used_sample, uint64_t now_mono_ns)
{
	if (gpu->swept || gpu->sample == used_sample)
		take_sample(gpu, now_mono_ns);
}

/* --- the GPU --- */

static void drm_close(struct gpu *gpu)
{
	if (!gpu)
		return;
	truth_close(gpu->truth);
	free(gpu);
}

static int open_truth(const struct gpu_config *config, struct gpu *gpu, struct err *reterr)
{
	struct truth_config truth = {
		.source = config->truth[0] ? config->truth : "auto",
		.proc = gpu->groups.proc,
		.device = gpu->device,
		.tenant = tenant_of,
		.userdata = &gpu->groups,
	};
	struct err err = {""};
	int r;

	if (strcmp(truth.source, "none") == 0)
		return err_fail(reterr, EINVAL,
				"GPU %s: truth = none: backend drm has no other source (allowed: "
				"auto, fdinfo or nvml)",
				config->name);
	r = truth_open(&truth, &gpu->truth, &err);
	return r < 0 ? err_fail(reterr, -r, "GPU %s: %s", config->name, err.msg) : 0;
}

static int drm_open(const struct gpu_config *config, struct gpu **ret_gpu, struct err *reterr)
{
	struct gpu *gpu = xcalloc(1, sizeof(*gpu));
	struct err err = {""};
	int r;

	gpu->guarantees = gpu->complete = true;
	r = drm_groups_init(config, &gpu->groups, reterr);
	if (r == 0) {
		r = drm_device_find(SYSFS, config->parent, gpu->device, gpu->path, &err);
		/* NVIDIA's driver can be loaded without its DRM part. */
		if (r == -EOPNOTSUPP && strcmp(config->truth, "fdinfo") != 0)
			r = 0;
		if (r < 0)
			(void)err_fail(reterr, -r, "GPU %s: %s", config->name, err.msg);
	}
	if (r == 0)
		r = open_truth(config, gpu, reterr);
	if (r < 0) {
		drm_close(gpu);
		return r;
	}
	*ret_gpu = gpu;
	return 0;
}

static void drm_traits(const struct gpu *gpu, struct gpu_traits *ret_traits)
{
	*ret_traits = (struct gpu_traits){
		.step_pct = 1,
		.floor_pct = 1,
		.share = GPU_RELATIVE_SLICE,
		.guarantees = gpu->guarantees,
		.observes = true,
		.truth = truth_report(gpu->truth)->source,
		.sysfs_device = gpu->path[0] ? gpu->path : NULL,
	};
}

/* A GPU without limits is used like one whose caps are guaranteed: each vGPU can use idle time. */
static int drm_set_sharing(struct gpu *gpu, bool guarantee, bool by_default, struct err *reterr)
{
	if (!guarantee && !by_default)
		return err_fail(reterr, EOPNOTSUPP,
				"sharing = hard: backend drm cannot limit a vGPU (allowed: auto or "
				"guarantee)");
	gpu->guarantees = guarantee;
	return 0;
}

static int drm_list(struct gpu *gpu, gpu_found_fn found, void *userdata)
{
	for (int i = 0; i < DRM_TENANTS_MAX; i++) {
		const struct drm_tenant *tenant = &gpu->groups.tenants[i];

		/* Nothing limits a control group, so it may use the whole GPU. */
		if (tenant->used && !tenant->gone)
			found(userdata, tenant->id, 100);
	}
	/* drm_attach() refuses these, with the reason. */
	for (int i = 0; i < DRM_REFUSED_MAX; i++)
		if (gpu->groups.refused[i].id[0])
			found(userdata, gpu->groups.refused[i].id, 100);
	return 0;
}

static int drm_create(struct gpu *gpu, const char *id, int cap_pct, struct err *reterr)
{
	(void)gpu, (void)cap_pct;
	return err_fail(reterr, EOPNOTSUPP,
			"vGPU %s: backend drm creates no control groups (start a container)", id);
}

static int drm_destroy(struct gpu *gpu, const char *id, struct err *reterr)
{
	(void)gpu;
	return err_fail(reterr, EOPNOTSUPP,
			"vGPU %s: backend drm removes no control groups (stop the container)", id);
}

/* --- vGPUs --- */

static int fail_refused(const struct drm_refused *refused, struct err *reterr)
{
	if (refused->full)
		return err_fail(reterr, ENOSPC,
				"vGPU %s: more than %d control groups use the GPU, and %s is one "
				"of those without a place",
				refused->id, DRM_TENANTS_MAX, refused->name);
	return err_fail(reterr, EEXIST,
			"vGPU %s: another control group has the id of %s (rename one of them)",
			refused->id, refused->name);
}

static int drm_attach(struct gpu *gpu, const char *id, uint64_t now_mono_ns,
		      struct gpu_vgpu **ret_vgpu, struct err *reterr)
{
	const struct drm_refused *refused = drm_groups_refused(&gpu->groups, id);
	struct drm_tenant *tenant = refused ? NULL : drm_groups_find(&gpu->groups, id);
	struct gpu_vgpu *vgpu;

	(void)now_mono_ns;
	if (refused)
		return fail_refused(refused, reterr);
	if (!tenant || !drm_groups_exists(&gpu->groups, tenant))
		return err_fail(reterr, ENOENT, "vGPU %s: no control group below %s has this name",
				id, gpu->groups.root);
	vgpu = xcalloc(1, sizeof(*vgpu));
	tenant->n_vgpus++;
	*vgpu = (struct gpu_vgpu){.gpu = gpu,
				  .tenant = tenant,
				  .begin_ns = tenant->busy_ns,
				  .sample = gpu->sample,
				  .sched_begin_ns = tenant->sched_ns};
	*ret_vgpu = vgpu;
	return 0;
}

static void drm_detach(struct gpu_vgpu *vgpu)
{
	if (!vgpu)
		return;
	vgpu->tenant->n_vgpus--;
	free(vgpu);
}

/* The schedulers of GPUs serve their programs in turn, so that each vGPU can have an equal part. */
static int equal_pct(const struct gpu *gpu)
{
	int n = drm_groups_count(&gpu->groups);

	return n > 100 ? 1 : 100 / (n > 0 ? n : 1);
}

/* Returns false if the kernel does not have the file, or the value is "max". */
static bool read_dmem(const struct gpu_vgpu *vgpu, const char *file, uint64_t *ret_bytes)
{
	const struct gpu *gpu = vgpu->gpu;
	char text[DMEM_TEXT_MAX];

	return drm_groups_read(&gpu->groups, vgpu->tenant, file, text, sizeof(text)) >= 0 &&
	       truth_parse_dmem(text, gpu->device, ret_bytes) == 0;
}

/* Uses dmem.current where the kernel has it, because it also counts memory that other processes
 * have opened. */
static void read_memory(const struct gpu_vgpu *vgpu, struct gpu_reading *reading)
{
	reading->memory_max_valid = read_dmem(vgpu, "dmem.max", &reading->memory_max_bytes);
	reading->memory_valid = read_dmem(vgpu, "dmem.current", &reading->memory_bytes);
	if (reading->memory_valid)
		return;
	reading->memory_valid = vgpu->tenant->memory_valid;
	reading->memory_bytes = vgpu->tenant->memory_bytes;
}

static int drm_read(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, struct gpu_reading *ret_reading)
{
	struct gpu *gpu = vgpu->gpu;

	refresh(gpu, vgpu->sample, now_mono_ns);
	if (vgpu->tenant->gone || !drm_groups_exists(&gpu->groups, vgpu->tenant))
		return -ENODEV;
	vgpu->sample = gpu->sample;
	*ret_reading = (struct gpu_reading){
		.at_ns = gpu->at_ns,
		/* The next reading does not cover the time of an incomplete one. */
		.busy_valid = is_complete(gpu),
		.busy_ns = vgpu->tenant->busy_ns - vgpu->begin_ns,
		.sched_ns = vgpu->tenant->sched_ns - vgpu->sched_begin_ns,
		.cap_valid = true,
		.cap_pct = equal_pct(gpu),
	};
	read_memory(vgpu, ret_reading);
	return 0;
}

static int drm_read_cap(struct gpu_vgpu *vgpu, int *ret_cap_pct)
{
	*ret_cap_pct = equal_pct(vgpu->gpu);
	return 0;
}

static int drm_physical(struct gpu *gpu, uint64_t now_mono_ns, uint64_t *ret_at_ns,
			uint64_t *ret_busy_ns)
{
	refresh(gpu, gpu->physical_sample, now_mono_ns);
	/* This is the last reading of a sweep. */
	gpu->swept = true;
	gpu->physical_sample = gpu->sample;
	if (!is_complete(gpu))
		return -ENODATA;
	*ret_at_ns = gpu->at_ns;
	*ret_busy_ns = (uint64_t)gpu->busy_ns;
	return 0;
}

static void drm_problem(const struct gpu *gpu, struct err *ret_problem)
{
	*ret_problem = gpu->problem;
}

static void drm_source(const struct gpu *gpu, struct gpu_source *ret_source)
{
	const struct truth_report *report = truth_report(gpu->truth);

	*ret_source = (struct gpu_source){
		.name = report->source, .last = report->last, .most = report->most};
}

static int drm_owner(struct gpu *gpu, pid_t pid, char ret_id[ID_MAX])
{
	return drm_groups_owner(&gpu->groups, pid, ret_id);
}

const struct gpu_ops gpu_drm_ops = {
	.name = "drm",
	.checks = gpu_drm_checks,
	.open = drm_open,
	.close = drm_close,
	.traits = drm_traits,
	.list = drm_list,
	.create = drm_create,
	.destroy = drm_destroy,
	.attach = drm_attach,
	.detach = drm_detach,
	.read = drm_read,
	.read_cap = drm_read_cap,
	.set_sharing = drm_set_sharing,
	.physical = drm_physical,
	.problem = drm_problem,
	.source = drm_source,
	.owner = drm_owner,
};
