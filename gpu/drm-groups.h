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
#define DRM_REFUSED_MAX	 16 /* groups that cannot be tenants and are listed */

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

/* A group whose programs use the GPU, but which cannot be a tenant. */
struct drm_refused {
	char id[ID_MAX]; /* always with a hash; "": the entry is free */
	char name[DRM_TENANTS_NAME];
	bool full;    /* no slot is free; false: another group has its id */
	unsigned age; /* samples since one of its programs was seen */
};

struct drm_groups {
	struct cgroup_host host;
	char root[PATH_MAX];
	char proc[GPU_ROOT_MAX];
	struct drm_tenant tenants[DRM_TENANTS_MAX];
	struct drm_refused refused[DRM_REFUSED_MAX];
};

/* Finds the mounts of control groups in PROC/self/mountinfo. Errors: -EINVAL (root), and those of
 * cgroup_find(). */
int drm_groups_init(const struct gpu_config *config, struct drm_groups *ret_groups,
		    struct err *reterr);

/*
 * Writes the id of the vGPU of the control group ROOT/@name, which depends on nothing else. A
 * service has its name without .service. A container has the first 12 digits of its long id, as in
 * the tables of docker and podman. Containers, pods of Kubernetes (kubepods*) and virtual machines
 * (machine-*) have no .scope or .slice. If another name could have the same id, because it is too
 * long or has characters that an id cannot have, the id ends with a hash of the path.
 */
void drm_groups_id(const char *root, const char *name, char ret_id[ID_MAX]);

/*
 * Returns the index of the tenant of process @pid, which is added if it is new. Returns -ENOENT if
 * the process is outside the root, or its group was refused, and another error if its group cannot
 * be read.
 */
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
/* Returns the refused group with this id; NULL: none. */
const struct drm_refused *drm_groups_refused(const struct drm_groups *groups, const char *id);
/* Returns the number of tenants whose groups exist. */
int drm_groups_count(const struct drm_groups *groups);
/* Reads a file of the control group, such as dmem.current. Returns the length or an error. */
int drm_groups_read(const struct drm_groups *groups, const struct drm_tenant *tenant,
		    const char *file, char *text, int size);

#endif
