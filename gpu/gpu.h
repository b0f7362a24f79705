/* SPDX-License-Identifier: MIT */
/*
 * The interface of GPU backends: functions that list the vGPUs of a GPU, read busy times and caps,
 * and set caps. Each backend defines a struct gpu_ops. A backend never logs, never changes a
 * cap without a request, and does not read the clock: callers pass the time.
 */
#ifndef GPU_GPU_H
#define GPU_GPU_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/gpu/backend.h"
#include "base/gpu/config.h"
#include "base/id.h"
#include "gpu/diagnose.h"
#include "gpu/drm/truth.h"

#define GPU_SHARING_MAX 32

enum gpu_share { GPU_HARD_CAP, GPU_RELATIVE_SLICE };

/*
 * What the vGPUs of a GPU deliver, and what a promise to a customer counts. GPU_WORK: units of
 * work, such as finished kernel launches.
 */
enum gpu_unit { GPU_FRAMES, GPU_WORK };

/* The properties of an open GPU. Only @guarantees changes, by sharing.set(). */
struct gpu_traits {
	int step_pct;	     /* all caps are whole multiples of step_pct */
	int floor_pct;	     /* smallest cap that the GPU can enforce */
	int min_interval_ms; /* minimum time between two writes of a cap */
	enum gpu_share share;
	/* true: a cap is a share that is always available, and a vGPU may use more, up to its
	 * ceiling */
	bool guarantees;
	/* true: with guarantees, a vGPU may use all time that others leave, also beyond its
	 * contract, because the scheduler has no ceilings */
	bool no_ceiling;
	/* true: the GPU cannot be steered. write_cap() fails, the cap in readings is a measure, and
	 * the daemon only observes */
	bool observes;
	const char *truth;  /* source of the busy times: "fdinfo" or "nvml"; NULL: the scheduler */
	bool creates;	    /* true: the daemon creates and removes vGPUs */
	bool counts_frames; /* true: readings contain counted frames or units of work (sim) */
	enum gpu_unit unit; /* what the frames of a reading are */
	bool leases;	    /* true: a cap has a lease, see gpu_ops.lease; set by gpu_io_traits() */
	bool limits_memory; /* true: write_memory() exists, and readings contain memory */
	double capacity_cores; /* size in CPU cores with softgpu; 0 with other backends */
	/* path of the device in sysfs; valid until the GPU is closed; NULL: unknown */
	const char *sysfs_device;
	/* socket of the arbiter to which programs connect; valid until the GPU is closed; NULL:
	 * programs use this GPU without an arbiter */
	const char *compute_socket;
};

/* What the programs of a vGPU ask the GPU for, if the backend sees each submission. */
enum gpu_ask {
	GPU_ASK_UNKNOWN,
	GPU_ASK_NOTHING, /* no work waits or runs */
	GPU_ASK_WORK,
};

/* The state of a vGPU at one instant. A field is meaningful only if its valid bit is set. */
struct gpu_reading {
	/* time of the reading by the monotonic clock of the GPU (sim: host time x speed) */
	uint64_t at_ns;
	bool busy_valid;
	uint64_t busy_ns;  /* cumulative busy time, converted to time of the whole GPU */
	uint64_t sched_ns; /* cumulative allotted time: the integral of the cap in force */
	bool cap_valid;
	int cap_pct;   /* cap in force; 0: no limit */
	int cap_errno; /* why the cap could not be read (positive errno); 0: no error */
	enum gpu_ask ask;
	bool frames_valid;
	uint64_t frames; /* cumulative; with traits.unit == GPU_WORK: units of work */
	bool memory_valid;
	uint64_t memory_bytes; /* device memory that the programs of the vGPU have allocated */
	bool memory_max_valid;
	uint64_t memory_max_bytes; /* limit that the host has set without the daemon (dmem.max) */
	/* 99th percentile of the frame times since the last reading; 0: no frames, or GPU_WORK */
	float frame_p99_ms;
};

/* The round of a GPU whose vGPUs and host have time slices in turn; 0 without a round. */
struct gpu_round {
	int round_ms;
	int longest_wait_ms;   /* longest time in which a vGPU waits for its next slice */
	double host_share_pct; /* slice of the host in the round */
};

/* What a source of the use by processes found, see struct truth_report. */
struct gpu_source {
	const char *name; /* "fdinfo" or "nvml"; NULL: the busy times come from the scheduler */
	struct truth_counts last, most;
};

struct gpu;	 /* an open GPU */
struct gpu_vgpu; /* a vGPU of an open GPU, with open files */

typedef void (*gpu_found_fn)(void *userdata, const char *id, int initial_cap_pct);
typedef void (*gpu_path_fn)(void *userdata, const char *path);

/*
 * gpu/io.h calls these functions. All of them may block, except those that say that they never do.
 */
