/* SPDX-License-Identifier: MIT */
/*
 * Host truth: the use of a GPU by each process, as the host measures it. Sources are the usage
 * statistics of DRM files in /proc (fdinfo) and the library of NVIDIA's driver (NVML). A source
 * only reads. A callback of the caller finds the tenant of a process.
 *
 * A call can block in the driver, so the thread of the GPU makes all calls (gpu/io.h).
 *
 * The use of a GPU is counted for each class of engines. The use of a tenant is that of its busiest
 * class, as in intel_gpu_top, because a GPU with a busy render engine is busy even if its video
 * engine idles. So the uses of tenants of different classes can exceed the whole GPU.
 */
#ifndef GPU_DRM_TRUTH_H
#define GPU_DRM_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define TRUTH_CLASSES_MAX    16	 /* classes of engines of a GPU */
#define TRUTH_USERS_MAX	     512 /* DRM files or processes; others are not counted */
#define TRUTH_TENANT_NONE    (-1)
#define TRUTH_TENANT_UNKNOWN (-2)

/* Returns the number of the tenant of process @pid, TRUTH_TENANT_NONE, or TRUTH_TENANT_UNKNOWN if
 * that cannot be read. */
typedef int (*truth_tenant_fn)(void *userdata, pid_t pid);

struct truth_config {
	/* "fdinfo", "nvml", or "auto": nvml if its library has the device, otherwise fdinfo */
	const char *source;
	const char *proc; /* path of the proc file system */
	/* PCI address of the GPU in lower case (0000:03:00.0), or for a GPU that is not a PCI
	 * device the name of its driver; "": nvml uses its only GPU, fdinfo fails */
	const char *device;
	const char *nvml_library; /* NULL: libnvidia-ml.so.1 */
	const char *sysfs;	  /* NULL: /sys */
	truth_tenant_fn tenant;
	void *userdata; /* of @tenant */
};

/* One DRM file or process. */
struct truth_user {
	pid_t pid;
	int tenant; /* result of truth_tenant_fn, at most 16 samples old */
	/* time used since the last sample, divided by the engines of the class; can exceed the time
	 * that has passed, because some drivers count a job when it ends */
	double grown_ns[TRUTH_CLASSES_MAX];
	bool memory_valid;
	uint64_t memory_bytes;
};

/* What a source found. */
struct truth_counts {
	uint64_t clients;  /* DRM files or processes whose use was read */
	uint64_t outside;  /* of these: without a tenant, or with an unknown one */
	uint64_t refused;  /* texts with a malformed value, or without the identity of a client */
	uint64_t denied;   /* processes whose files this process cannot read */
	uint64_t no_times; /* clients without any time or cycles */
	uint64_t ignored; /* clients beyond TRUTH_USERS_MAX, and classes beyond TRUTH_CLASSES_MAX */
};

struct truth_report {
	const char *source;	  /* "fdinfo" or "nvml" */
	struct truth_counts last; /* in the last sample */
	struct truth_counts most; /* largest value of each count since the start */
	/* why the use is unknown or incomplete; "": it is complete, also if it is 0 */
	struct err problem;
};

struct truth;

/*
 * Opens a source. Errors: -EINVAL (unknown source, or several GPUs and no device), -EOPNOTSUPP with
 * a message (the host does not have this source), or a system error. A source that fails later is
 * opened again. With "auto", NVML is tried again while fdinfo cannot show that it sees the clients.
 */
int truth_open(const struct truth_config *config, struct truth **ret_truth, struct err *reterr);
struct truth *truth_close(struct truth *truth); /* NULL is fine; returns NULL */

/*
 * Takes a sample. The first sample has no growth. The cost is bounded: a file for each known user,
 * and a part of the descriptors of all processes (fdinfo). Returns 0 or a negative
 * errno with the reason in the report; the users are then those of the last sample, with the same
 * growth.
 */
int truth_sample(struct truth *truth, uint64_t now_mono_ns);

/* Returns the users in the last sample; valid until the next one. */
const struct truth_user *truth_users(const struct truth *truth, size_t *ret_n);
/*
 * Returns what the last sample found. A source that has seen no client reports a problem, except if
 * it can show that it would have seen one. Valid until the truth is closed.
 */
const struct truth_report *truth_report(const struct truth *truth);

/*
 * Parses dmem.current or dmem.max of control groups v2: lines of a region and bytes, where "max" is
 * no limit. Adds up the regions of @device, whose names begin with "drm/DEVICE/". Returns -ENODATA
 * if there is none, -ERANGE if one of them has no limit, and -EINVAL if a line is malformed.
 */
int truth_parse_dmem(const char *text, const char *device, uint64_t *ret_bytes);

#endif
