/* SPDX-License-Identifier: MIT */
/*
 * lib: a GPU whose programs submit their work in turns that gover-arbiter grants
 * (compute-layer(7)). A vGPU is the control group ROOT/GPU/ID and the tenant of this group in the
 * arbiter. The arbiter enforces the cap and counts busy time and finished work units.
 *
 * The arbiter outlives the daemon, so that programs keep their caps. If it was killed, the next
 * call starts another one and adds all attached vGPUs with their last settings. busy_ns and frames
 * continue then, because only the growth of the arbiter's counters is added to them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/xalloc.h"
#include "gpu/cgroup-tree.h"
#include "gpu/lib-arbiter.h"

#define WEIGHT 100u /* equal for all vGPUs: only caps make shares different */
/* Readings of one sweep use the same listing. A sweep takes less than this. */
#define LISTING_OLD_NS (50 * NS_PER_MS)

/* A counter that continues when the counters of the arbiter begin at 0 again. */
struct counter {
	uint64_t total;
	uint64_t last; /* value in the arbiter at the last reading */
};

struct gpu {
	struct cgroup_tree tree;
	struct lib_arbiter arbiter;
	struct gpu_vgpu *vgpus; /* attached vGPUs */
	uint64_t listing;	/* last listing that physical() has returned */
	uint64_t begin_ns;	/* start of the arbiter of @busy */
	struct counter busy;
};

struct gpu_vgpu {
	struct gpu_vgpu *next;
	struct gpu *gpu;
	char path[PATH_MAX]; /* folder of the control group; exists as long as the vGPU */
	ino_t inode;	     /* of this folder; a group that is created again has another one */
	/* settings for another arbiter, and the last reading of the tenant */
	struct compute_tenant tenant;
	/* start of the arbiter of @tenant; another arbiter may use its index for another tenant */
	uint64_t begin_ns;
	uint64_t listing; /* last listing that read() has returned */
	struct counter busy, units;
	double sched_ns;
	uint64_t at_ns; /* time up to which @sched_ns counts */
};

static void count(struct counter *counter, uint64_t value, bool same_arbiter)
{
	counter->total += same_arbiter && value >= counter->last ? value - counter->last : value;
	counter->last = value;
}

/* --- vGPUs and their tenants --- */

/* Writes the id of the tenant of @group. gover-arbiter finds the group of a program in this form.
 */
static int tenant_id(const char *group, char ret_id[COMPUTE_ID_MAX])
{
	return snprintf(ret_id, COMPUTE_ID_MAX, "/%s", group) < COMPUTE_ID_MAX ? 0 : -ENAMETOOLONG;
}

static bool exists(const struct gpu_vgpu *vgpu)
{
	struct stat st;

	return stat(vgpu->path, &st) == 0 ? st.st_ino == vgpu->inode : errno != ENOENT;
}

static const struct compute_tenant *find(const struct gpu_vgpu *vgpu)
{
	return lib_arbiter_find(&vgpu->gpu->arbiter, vgpu->tenant.id, vgpu->tenant.index);
}

/* Lists the tenants, and adds the tenants that the arbiter does not have. */
static int refresh(struct gpu *gpu, uint64_t now_mono_ns, struct err *reterr)
{
	int r = lib_arbiter_list(&gpu->arbiter, now_mono_ns, reterr);

	for (struct gpu_vgpu *v = gpu->vgpus; r == 0 && v && !gpu->tree.dry_run; v = v->next) {
		if (find(v) || !exists(v))
			continue;
		r = lib_arbiter_add(&gpu->arbiter, &v->tenant);
		if (r < 0)
			r = err_fail(reterr, -r,
				     "socket %s: tenant %s cannot be added to the arbiter: %s",
				     gpu->arbiter.socket, v->tenant.id, strerror(-r));
	}
	return r;
}

/* Each listing gives one reading, so that the time of readings increases. */
static bool is_due(const struct gpu *gpu, uint64_t used_listing, uint64_t now_mono_ns)
{
	const struct lib_arbiter *arbiter = &gpu->arbiter;

	return arbiter->stale || arbiter->listing == used_listing ||
	       now_mono_ns > arbiter->device.now_ns + LISTING_OLD_NS;
}