/* Guaranteed shares and limits. */
struct gpu_sharing_ops {
	/*
	 * Makes caps guaranteed shares or, with @guarantee false, limits. Called after open(), and
	 * again to change it. Returns a negative errno with a message "sharing = ...": -EOPNOTSUPP
	 * means that the scheduler of this host has only limits. Returns 1 with a message, and
	 * changes nothing, in a dry run if the other sharing is in force, and with @by_default, if
	 * the scheduler of this host has a third discipline; traits.guarantees then says whether
	 * caps are guaranteed. @by_default: the configuration names neither of the two. NULL:
	 * the backend has only limits.
	 */
	int (*set)(struct gpu *gpu, bool guarantee, bool by_default, struct err *reterr);
	/*
	 * Sets the sharing of the last set() that returned 0 again, if another program has
	 * changed it or the driver was loaded again. Returns 1 with the other word in *ret_was if
	 * it was changed, 0 if it was not, or a negative errno. Returns 0 in a dry run. NULL: no
	 * other program can change the sharing.
	 */
	int (*renew)(struct gpu *gpu, char ret_was[GPU_SHARING_MAX]);
	/*
	 * Sets the ceiling, 1..100: the limit of the vGPU's whole GPU time, if caps are guaranteed
	 * shares. Returns -EOPNOTSUPP if the scheduler has no other ceiling than the initial cap.
	 * NULL: no scheduler of this backend has ceilings.
	 */
	int (*write_ceiling)(struct gpu_vgpu *vgpu, int ceiling_pct);
};

/* Limits of device memory. */
struct gpu_memory_ops {
	/*
	 * Limits the device memory of the vGPU to @max_bytes; 0: no limit. A larger allocation then
	 * fails in the program. Memory that is already allocated stays. The limit may be lost when
	 * the vGPU is detached.
	 */
	int (*write)(struct gpu_vgpu *vgpu, uint64_t max_bytes);
};

/* Leases of the cap in force. */
struct gpu_lease_ops {
	/* Reads the cap that takes effect when a lease expires; 0: no limit. */
	int (*read_initial_cap)(struct gpu_vgpu *vgpu, int *ret_cap_pct);
	/*
	 * Sets the cap that takes effect when a lease expires, and also the cap in force. Returns
	 * -EPERM after the first write of a cap, because the initial cap can then no longer change.
	 */
	int (*write_initial_cap)(struct gpu_vgpu *vgpu, int initial_cap_pct, int cap_pct);
	/* Renews the lease of the cap in force for @lease_ms; 0: the cap never expires. Returns
	 * -EOPNOTSUPP if the scheduler of this host has no leases. */
	int (*renew)(struct gpu_vgpu *vgpu, int lease_ms);
};

/* The whole GPU, and where its readings come from. */
struct gpu_observe_ops {
	/* Reads the cumulative busy time of the whole GPU, by the clock of the GPU. */
	int (*physical)(struct gpu *gpu, uint64_t now_mono_ns, uint64_t *ret_at_ns,
			uint64_t *ret_busy_ns);
	/*
	 * Writes why the busy times of the last readings are unknown or incomplete, as a sentence
	 * without the name of the GPU; "" if they are complete. Reads no file. NULL: the errors of
	 * read() say everything.
	 */
	void (*problem)(const struct gpu *gpu, struct err *ret_problem);
	/* Describes the source. Reads no file. NULL: the scheduler is the source. */
	void (*source)(const struct gpu *gpu, struct gpu_source *ret_source);
	/* Describes the present round. Reads no file. NULL: there are no rounds. */
	void (*round)(const struct gpu *gpu, struct gpu_round *ret_round);
};

/* The processes of a vGPU. */
struct gpu_process_ops {
	/*
	 * Writes the id of the vGPU that process @pid belongs to. Returns -ENOENT if the process
	 * belongs to no vGPU of this GPU. Never blocks, and may run while another function runs.
	 */
	int (*owner)(struct gpu *gpu, pid_t pid, char ret_id[ID_MAX]);
	/*
	 * A process joins a vGPU by writing its pid to one or more files. Calls @path for each of
	 * these files. The first file determines the result of owner(). NULL: processes cannot
	 * join. Never blocks, and may run while another function runs.
	 */
	int (*places)(struct gpu *gpu, const char *id, gpu_path_fn path, void *userdata);
};

struct gpu_ops {
	const char *name;
	/* No function reads or writes a file of the GPU, so none of them blocks. */
	bool in_memory;
	/* The checks of the requirements on this host, in order; NULL: none. */
	const struct gpu_check *checks;

	/*
	 * Returns true if the host has a GPU for @config with this backend. The function is NULL if
	 * backend = auto must never select this backend.
	 */
	bool (*present)(const struct gpu_config *config);
	/* Opens the GPU that @config describes. Returns 0, or a negative errno with a message:
	 * -EOPNOTSUPP means that the host does not meet the requirements of this backend, -EACCES
	 * that the permission is missing. In a dry run, returns 1 if the GPU is open but parts of
	 * it are missing; @reterr lists these parts. */
	int (*open)(const struct gpu_config *config, struct gpu **ret_gpu, struct err *reterr);
	/* Closes the GPU, which may be NULL. vGPUs and their caps stay unchanged. */
	void (*close)(struct gpu *gpu);
	/* Never blocks. */
	void (*traits)(const struct gpu *gpu, struct gpu_traits *ret_traits);

