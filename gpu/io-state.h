/* SPDX-License-Identifier: MIT */
/* Shared by io.c, which owns the thread, io-call.c, which makes single calls, and io-sharing.c. */
#ifndef GPU_IO_STATE_H
#define GPU_IO_STATE_H

#include <pthread.h>

#include "gpu/io-sweep.h"

enum open_state { OPEN_WANTED, OPEN_RUNNING, OPEN_DONE, OPEN_FAILED };
enum sweep_state { SWEEP_IDLE, SWEEP_RUNNING, SWEEP_ENDED };
enum call_state { CALL_NONE, CALL_WAITING, CALL_RUNNING, CALL_ABANDONED, CALL_ENDED };

struct gpu_io;

enum call_kind {
	CALL_CREATE,
	CALL_DESTROY,
	CALL_ATTACH,
	CALL_READ,
	CALL_READ_CAP,
	CALL_WRITE_CAP,
	CALL_WRITE_MEMORY,
	CALL_WRITE_CEILING,
	CALL_READ_INITIAL_CAP,
	CALL_WRITE_INITIAL_CAP,
	CALL_RENEW,
	CALL_CHOOSE_SHARING,
};

/* A single call, see io-call.c. It contains copies of all arguments, because it may outlive its
 * caller. */
struct call {
	enum call_kind kind;
	struct gpu_vgpu *vgpu;
	char id[ID_MAX];
	uint64_t now_ns;
	int number[2];
	uint64_t bytes;
	/* results */
	int result;
	int value;
	struct gpu_vgpu *attached;
	struct gpu_reading reading;
	struct err err;
};

struct gpu_io {
	struct gpu_config config;
	const struct gpu_ops *ops; /* NULL: backend auto has not selected one yet */
	struct gpu *gpu;	   /* NULL: not open */
	bool opened; /* the caller knows that the GPU is open; ops and gpu do not change any more */
	struct gpu_io_patience *patience;
	bool threaded;
	pthread_t thread;

	/* @lock guards the following members of a GPU that has a thread. */
	pthread_mutex_t lock;
	pthread_cond_t work;  /* there is work for the thread, or it must end */
	pthread_cond_t ended; /* what the caller waits for has ended: open, call, sweep or thread */
	bool stop, stopped;
	bool orphaned;		  /* gpu_io_free() has given up: the thread frees everything */
	uint64_t step_started_ns; /* 0: no step is running */

	enum open_state open_state;
	int open_result;
	struct err open_err;
	struct err sharing_why; /* see gpu_io_sharing_why() */

	enum call_state call_state;
	struct call call;

	struct gpu_vgpu *detached[GPU_IO_VGPUS_MAX + 1]; /* to be detached by the thread */
	int n_detached;

	enum sweep_state sweep_state;
	uint64_t sweep_now_ns, sweep_started_ns;
	/* next step of the sweep: 0 lists, 1 to n_samples read a vGPU, the last reads the GPU */
	int sweep_step;
	struct gpu_io_sweep sweep;
};

/*
 * Makes a single call, and waits for it. Returns its result, or -ETIMEDOUT. @reterr may be NULL.
 */
int gpu_io_call(struct gpu_io *io, struct call *call, struct err *reterr);
/* Makes the call of the backend. */
int gpu_io_run(struct gpu_io *io, struct call *call);
/* The same for CALL_CHOOSE_SHARING. Returns the reason in call->err. */
int gpu_io_run_sharing(struct gpu_io *io, struct call *call);

/*
 * Sets the sharing that @config requests, with @paper_mode instead of its own. *@ret_why: see
 * gpu_io_sharing_why(). Returns 0, or a negative errno with a message.
 */
int gpu_io_try_sharing(const struct gpu_ops *ops, struct gpu *gpu, const struct gpu_config *config,
		       bool paper_mode, struct err *ret_why, struct err *reterr);
/* Returns @given_ns for a backend in memory, otherwise the time by the monotonic clock. */
uint64_t gpu_io_time(const struct gpu_io *io, uint64_t given_ns);
/* How long the current step has not answered; 0: not too long. @lock is held. */
uint64_t gpu_io_silence_ns(const struct gpu_io *io, uint64_t now_ns);
/* Waits at most @wait_ms, as far as the patience allows, until @is_over(@io). @lock is held. */
void gpu_io_wait(struct gpu_io *io, bool (*is_over)(const struct gpu_io *io), int wait_ms);

#endif
