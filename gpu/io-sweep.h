/* SPDX-License-Identifier: MIT */
/* The data of gpu/io.h. */
#ifndef GPU_IO_SWEEP_H
#define GPU_IO_SWEEP_H

#include "gpu/gpu.h"

#define GPU_IO_WAIT_MS	  500
#define GPU_IO_VGPUS_MAX  256 /* largest number of vGPUs in a sweep */
#define GPU_IO_LISTED_MAX 512 /* largest number of vGPUs in a listing */

/* The time for which the caller may still wait. Zero-initialised; gpu/io.c changes it. */
struct gpu_io_patience {
	uint64_t left_ns;
	uint64_t at_ns; /* monotonic time of @left_ns; 0: not used yet */
};

struct gpu_io_listed {
	char id[ID_MAX + 1]; /* a longer id is cut, but remains too long */
	int initial_cap_pct; /* 0: unknown */
};

/* One vGPU in a sweep. */
struct gpu_io_sample {
	/* set by the caller; NULL in the results: the vGPU was detached meanwhile */
	struct gpu_vgpu *device;
	int lease_ms; /* set by the caller: new lease of the cap, 0: no lease; -1: do not renew */

	int read_error; /* negative errno of the reading; 0: valid */
	/* cap_valid is false if the caller has written the cap since the reading */
	struct gpu_reading reading;
	uint64_t read_ns;    /* monotonic time after the reading */
	int renew_error;     /* negative errno of the renewal; 0: renewed */
	uint64_t renewed_ns; /* monotonic time before the renewal; 0: not renewed */
};

struct gpu_io_sweep {
	/*
	 * Set by the caller: a reading that takes longer gives -ETIMEDOUT, because its time is not
	 * known well enough.
	 */
	uint64_t slow_ns;
	bool lists;	/* set by the caller: list the vGPUs */
	int list_error; /* negative errno of the listing; 0: complete */
	struct gpu_io_listed listed[GPU_IO_LISTED_MAX];
	int n_listed;
	/* with lists: 1: another program had set the sharing to sharing_was, and it is set again;
	 * negative errno: it cannot be read or set; 0: unchanged */
	int sharing_result;
	char sharing_was[GPU_SHARING_MAX];

	struct gpu_io_sample samples[GPU_IO_VGPUS_MAX];
	int n_samples; /* set by the caller */

	/* busy time of the whole GPU, and its time by the clock of the GPU */
	bool physical_valid;
	uint64_t physical_at_ns, physical_busy_ns;

	struct gpu_round round;	  /* see gpu_ops.round */
	struct err problem;	  /* see gpu_ops.problem; "": none */
	struct gpu_source source; /* see gpu_ops.source */
	uint64_t took_ns;	  /* duration of the sweep */
};

#endif
