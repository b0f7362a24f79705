/* SPDX-License-Identifier: MIT */
/*
 * The GPU as the host drives it: which vGPUs exist, how long each was busy, what cap is in force.
 * One file a family behind one table of functions. A backend never decides, never logs and never
 * changes a cap unasked. Time is handed in.
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
	/* gvt: where sysfs is; softgpu: parent group below the cgroup mounts; "": the default */
	char root[GPU_ROOT_MAX];
	char parent[GPU_PARENT_MAX]; /* gvt: the GPU among several, as in class/mdev_bus; "": any */
	int lease_ms;		     /* gvt: how long a cap outlives us; 0: for ever */
	double capacity_cores;	     /* softgpu: size of the GPU in CPU cores */
	double speed;		     /* sim, and gvt on gover-sim: GPU seconds in a host second */
	bool dry_run; /* not a key: open and read what stands, make and remove nothing */
};

enum gpu_share { GPU_HARD_CAP, GPU_RELATIVE_SLICE };

/* What a backend can do; fixed once it is open. */
struct gpu_traits {
	int step_pct;	     /* caps are whole multiples of it */
	int floor_pct;	     /* the least cap it can enforce */
	int min_interval_ms; /* least sensible time between two cap writes */
	enum gpu_share share;
	bool creates;	       /* vGPUs are made and removed by the daemon */
	bool counts_frames;    /* readings carry frames of its own (sim) */
	double capacity_cores; /* softgpu; 0 elsewhere */
};

/* One vGPU read at one instant. A field is a number only where its valid bit is set. */
struct gpu_reading {
	uint64_t at_ns; /* the GPU's clock: monotonic, GPU seconds (sim: host time x speed) */
	bool busy_valid;
	uint64_t busy_ns;  /* cumulative time of the whole GPU used */
	uint64_t sched_ns; /* cumulative time allotted: the integral of the cap in force */
	bool cap_valid;
	int cap_pct; /* in force; 0 = no limit */
	bool frames_valid;
	uint64_t frames;    /* cumulative */
	float frame_p99_ms; /* of the frames since the last read; 0 = none */
};

struct gpu;	 /* an open GPU */
struct gpu_vgpu; /* one vGPU of it with its files kept open */

typedef void (*gpu_found_fn)(void *userdata, const char *id, int initial_cap_pct);
typedef void (*gpu_path_fn)(void *userdata, const char *path);

struct gpu_ops {
	const char *name;
	const char *summary;

	/* Is there a GPU of this family that @config's backend = auto means? NULL: it is never
	 * chosen for the user. */
	bool (*present)(const struct gpu_config *config);
	/* Opens the GPU @config names. Errors: a sentence in @reterr; -EOPNOTSUPP the host lacks
	 * what this family needs, -EACCES not allowed to, others as the system says. 1: it is open,
	 * and @reterr says what does not stand and would be made but in a dry run. */
	int (*open)(const struct gpu_config *config, struct gpu **ret_gpu, struct err *reterr);
	/* Closes everything; NULL is fine. Leaves vGPUs and their caps as they stand. */
	void (*close)(struct gpu *gpu);
	void (*traits)(const struct gpu *gpu, struct gpu_traits *ret_traits);

	/* Calls @found for every vGPU that exists now, in no order (initial_cap_pct 0: unknown). */
	int (*list)(struct gpu *gpu, gpu_found_fn found, void *userdata);
	/* Makes a vGPU with @cap_pct in force. -EEXIST, -EOPNOTSUPP (traits.creates is false). */
	int (*create)(struct gpu *gpu, const char *id, int cap_pct, struct err *reterr);
	/* Removes it; where it is attached, what is left is to detach it. -EBUSY: programs still
	 * run in it (the sentence says how many) and it stands as before; -ENOENT. */
	int (*destroy)(struct gpu *gpu, const char *id, struct err *reterr);

	/* Opens an existing vGPU's files and keeps them. @now_mono_ns starts its sched_ns where the
	 * kernel has none. -ENOENT. */
	int (*attach)(struct gpu *gpu, const char *id, uint64_t now_mono_ns,
		      struct gpu_vgpu **ret_vgpu, struct err *reterr);
	void (*detach)(struct gpu_vgpu *vgpu);

	/* Reads busy, allotted, cap (and frames). No allocation. -ENODEV: the vGPU is gone. */
	int (*read)(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, struct gpu_reading *ret_reading);
	/* Puts a cap in force, whole steps; -EINVAL outside 1..100, -ENODEV, or as the system says.
	 */
	int (*write_cap)(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, int cap_pct);
	/* Reads the cap in force back from where the scheduler keeps it. */
	int (*read_cap)(struct gpu_vgpu *vgpu, int *ret_cap_pct);

	/* The cap that the end of a lease returns to; 0 = no limit. NULL: there are no leases. */
	int (*read_initial_cap)(struct gpu_vgpu *vgpu, int *ret_cap_pct);
	/* Sets it, with @cap_pct in force meanwhile. -EPERM: a cap was written before, it is fixed.
	 * NULL likewise. */
	int (*write_initial_cap)(struct gpu_vgpu *vgpu, int initial_cap_pct, int cap_pct);
	/* Renews the lease of the cap, whatever it is, for @lease_ms; 0: the cap stands for ever.
	 * -EOPNOTSUPP: this host's scheduler has none. NULL likewise. */
	int (*renew)(struct gpu_vgpu *vgpu, int lease_ms);

	/* Cumulative busy time of the whole GPU in its own ns. NULL: not known to this backend.
	 */
	int (*physical)(struct gpu *gpu, uint64_t now_mono_ns, uint64_t *ret_at_ns,
			uint64_t *ret_busy_ns);

	/* Which vGPU does process @pid belong to? Writes its id. -ENOENT: none of ours; NULL:
	 * unknown to this backend. */
	int (*owner)(struct gpu *gpu, pid_t pid, char ret_id[ID_MAX]);
	/* Calls @path for every file into which a process writes its pid to join the vGPU, first
	 * for that by which owner() goes; NULL: no such. */
	int (*places)(struct gpu *gpu, const char *id, gpu_path_fn path, void *userdata);
	/* A label of the contract that this family gives a meaning ("workload" in sim). -EINVAL
	 * with a sentence for a bad value; 0 for keys that mean nothing here; NULL: none do. */
	int (*label)(struct gpu_vgpu *vgpu, const char *key, const char *value, struct err *reterr);
};

/* The families by name; NULL for an unknown one. @index past the end gives NULL. */
const struct gpu_ops *gpu_find(const char *backend);
/* The family that backend = auto means on this host; NULL: none. */
const struct gpu_ops *gpu_auto(const struct gpu_config *config);
const struct gpu_ops *gpu_at(size_t index);

extern const struct gpu_ops gpu_gvt_ops;
extern const struct gpu_ops gpu_softgpu_ops;
extern const struct gpu_ops gpu_sim_ops;

#endif
