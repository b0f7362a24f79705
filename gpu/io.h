/* SPDX-License-Identifier: MIT */
/*
 * Access to one GPU. A file of a GPU can hang, because the driver or a FUSE server hangs. A thread
 * of its own for each GPU therefore makes the calls of the backend that read or write files, and
 * the caller waits for them only for a bounded time. A backend in memory needs no thread: its calls
 * run in the thread of the caller.
 *
 * There are two ways to use a GPU:
 * - A sweep lists and reads all vGPUs and renews their leases. The caller starts a sweep and takes
 *   its results later.
 * - A single call runs between two steps of a sweep. If it does not end in time, it returns
 *   -ETIMEDOUT. A write that timed out may still take effect later.
 *
 * The GPUs of a caller share one struct gpu_io_patience: it limits a wait to its @max_ns, and all
 * waits together to about half of the time of the caller. While a GPU does not answer at all,
 * calls return -ETIMEDOUT at once.
 *
 * All functions are called by one thread, which owns the struct gpu_io.
 */
#ifndef GPU_IO_H
#define GPU_IO_H

#include "gpu/gpu.h"

#define GPU_IO_WAIT_MS	  500
#define GPU_IO_VGPUS_MAX  256 /* largest number of vGPUs in a sweep */
#define GPU_IO_LISTED_MAX 512 /* largest number of vGPUs in a listing */

/* The time for which the caller may still wait. Zero-initialised; only gpu_io changes @left_ns. */
struct gpu_io_patience {
	uint64_t max_ns; /* set by the caller: the longest wait; 0: GPU_IO_WAIT_MS */
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

	struct gpu_round round;	  /* see gpu_ops.observe.round */
	struct err problem;	  /* see gpu_ops.observe.problem; "": none */
	struct gpu_source source; /* see gpu_ops.observe.source */
	uint64_t took_ns;	  /* duration of the sweep */
};

struct gpu_io;

/* --- opening and closing --- */

/*
 * Begins to open the GPU that @config describes; backend "auto" selects a backend. @patience must
 * outlive the struct gpu_io. -EINVAL: unknown backend.
 */
int gpu_io_new(const struct gpu_config *config, struct gpu_io_patience *patience,
	       struct gpu_io **ret_io, struct err *reterr);
/*
 * Waits until the GPU is open, or until the monotonic time @until_ns. Returns 0 if it is open, or 1
 * with a message if it is open in a dry run but parts are missing, or with config.any_sharing but
 * in another sharing. -EINPROGRESS: it is not open yet. -ENODEV without a message: backend "auto"
 * found no GPU. -EINVAL: also if the GPU does not have the sharing that the configuration names.
 * Other errors are those of gpu_ops.open() and gpu_ops.sharing.set().
 */
int gpu_io_wait_open(struct gpu_io *io, uint64_t until_ns, struct err *reterr);
/* Begins to open the GPU again after gpu_io_wait_open() has returned an error. */
void gpu_io_reopen(struct gpu_io *io);
/*
 * Closes the GPU with all attached vGPUs. Their caps stay unchanged. If a file of the GPU hangs,
 * its thread continues, and closes the GPU when the file answers. @io may be NULL; returns NULL.
 */
struct gpu_io *gpu_io_free(struct gpu_io *io);

/* The properties of an open GPU. */
void gpu_io_traits(const struct gpu_io *io, struct gpu_traits *ret_traits);
/*
 * Why sharing = auto has not selected guarantee, or why a dry run has another sharing than the
 * configuration; "": no such reason. Valid until the next gpu_io_choose_sharing().
 */
const char *gpu_io_sharing_why(const struct gpu_io *io);
/*
 * Lets sharing = auto select again: hard with @paper_mode, otherwise guarantee if the host offers
 * it. traits.guarantees may change. Must not be called with another sharing. Returns 0, or an
 * error of gpu_ops.sharing.set(); -ETIMEDOUT: as for single calls.
 */