	/* Calls @found for every existing vGPU, in any order. An initial_cap_pct of 0 means
	 * unknown. */
	int (*list)(struct gpu *gpu, gpu_found_fn found, void *userdata);
	/* Creates a vGPU with @cap_pct in force. Errors: -EEXIST, -EINVAL (id or cap), -ENOSPC (the
	 * GPU has no room for another vGPU), -EOPNOTSUPP (traits.creates is false). */
	int (*create)(struct gpu *gpu, const char *id, int cap_pct, struct err *reterr);
	/* Removes a vGPU. An attached vGPU must still be detached afterwards. Returns -ENOENT if
	 * the vGPU does not exist. Returns -EBUSY if programs run in the vGPU; the vGPU then stays
	 * unchanged and the message contains the number of programs. */
	int (*destroy)(struct gpu *gpu, const char *id, struct err *reterr);

	/*
	 * Opens the files of an existing vGPU. If the kernel does not count sched_ns, the backend
	 * counts it from @now_mono_ns on. Returns -ENOENT if the vGPU does not exist.
	 *
	 * The result refers to this device only: if the device was removed, all functions below
	 * return -ENODEV, also if another device has its id now. No result is a value of the other
	 * device.
	 */
	int (*attach)(struct gpu *gpu, const char *id, uint64_t now_mono_ns,
		      struct gpu_vgpu **ret_vgpu, struct err *reterr);
	void (*detach)(struct gpu_vgpu *vgpu);
	/*
	 * Returns the identity of the attached device: a device that was removed and created again
	 * with the same id has another identity. It has no unit and no order, and does not change
	 * if the daemon or an arbiter is started again. Never 0, and never blocks.
	 *   gvt: number of the inode of intel_vgpu      xe: of the link virtfnN
	 *   softgpu: of the file of the CPU time        lib: of the control group
	 *   sim: number of vGPUs created before
	 * sysfs and control groups never use the number of an inode again. The function is NULL if
	 * the backend does not know it.
	 */
	uint64_t (*identity)(const struct gpu_vgpu *vgpu);

	/* Reads a vGPU without allocating memory. Returns -ENODEV if the vGPU does not exist any
	 * more. */
	int (*read)(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, struct gpu_reading *ret_reading);
	/*
	 * Sets the cap, which must be a multiple of traits.step_pct. Returns -EINVAL for a cap
	 * outside 1..100, -ENODEV if the vGPU does not exist any more, or a system error. The
	 * function is NULL if traits.observes is true.
	 */
	int (*write_cap)(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, int cap_pct);
	/* Reads the cap in force from the scheduler. */
	int (*read_cap)(struct gpu_vgpu *vgpu, int *ret_cap_pct);

	/* Applies a label of the contract ("workload" in sim). Returns 0 for other keys, and
	 * -EINVAL with a message for an invalid value. The function is NULL if the backend uses no
	 * labels. Never blocks, and may run while another function runs. */
	int (*label)(struct gpu_vgpu *vgpu, const char *key, const char *value, struct err *reterr);

	/* Optional: the backend does not support a function that is NULL. */
	struct gpu_sharing_ops sharing;
	struct gpu_memory_ops memory;
	struct gpu_lease_ops lease;
	struct gpu_observe_ops observe;
	struct gpu_process_ops processes;
};

/* Returns the backend with that name, or NULL. */
const struct gpu_ops *gpu_find(const char *backend);
/* Returns the backend that backend = auto selects on this host, or NULL. */
const struct gpu_ops *gpu_auto(const struct gpu_config *config);
/* Returns the backend at @index in the table, or NULL past the end of the table. */
const struct gpu_ops *gpu_at(size_t index);

/* Returns the seconds of GPU time in a second of host time. */
static inline double gpu_speed(const struct gpu_config *config)
{
	return config->speed > 0 ? config->speed : 1;
}

/* Returns the path of sysfs for a backend whose root this is. */
static inline const char *gpu_sysfs(const struct gpu_config *config)
{
	return config->root[0] ? config->root : "/sys";
}

/*
 * Turns the errors of files of an ended FUSE mount into -ENODEV: the vGPUs of the mount no longer
 * exist.
 */
static inline int gpu_gone_or(int r)
{
	return r == -ENOTCONN || r == -ECONNABORTED ? -ENODEV : r;
}

/* Returns the word of [gpu] sharing for guaranteed shares or for limits. */
static inline const char *gpu_sharing_name(bool guarantees)
{
	return guarantees ? "guarantee" : "hard";
}

#define GPU_DECLARE(backend, ...) extern const struct gpu_ops gpu_##backend##_ops;
GPU_BACKENDS(GPU_DECLARE, GPU_DECLARE)
#undef GPU_DECLARE

#endif
