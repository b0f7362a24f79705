/* SPDX-License-Identifier: MIT */
/*
 * The interface of GPU backends: which vGPUs exist, how long each was busy, which cap is in force.
 * Each backend is one file that defines a struct gpu_ops. A backend never logs and changes a cap
 * only on request. It does not read the clock: callers pass the time.
 */
#ifndef GPU_GPU_H
#define GPU_GPU_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/id.h"

#define GPU_ROOT_MAX   256 /* with its NUL */
#define GPU_PARENT_MAX 64

struct gpu_config {
	char name[ID_MAX];
	char backend[16]; /* "auto", "gvt", "softgpu", "sim" */
	/* gvt: path of sysfs; softgpu: parent group below the cgroup mounts; sim: control folder.
	 * "": the default */
	char root[GPU_ROOT_MAX];
	char parent[GPU_PARENT_MAX]; /* gvt: name in class/mdev_bus; "": the only GPU */
	int lease_ms;		     /* gvt: validity of a cap without renewal; 0: no limit */
	double capacity_cores;	     /* softgpu: size of the GPU in CPU cores */
	double speed;		     /* sim, and gvt on gover-sim: GPU seconds per second */
	bool dry_run;		     /* not a key: open and read only; create and remove nothing */
};

enum gpu_share { GPU_HARD_CAP, GPU_RELATIVE_SLICE };

/* What an open GPU can do; constant. */
struct gpu_traits {
	int step_pct;	     /* caps are whole multiples of it */
	int floor_pct;	     /* the smallest cap it can enforce */
	int min_interval_ms; /* between two writes of a cap */
	enum gpu_share share;
	bool creates;	       /* the daemon creates and removes vGPUs */
	bool counts_frames;    /* readings contain frames (sim) */
	double capacity_cores; /* softgpu; others: 0 */
};

/* The state of a vGPU at one instant. A field is meaningful only if its valid bit is set. */
struct gpu_reading {
	uint64_t at_ns; /* clock of the GPU: monotonic (sim: host time x speed) */
	bool busy_valid;
	uint64_t busy_ns;  /* cumulative time of the whole GPU used */
	uint64_t sched_ns; /* cumulative allotted time: the integral of the cap in force */
	bool cap_valid;
	int cap_pct; /* in force; 0 = no limit */
	bool frames_valid;
	uint64_t frames;    /* cumulative */
	float frame_p99_ms; /* of the frames since the last reading; 0 = none */
};

struct gpu;	 /* an open GPU */
struct gpu_vgpu; /* one vGPU of it, with open files */

typedef void (*gpu_found_fn)(void *userdata, const char *id, int initial_cap_pct);
typedef void (*gpu_path_fn)(void *userdata, const char *path);

struct gpu_ops {
	const char *name;

	/* True if the host has a GPU for @config with this backend. NULL: backend = auto never
	 * selects this backend. */
	bool (*present)(const struct gpu_config *config);
	/* Opens the GPU that @config describes. Returns 0, or a negative errno with a message:
	 * -EOPNOTSUPP: the host does not meet the requirements of this backend; -EACCES: no
	 * permission. Returns 1 in a dry run if the GPU is open and @reterr contains what is
	 * missing and was not created. */
	int (*open)(const struct gpu_config *config, struct gpu **ret_gpu, struct err *reterr);
	/* Closes the GPU, which may be NULL. vGPUs and their caps stay unchanged. */
	void (*close)(struct gpu *gpu);
	void (*traits)(const struct gpu *gpu, struct gpu_traits *ret_traits);

	/* Calls @found for every existing vGPU, in any order (initial_cap_pct 0: unknown). */
	int (*list)(struct gpu *gpu, gpu_found_fn found, void *userdata);
	/* Creates a vGPU with @cap_pct in force. -EEXIST, -EINVAL (id or cap), -ENOSPC (the GPU
	 * takes no more vGPUs), -EOPNOTSUPP (traits.creates is false). */
	int (*create)(struct gpu *gpu, const char *id, int cap_pct, struct err *reterr);
	/* Removes a vGPU. An attached vGPU must still be detached afterwards. -EBUSY: programs run
	 * in it (the message contains their number) and it stays unchanged; -ENOENT. */
	int (*destroy)(struct gpu *gpu, const char *id, struct err *reterr);

	/* Opens the files of an existing vGPU. If the kernel does not count sched_ns, it is counted
	 * from @now_mono_ns on. -ENOENT. */
	int (*attach)(struct gpu *gpu, const char *id, uint64_t now_mono_ns,
		      struct gpu_vgpu **ret_vgpu, struct err *reterr);
	void (*detach)(struct gpu_vgpu *vgpu);

	/* Reads a vGPU without allocating memory. -ENODEV: the vGPU does not exist any more. */
	int (*read)(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, struct gpu_reading *ret_reading);
	/* Sets the cap, in whole steps. -EINVAL: outside 1..100; -ENODEV; or a system error. */
	int (*write_cap)(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, int cap_pct);
	/* Reads the cap in force from the scheduler. */
	int (*read_cap)(struct gpu_vgpu *vgpu, int *ret_cap_pct);

	/* Reads the cap that takes effect when a lease expires; 0 = no limit. NULL: no leases. */
	int (*read_initial_cap)(struct gpu_vgpu *vgpu, int *ret_cap_pct);
	/* Sets that cap, and @cap_pct as the cap in force. -EPERM: a cap has been written, so the
	 * initial cap cannot change any more. NULL: no leases. */
	int (*write_initial_cap)(struct gpu_vgpu *vgpu, int initial_cap_pct, int cap_pct);
	/* Renews the lease of the cap in force for @lease_ms; 0: the cap never expires.
	 * -EOPNOTSUPP: the scheduler of this host has no leases. NULL: no leases. */
	int (*renew)(struct gpu_vgpu *vgpu, int lease_ms);

	/* Reads the cumulative busy time of the whole GPU, by the clock of the GPU. NULL: unknown.
	 */
	int (*physical)(struct gpu *gpu, uint64_t now_mono_ns, uint64_t *ret_at_ns,
			uint64_t *ret_busy_ns);

	/* Writes the id of the vGPU that process @pid belongs to. -ENOENT: no vGPU of this GPU.
	 * NULL: unknown. */
	int (*owner)(struct gpu *gpu, pid_t pid, char ret_id[ID_MAX]);
	/* Calls @path for every file to which a process writes its pid to join the vGPU. The first
	 * one decides the result of owner(). NULL: processes cannot join. */
	int (*places)(struct gpu *gpu, const char *id, gpu_path_fn path, void *userdata);
	/* Applies a label of the contract ("workload" in sim). Returns 0 for other keys; -EINVAL
	 * with a message: invalid value. NULL: the backend uses no labels. */
	int (*label)(struct gpu_vgpu *vgpu, const char *key, const char *value, struct err *reterr);
};

/* Returns the backend of that name, or NULL. */
const struct gpu_ops *gpu_find(const char *backend);
/* Returns the backend that backend = auto selects on this host, or NULL. */
const struct gpu_ops *gpu_auto(const struct gpu_config *config);
/* Returns the backend at @index in the table, or NULL past its end. */
const struct gpu_ops *gpu_at(size_t index);

extern const struct gpu_ops gpu_gvt_ops;
extern const struct gpu_ops gpu_softgpu_ops;
extern const struct gpu_ops gpu_sim_ops;

#endif
