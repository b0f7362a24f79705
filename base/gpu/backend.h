/* SPDX-License-Identifier: MIT */
/*
 * The names of the GPU backends, with what the rules of the configuration must know about each. The
 * configuration accepts these names, and gpu/ has a struct gpu_ops for each of them.
 */
#ifndef BASE_GPU_BACKEND_H
#define BASE_GPU_BACKEND_H

#include <stdbool.h>

/* What a GPU is. Two GPUs of a kind must not have the same root and parent. */
enum gpu_kind {
	GPU_KIND_DEVICE,    /* the device @parent in the sysfs at @root */
	GPU_KIND_GROUP,	    /* a control group below @root, which contains its vGPUs */
	GPU_KIND_OBSERVED,  /* the GPU @parent, which the control groups below @root share */
	GPU_KIND_SIMULATED, /* a GPU in memory, with the control folder @root */
};

struct gpu_backend {
	const char *name;
	enum gpu_kind kind;
	bool hard_only; /* sharing = guarantee is not possible: gpu_ops.sharing.set is NULL */
	bool arbiter;	/* programs connect to an arbiter on [gpu] socket */
	bool bpf;	/* fps_source = bpf can count the frames of its vGPUs */
};

/*
 * A row for each backend, in the order in which backend = auto tries them. gpu/ has the functions
 * of backend NAME as gpu_NAME_ops. LAST makes the last row, which differs in a list of names.
 */
#define GPU_BACKENDS(ROW, LAST)                                              \
	ROW(gvt, .kind = GPU_KIND_DEVICE)                                    \
	ROW(xe, .kind = GPU_KIND_DEVICE)                                     \
	ROW(softgpu, .kind = GPU_KIND_GROUP, .bpf = true)                    \
	ROW(lib, .kind = GPU_KIND_GROUP, .hard_only = true, .arbiter = true) \
	ROW(drm, .kind = GPU_KIND_OBSERVED)                                  \
	LAST(sim, .kind = GPU_KIND_SIMULATED)

/* Returns the backend with that name; NULL: unknown, or "auto". */
const struct gpu_backend *gpu_backend_find(const char *name);
/* Writes the names of the backends that fit, for a sentence: "gvt or xe". */
#define GPU_BACKEND_LIST_MAX 128
void gpu_backend_list(bool (*fits)(const struct gpu_backend *backend),
		      char ret_names[GPU_BACKEND_LIST_MAX]);

#endif