/* The tenants of removed vGPUs, whose removal an earlier daemon could not request. */
static void remove_lost_tenants(struct gpu *gpu)
{
	char prefix[COMPUTE_ID_MAX], path[PATH_MAX];
	struct lib_arbiter *arbiter = &gpu->arbiter;
	size_t n;

	if (tenant_id(gpu->tree.group, prefix) < 0)
		return;
	n = strlen(prefix);
	for (unsigned int i = 0; i < arbiter->n_tenants; i++) {
		const char *id = arbiter->tenants[i].id;

		if (strncmp(id, prefix, n) != 0 || id[n] != '/' ||
		    cgroup_path(&gpu->tree.host, 0, gpu->tree.group, id + n + 1, path) < 0)
			continue;
		if (access(path, F_OK) < 0 && errno == ENOENT)
			(void)lib_arbiter_remove(arbiter, arbiter->tenants[i].index);
	}
}

/* --- opening and closing --- */

static int make_groups(const struct gpu *gpu, struct err *reterr)
{
	int r = cgroup_tree_make_root(&gpu->tree, reterr);

	if (r >= 0)
		r = cgroup_make(&gpu->tree.host, gpu->tree.group, reterr);
	return r < 0 ? r : 0;
}

static void lib_close(struct gpu *gpu)
{
	if (!gpu)
		return;
	lib_arbiter_close(&gpu->arbiter);
	cgroup_tree_remove_empty(&gpu->tree);
	free(gpu);
}

static int check_config(const struct gpu_config *config, struct gpu *gpu, struct err *reterr)
{
	char path[GPU_SOCKET_MAX], id[COMPUTE_ID_MAX];
	int r = cgroup_tree_init(config, &gpu->tree, reterr);

	if (r < 0)
		return r;
	if (config->socket[0] == '\0' || lib_arbiter_control_path(config->socket, path) < 0)
		return err_fail(reterr, EINVAL,
				"GPU %s: socket \"%s\" is not allowed (allowed: a path of at most "
				"%zu characters)",
				config->name, config->socket,
				GPU_SOCKET_MAX - sizeof(COMPUTE_CONTROL_SUFFIX));
	if (tenant_id(gpu->tree.group, id) < 0 || strlen(id) + ID_MAX >= sizeof(id))
		return err_fail(reterr, EINVAL, "GPU %s: root \"%s\" is too long (limit %zu bytes)",
				config->name, gpu->tree.root, sizeof(id) - 2 * ID_MAX);
	return 0;
}

/* Reports what a dry run does not create. */
static int open_existing(struct gpu *gpu, struct err *reterr)
{
	struct err missing;

	if (cgroup_tree_is_missing(&gpu->tree, reterr))
		return 1;
	if (lib_arbiter_list(&gpu->arbiter, 0, &missing) < 0) {
		(void)err_fail(reterr, ENOENT, "%.500s (a dry run starts no arbiter)", missing.msg);
		return 1;
	}
	return 0;
}

/* An arbiter that was started with another configuration changes its discipline. */
static int set_discipline(struct gpu *gpu, struct err *reterr)
{
	const char *discipline = gpu->arbiter.discipline;
	int r;

	if (strcmp(gpu->arbiter.device.discipline, discipline) == 0)
		return 0;
	r = lib_arbiter_set_discipline(&gpu->arbiter);
	return r < 0 ? err_fail(reterr, -r, "socket %s: discipline %s cannot be set: %s",
				gpu->arbiter.socket, discipline, strerror(-r))
		     : 0;
}

static int establish(struct gpu *gpu, struct err *reterr)
{
	int r = make_groups(gpu, reterr);

	if (r == 0)
		r = lib_arbiter_list(&gpu->arbiter, 0, reterr);
	if (r < 0)
		return r;
	remove_lost_tenants(gpu);
	return set_discipline(gpu, reterr);
}

static int lib_open(const struct gpu_config *config, struct gpu **ret_gpu, struct err *reterr)
{
	struct gpu *gpu = xcalloc(1, sizeof(*gpu));
	int r;

	r = check_config(config, gpu, reterr);
	if (r < 0) {
		free(gpu);
		return r;
	}
	gpu->arbiter.control = COMPUTE_CONTROL_NULL;
	gpu->arbiter.starts = !config->dry_run;
	strcpy(gpu->arbiter.socket, config->socket);
	strcpy(gpu->arbiter.name, config->name);
	strcpy(gpu->arbiter.discipline, config->discipline);
	r = gpu->tree.dry_run ? open_existing(gpu, reterr) : establish(gpu, reterr);
	if (r < 0) {
		lib_close(gpu);
		return r;
	}
	*ret_gpu = gpu;
	return r;
}