int gpu_io_choose_sharing(struct gpu_io *io, bool paper_mode, struct err *reterr);
/* Name of the backend; "auto" until the GPU is open. */
const char *gpu_io_backend(const struct gpu_io *io);
bool gpu_io_has_physical(const struct gpu_io *io);

/* Returns how long the GPU has not answered; 0: it answers. */
uint64_t gpu_io_silent_ns(struct gpu_io *io);

/* --- sweeps --- */

/*
 * Returns the sweep, which the caller fills in before gpu_io_start_sweep(). NULL: the last sweep
 * has not ended, or the GPU is not open.
 */
struct gpu_io_sweep *gpu_io_next_sweep(struct gpu_io *io);
/*
 * Starts the sweep. @now_mono_ns is the time of all readings of a backend in memory. A thread reads
 * the clock before each reading instead.
 */
void gpu_io_start_sweep(struct gpu_io *io, uint64_t now_mono_ns);
/*
 * Waits for the end of the sweep until the monotonic time @until_ns (0: not at all), and returns
 * its results, which are valid until the next gpu_io_start_sweep(). NULL: the sweep has not ended,
 * or its results were already taken.
 */
const struct gpu_io_sweep *gpu_io_take_sweep(struct gpu_io *io, uint64_t until_ns);

/* --- single calls: as the functions of struct gpu_ops, and -ETIMEDOUT as described above --- */

int gpu_io_create(struct gpu_io *io, const char *id, int cap_pct, struct err *reterr);
int gpu_io_destroy(struct gpu_io *io, const char *id, struct err *reterr);
int gpu_io_attach(struct gpu_io *io, const char *id, uint64_t now_mono_ns,
		  struct gpu_vgpu **ret_vgpu, struct err *reterr);
/* Does not wait: closing a file can hang. */
void gpu_io_detach(struct gpu_io *io, struct gpu_vgpu *vgpu);
int gpu_io_read(struct gpu_io *io, struct gpu_vgpu *vgpu, uint64_t now_mono_ns,
		struct gpu_reading *ret_reading);
int gpu_io_write_cap(struct gpu_io *io, struct gpu_vgpu *vgpu, uint64_t now_mono_ns, int cap_pct);
int gpu_io_read_cap(struct gpu_io *io, struct gpu_vgpu *vgpu, int *ret_cap_pct);
/* -EOPNOTSUPP: the initial cap is the only ceiling. */
int gpu_io_write_ceiling(struct gpu_io *io, struct gpu_vgpu *vgpu, int ceiling_pct);
/* -EOPNOTSUPP: the backend cannot limit memory. */
int gpu_io_write_memory(struct gpu_io *io, struct gpu_vgpu *vgpu, uint64_t max_bytes);
/* -EOPNOTSUPP: the backend has no leases. */
int gpu_io_read_initial_cap(struct gpu_io *io, struct gpu_vgpu *vgpu, int *ret_cap_pct);
int gpu_io_write_initial_cap(struct gpu_io *io, struct gpu_vgpu *vgpu, int initial_cap_pct,
			     int cap_pct);
int gpu_io_renew(struct gpu_io *io, struct gpu_vgpu *vgpu, int lease_ms);

/* --- functions that never wait for the GPU; -EOPNOTSUPP: the backend does not have them --- */

int gpu_io_owner(const struct gpu_io *io, pid_t pid, char ret_id[ID_MAX]);
int gpu_io_places(const struct gpu_io *io, const char *id, gpu_path_fn path, void *userdata);
/* As gpu_ops.identity; 0: unknown. */
uint64_t gpu_io_identity(const struct gpu_io *io, const struct gpu_vgpu *vgpu);
/* Returns 0 for a label that the backend does not use. */
int gpu_io_label(const struct gpu_io *io, struct gpu_vgpu *vgpu, const char *key, const char *value,
		 struct err *reterr);

#endif
