/* SPDX-License-Identifier: MIT */
/*
 * The tenants of backend drm: the control groups directly below one parent group, such as the
 * containers below system.slice. A group becomes a tenant when one of its programs opens the GPU or
 * a vGPU is attached to it, and remains one until it is removed. Never creates, moves or removes a
 * group.
 */
#ifndef GPU_DRM_GROUPS_H
#define GPU_DRM_GROUPS_H

#include <sys/types.h>

#include "gpu/cgroup.h"
#include "gpu/gpu.h"

#define DRM_TENANTS_MAX	 256
#define DRM_TENANTS_NAME 256 /* size of the name of a control group with its NUL */
#define DRM_ROOT_DEFAULT "system.slice"

struct drm_tenant {
	bool used; /* false: the slot is free */
	char id[ID_MAX];
	char name[DRM_TENANTS_NAME]; /* of the group below the root */
	int n_vgpus;		     /* attached vGPUs, 0 or 1 */
	unsigned gone;		     /* samples since the group was removed; 0: it exists */
	/* counters since the tenant was found; gpu/drm.c changes them */
	uint64_t busy_ns;
	uint64_t sched_ns; /* time that it could have used */
	bool memory_valid;
	uint64_t memory_bytes;
};

struct drm_groups {
	struct cgroup_host host;
	char root[PATH_MAX];
	char proc[GPU_ROOT_MAX];
	struct drm_tenant tenants[DRM_TENANTS_MAX];
};

/* Finds the mounts of control groups in PROC/self/mountinfo. Errors: -EINVAL (root), and those of
 * cgroup_find(). */
int drm_groups_init(const struct gpu_config *config, struct drm_groups *ret_groups,
		    struct err *reterr);

/*
 * Writes the id of the vGPU of a control group: the name of the group without .scope, .service or
 * .slice, with the first 12 digits of a container's long id, as in the tables of docker and podman.
 * Returns -EINVAL if that is no valid id.
 */
int drm_groups_id(const char *name, char ret_id[ID_MAX]);

/* Returns the index of the tenant of process @pid, which is added if it is new; -1: none. */
int drm_groups_tenant(struct drm_groups *groups, pid_t pid);
/* As owner() of struct gpu_ops; changes no tenant, so that any thread can call it. */
int drm_groups_owner(const struct drm_groups *groups, pid_t pid, char ret_id[ID_MAX]);
/*
 * Returns the tenant with that id, which is added if a group of this id exists. NULL: there is no
 * such group, its tenant is gone, or no slot is free.
 */
struct drm_tenant *drm_groups_find(struct drm_groups *groups, const char *id);
/* Returns false if the control group does not exist any more. */
bool drm_groups_exists(const struct drm_groups *groups, const struct drm_tenant *tenant);
/*
 * Marks tenants whose groups were removed as gone, and frees their slots later. A gone tenant
 * without a vGPU returns if its group exists again. Called once per sample.
 */
void drm_groups_expire(struct drm_groups *groups);
/* Returns the number of tenants whose groups exist. */
int drm_groups_count(const struct drm_groups *groups);
/* Reads a file of the control group, such as dmem.current. Returns the length or an error. */
int drm_groups_read(const struct drm_groups *groups, const struct drm_tenant *tenant,
		    const char *file, char *text, int size);

#endif