static void lib_traits(const struct gpu *gpu, struct gpu_traits *ret_traits)
{
	*ret_traits = (struct gpu_traits){
		.step_pct = 1,
		.floor_pct = 1,
		.share = GPU_HARD_CAP,
		.creates = true,
		.counts_frames = true,
		.unit = GPU_WORK,
		.limits_memory = true,
		.compute_socket = gpu->arbiter.socket,
	};
}

/* --- vGPUs --- */

static int lib_list(struct gpu *gpu, gpu_found_fn found, void *userdata)
{
	return cgroup_tree_list(&gpu->tree, found, userdata);
}

static void init_tenant(struct compute_tenant *tenant, int cap_pct)
{
	*tenant = (struct compute_tenant){
		.index = COMPUTE_TENANT_NONE,
		.weight = WEIGHT,
		.cap_pct = (uint32_t)cap_pct,
		.memory_max_bytes = COMPUTE_MEMORY_NO_LIMIT,
	};
}

/* Adds the tenant of a new control group. A tenant of a removed group with this name is removed. */
static int add_new(struct gpu *gpu, const char *group, int cap_pct, struct err *reterr)
{
	const struct compute_tenant *old;
	struct compute_tenant tenant;
	int r;

	init_tenant(&tenant, cap_pct);
	r = tenant_id(group, tenant.id);
	if (r < 0)
		return err_fail(reterr, -r, "control group %s: %s", group, strerror(-r));
	r = refresh(gpu, gpu->arbiter.now_ns, reterr);
	if (r < 0)
		return r;
	old = lib_arbiter_find(&gpu->arbiter, tenant.id, COMPUTE_TENANT_NONE);
	if (old)
		(void)lib_arbiter_remove(&gpu->arbiter, old->index);
	r = lib_arbiter_add(&gpu->arbiter, &tenant);
	return r < 0 ? err_fail(reterr, -r, "socket %s: tenant %s cannot be added: %s",
				gpu->arbiter.socket, tenant.id, strerror(-r))
		     : 0;
}

static int lib_create(struct gpu *gpu, const char *id, int cap_pct, struct err *reterr)
{
	char group[PATH_MAX];
	int r;

	if (cap_pct < 1 || cap_pct > 100)
		return err_fail(reterr, EINVAL,
				"vGPU %s: cap %d %% is not allowed (allowed: 1..100)", id, cap_pct);
	r = make_groups(gpu, reterr); /* another program may have removed ROOT/GPU */
	if (r == 0)
		r = cgroup_tree_create(&gpu->tree, id, group, reterr);
	if (r < 0)
		return r;
	r = add_new(gpu, group, cap_pct, reterr);
	if (r < 0)
		(void)cgroup_remove(&gpu->tree.host, group);
	return r;
}

static int lib_destroy(struct gpu *gpu, const char *id, struct err *reterr)
{
	int r = cgroup_tree_destroy(&gpu->tree, id, reterr);
	const struct compute_tenant *tenant;
	char group[PATH_MAX], name[COMPUTE_ID_MAX];

	/* If the arbiter cannot be reached, open() or create() removes the tenant later. */
	if (r == 0 && cgroup_tree_vgpu(&gpu->tree, id, group) == 0 && tenant_id(group, name) == 0 &&
	    refresh(gpu, gpu->arbiter.now_ns, NULL) == 0) {
		tenant = lib_arbiter_find(&gpu->arbiter, name, COMPUTE_TENANT_NONE);
		if (tenant)
			(void)lib_arbiter_remove(&gpu->arbiter, tenant->index);
	}
	return r;
}

static void lib_detach(struct gpu_vgpu *vgpu)
{
	struct gpu_vgpu **link;

	if (!vgpu)
		return;
	for (link = &vgpu->gpu->vgpus; *link != vgpu; link = &(*link)->next)
		;
	*link = vgpu->next;
	free(vgpu);
}

/* Counts the time since the last call with the cap that was in force. */
static void integrate(struct gpu_vgpu *vgpu, uint64_t now_mono_ns)
{
	uint32_t cap_pct = vgpu->tenant.cap_pct;

	if (now_mono_ns <= vgpu->at_ns)
		return;
	vgpu->sched_ns += (cap_pct ? cap_pct : 100) / 100.0 * (double)(now_mono_ns - vgpu->at_ns);
	vgpu->at_ns = now_mono_ns;
}

/* Takes over the tenant of the last listing. */
static void take(struct gpu_vgpu *vgpu, const struct compute_tenant *tenant)
{
	const struct lib_arbiter *arbiter = &vgpu->gpu->arbiter;
	bool same =
		vgpu->begin_ns == arbiter->device.begin_ns && vgpu->tenant.index == tenant->index;

	integrate(vgpu, arbiter->device.now_ns);
	count(&vgpu->busy, tenant->busy_ns, same);
	count(&vgpu->units, tenant->units, same);
	vgpu->tenant = *tenant;
	vgpu->begin_ns = arbiter->device.begin_ns;
	vgpu->listing = arbiter->listing;
}

static int open_vgpu(struct gpu *gpu, const char *id, struct gpu_vgpu *vgpu)
{
	char group[PATH_MAX];
	struct stat st;
	int r = cgroup_tree_vgpu(&gpu->tree, id, group);

	/* The arbiter does not know a cap of this vGPU. The daemon sets it after a reading. */
	init_tenant(&vgpu->tenant, 0);
	if (r == 0)
		r = tenant_id(group, vgpu->tenant.id);
	if (r == 0)
		r = cgroup_path(&gpu->tree.host, 0, group, "", vgpu->path);
	if (r == 0 && stat(vgpu->path, &st) < 0)
		r = -errno;
	if (r == 0)
		vgpu->inode = st.st_ino;
	return r;
}

static int lib_attach(struct gpu *gpu, const char *id, uint64_t now_mono_ns,
		      struct gpu_vgpu **ret_vgpu, struct err *reterr)
{
	struct gpu_vgpu *vgpu = xcalloc(1, sizeof(*vgpu));
	const struct compute_tenant *tenant;
	int r;

	r = open_vgpu(gpu, id, vgpu);
	if (r < 0) {
		free(vgpu);
		return err_fail(reterr, -r, "vGPU %s: its control group cannot be opened: %s", id,
				strerror(-r));
	}
	vgpu->gpu = gpu;
	vgpu->next = gpu->vgpus;
	vgpu->at_ns = now_mono_ns;
	gpu->vgpus = vgpu;
	r = refresh(gpu, now_mono_ns, reterr);
	/* A dry run shows also vGPUs that the arbiter does not know. */
	if (r < 0 && !gpu->tree.dry_run) {
		lib_detach(vgpu);
		return r;
	}
	tenant = r == 0 ? find(vgpu) : NULL;
	if (tenant)
		take(vgpu, tenant);
	vgpu->listing = 0;
	*ret_vgpu = vgpu;
	return 0;
}

static uint64_t lib_identity(const struct gpu_vgpu *vgpu)
{
	return vgpu->inode;
}

/* Finds the tenant in a listing that this vGPU has not used. Returns -ENODEV if the vGPU is gone.
 */
static int find_current(struct gpu_vgpu *vgpu, uint64_t now_mono_ns,
			const struct compute_tenant **ret_tenant)
{
	struct gpu *gpu = vgpu->gpu;
	int r = 0;

	if (!exists(vgpu))
		return -ENODEV;
	if (is_due(gpu, vgpu->listing, now_mono_ns))
		r = refresh(gpu, now_mono_ns, NULL);
	if (r < 0)
		return r;
	*ret_tenant = find(vgpu);
	return *ret_tenant ? 0 : -ENODATA;
}

static int lib_read(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, struct gpu_reading *ret_reading)
{
	const struct compute_tenant *tenant;
	int r = find_current(vgpu, now_mono_ns, &tenant);

	if (r < 0)
		return r;
	take(vgpu, tenant);
	*ret_reading = (struct gpu_reading){
		.at_ns = vgpu->gpu->arbiter.device.now_ns,
		.busy_valid = true,
		.busy_ns = vgpu->busy.total,
		.sched_ns = (uint64_t)vgpu->sched_ns,
		.cap_valid = true,
		.cap_pct = (int)tenant->cap_pct,
		.ask = tenant->state == COMPUTE_IDLE ? GPU_ASK_NOTHING : GPU_ASK_WORK,
		/* Without a program, the rate is unknown and not 0. */
		.frames_valid = tenant->clients > 0,
		.frames = vgpu->units.total,
		.memory_valid = true,
		.memory_bytes = tenant->memory_bytes,
	};
	return 0;
}

static int lib_read_cap(struct gpu_vgpu *vgpu, int *ret_cap_pct)
{
	const struct compute_tenant *tenant;
	int r;

	vgpu->gpu->arbiter.stale = true;
	r = find_current(vgpu, vgpu->gpu->arbiter.now_ns, &tenant);
	if (r == 0)
		*ret_cap_pct = (int)tenant->cap_pct;
	return r;
}

/* Sends a SET request of the tenant. @now_mono_ns 0: the last known time. */
static int set(struct gpu_vgpu *vgpu, enum compute_verb verb, uint64_t value, uint64_t now_mono_ns)
{
	struct lib_arbiter *arbiter = &vgpu->gpu->arbiter;
	const struct compute_tenant *tenant;
	int r = -ENOENT;

	if (!exists(vgpu))
		return -ENODEV;
	if (vgpu->begin_ns == arbiter->device.begin_ns)
		r = lib_arbiter_set(arbiter, verb, vgpu->tenant.index, value);
	if (!lib_arbiter_lost(arbiter) && r != -ENOENT)
		return r;
	/* The arbiter ended since the last call, or it does not have this tenant. */
	arbiter->stale = true;
	r = find_current(vgpu, now_mono_ns, &tenant);
	if (r < 0)
		return r;
	take(vgpu, tenant);
	return lib_arbiter_set(arbiter, verb, vgpu->tenant.index, value);
}

static int lib_write_cap(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, int cap_pct)
{
	int r;

	if (cap_pct < 1 || cap_pct > 100)
		return -EINVAL;
	r = set(vgpu, COMPUTE_SET_CAP, (uint64_t)cap_pct, now_mono_ns);
	if (r < 0)
		return r;
	integrate(vgpu, now_mono_ns);
	vgpu->tenant.cap_pct = (uint32_t)cap_pct;
	return 0;
}

static int lib_write_memory(struct gpu_vgpu *vgpu, uint64_t max_bytes)
{
	uint64_t limit = max_bytes == 0 ? COMPUTE_MEMORY_NO_LIMIT : max_bytes;
	int r = set(vgpu, COMPUTE_SET_MEMORY, limit, 0);

	if (r == 0)
		vgpu->tenant.memory_max_bytes = limit;
	return r;
}

static int lib_physical(struct gpu *gpu, uint64_t now_mono_ns, uint64_t *ret_at_ns,
			uint64_t *ret_busy_ns)
{
	const struct compute_device *device = &gpu->arbiter.device;
	int r = 0;

	if (is_due(gpu, gpu->listing, now_mono_ns))
		r = refresh(gpu, now_mono_ns, NULL);
	if (r < 0)
		return r;
	count(&gpu->busy, device->busy_ns, gpu->begin_ns == device->begin_ns);
	gpu->begin_ns = device->begin_ns;
	gpu->listing = gpu->arbiter.listing;
	*ret_at_ns = device->now_ns;
	*ret_busy_ns = gpu->busy.total;
	return 0;
}

static int lib_owner(struct gpu *gpu, pid_t pid, char ret_id[ID_MAX])
{
	return cgroup_tree_owner(&gpu->tree, pid, ret_id);
}

static int lib_places(struct gpu *gpu, const char *id, gpu_path_fn path, void *userdata)
{
	return cgroup_tree_places(&gpu->tree, id, path, userdata);
}

const struct gpu_ops gpu_lib_ops = {
	.name = "lib",
	.open = lib_open,
	.close = lib_close,
	.traits = lib_traits,
	.list = lib_list,
	.create = lib_create,
	.destroy = lib_destroy,
	.attach = lib_attach,
	.detach = lib_detach,
	.identity = lib_identity,
	.read = lib_read,
	.write_cap = lib_write_cap,
	.read_cap = lib_read_cap,
	.write_memory = lib_write_memory,
	.physical = lib_physical,
	.owner = lib_owner,
	.places = lib_places,
};
