/* SPDX-License-Identifier: MIT */
/*
 * The thread of a GPU does one step at a time: it opens the GPU, detaches a vGPU, makes a single
 * call, or does the next step of the sweep. Single calls come before the steps of a sweep, so that
 * a slow sweep does not delay them. @lock is free during a step.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/xalloc.h"
#include "gpu/io.h"

/* Makes a call that the backend may not have. */
#define CALL_IF(ops, name, ...) ((ops)->name ? (ops)->name(__VA_ARGS__) : -EOPNOTSUPP)

enum open_state { OPEN_WANTED, OPEN_RUNNING, OPEN_DONE, OPEN_FAILED };
enum sweep_state { SWEEP_IDLE, SWEEP_RUNNING, SWEEP_ENDED };
enum call_state { CALL_NONE, CALL_WAITING, CALL_RUNNING, CALL_ABANDONED, CALL_ENDED };

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

/* A single call. It contains copies of all arguments, because it may outlive its caller. */
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

/* --- steps --- */

static uint64_t time_of(const struct gpu_io *io, uint64_t given_ns)
{
	return io->threaded ? clock_now().mono_ns : given_ns;
}

static int try_one(const struct gpu_ops *ops, struct gpu *gpu, bool guarantee, bool by_default,
		   struct err *ret_why, struct err *reterr)
{
	struct err err = {""};
	int r = ops->sharing.set(gpu, guarantee, by_default, &err);

	if (r < 0)
		*reterr = err;
	else if (r > 0)
		*ret_why = err; /* the sharing in force matters more than an earlier reason */
	return r < 0 ? r : 0;
}

/* After any error of guarantee the sharing is hard, as in releases without guarantee. */
static int try_default(const struct gpu_ops *ops, struct gpu *gpu, bool paper_mode,
		       struct err *ret_why, struct err *reterr)
{
	int r;

	if (!ops->sharing.set) {
		(void)err_fail(ret_why, EOPNOTSUPP, "backend %s has only hard caps", ops->name);
		return 0;
	}
	if (paper_mode) {
		(void)err_fail(ret_why, EOPNOTSUPP,
			       "the caps of the paper are hard limits (paper_mode = on)");
		return try_one(ops, gpu, false, /* by_default= */ true, ret_why, reterr);
	}
	r = ops->sharing.set(gpu, true, /* by_default= */ true, ret_why);
	return r < 0 ? try_one(ops, gpu, false, /* by_default= */ true, ret_why, reterr) : 0;
}

static int try_sharing(const struct gpu_ops *ops, struct gpu *gpu, const struct gpu_config *config,
		       bool paper_mode, struct err *ret_why, struct err *reterr)
{
	bool guarantee = gpu_wants_guarantees(config);

	ret_why->msg[0] = '\0';
	if (gpu_chooses_sharing(config))
		return try_default(ops, gpu, paper_mode, ret_why, reterr);
	if (ops->sharing.set)
		return try_one(ops, gpu, guarantee, /* by_default= */ false, ret_why, reterr);
	if (!guarantee)
		return 0;
	return err_fail(reterr, EOPNOTSUPP,
			"sharing = guarantee: backend %s has only hard caps (allowed: hard)",
			ops->name);
}

/* Opens no GPU in another sharing than that of the configuration, except with any_sharing. */
static int open_gpu(struct gpu_io *io, const struct gpu_ops **ret_ops, struct gpu **ret_gpu,
		    struct err *ret_why, struct err *reterr)
{
	bool automatic = strcmp(io->config.backend, "auto") == 0;
	int r, r_sharing;

	*ret_ops = automatic ? gpu_auto(&io->config) : gpu_find(io->config.backend);
	if (!*ret_ops)
		return -ENODEV;
	r = (*ret_ops)->open(&io->config, ret_gpu, reterr);
	if (r < 0)
		return r;
	r_sharing = try_sharing(*ret_ops, *ret_gpu, &io->config, io->config.paper_mode, ret_why,
				reterr);
	if (r_sharing >= 0)
		return r;
	if (io->config.any_sharing)
		return 1; /* the caller logs the message */
	(*ret_ops)->close(*ret_gpu);
	return r_sharing == -EOPNOTSUPP ? -EINVAL : r_sharing;
}

static void found_vgpu(void *userdata, const char *id, int initial_cap_pct)
{
	struct gpu_io_sweep *sweep = userdata;
	struct gpu_io_listed *listed = &sweep->listed[sweep->n_listed];

	if (sweep->n_listed == GPU_IO_LISTED_MAX) {
		sweep->list_error = -ENOSPC;
		return;
	}
	snprintf(listed->id, sizeof(listed->id), "%s", id);
	listed->initial_cap_pct = initial_cap_pct;
	sweep->n_listed++;
}

static void list_vgpus(struct gpu_io *io)
{
	struct gpu_io_sweep *sweep = &io->sweep;
	int r;

	sweep->n_listed = 0;
	sweep->list_error = 0;
	sweep->sharing_result = 0;
	if (!sweep->lists)
		return;
	if (io->ops->sharing.renew)
		sweep->sharing_result = io->ops->sharing.renew(io->gpu, sweep->sharing_was);
	r = io->ops->list(io->gpu, found_vgpu, sweep);
	if (r < 0)
		sweep->list_error = r;
}

static void sample_vgpu(struct gpu_io *io, struct gpu_vgpu *vgpu, struct gpu_io_sample *sample)
{
	uint64_t begun_ns = time_of(io, io->sweep_now_ns);

	sample->read_error = io->ops->read(vgpu, begun_ns, &sample->reading);
	sample->read_ns = time_of(io, io->sweep_now_ns);
	if (sample->read_error == 0 && sample->read_ns - begun_ns > io->sweep.slow_ns)
		sample->read_error = -ETIMEDOUT;
	sample->renew_error = 0;
	sample->renewed_ns = 0;
	if (sample->lease_ms < 0)
		return;
	sample->renew_error =
		io->ops->lease.renew ? io->ops->lease.renew(vgpu, sample->lease_ms) : -EOPNOTSUPP;
	if (sample->renew_error == 0)
		sample->renewed_ns = sample->read_ns;
}

static void read_physical(struct gpu_io *io)
{
	struct gpu_io_sweep *sweep = &io->sweep;

	sweep->physical_valid =
		io->ops->observe.physical &&
		io->ops->observe.physical(io->gpu, time_of(io, io->sweep_now_ns),
					  &sweep->physical_at_ns, &sweep->physical_busy_ns) == 0;
	if (io->ops->observe.round)
		io->ops->observe.round(io->gpu, &sweep->round);
	sweep->problem.msg[0] = '\0';
	if (io->ops->observe.problem)
		io->ops->observe.problem(io->gpu, &sweep->problem);
	if (io->ops->observe.source)
		io->ops->observe.source(io->gpu, &sweep->source);
}

/* --- the thread --- */

/* Each function below is called with @lock held. */

static void begin_step(struct gpu_io *io)
{
	io->step_started_ns = clock_now().mono_ns;
	pthread_mutex_unlock(&io->lock);
}

static void end_step(struct gpu_io *io)
{
	pthread_mutex_lock(&io->lock);
	io->step_started_ns = 0;
}

static void do_open(struct gpu_io *io)
{
	const struct gpu_ops *ops = NULL;
	struct gpu *gpu = NULL;
	struct err err = {""}, why = {""};
	int r;

	io->open_state = OPEN_RUNNING;
	begin_step(io);
	r = open_gpu(io, &ops, &gpu, &why, &err);
	end_step(io);
	io->open_result = r;
	io->open_err = err;
	io->sharing_why = why;
	io->open_state = r < 0 ? OPEN_FAILED : OPEN_DONE;
	if (r >= 0) {
		io->ops = ops;
		io->gpu = gpu;
	}
	pthread_cond_signal(&io->ended);
}

static void do_detach(struct gpu_io *io)
{
	struct gpu_vgpu *vgpu = io->detached[--io->n_detached];

	begin_step(io);
	io->ops->detach(vgpu);
	end_step(io);
}

/* The cap that a sweep has read is no longer the cap in force. */
static void forget_cap(struct gpu_io *io, const struct gpu_vgpu *vgpu)
{
	if (!io->threaded)
		return;
	pthread_mutex_lock(&io->lock);
	for (int i = 0; i < io->sweep.n_samples && io->sweep_state != SWEEP_IDLE; i++)
		if (io->sweep.samples[i].device == vgpu)
			io->sweep.samples[i].reading.cap_valid = false;
	pthread_mutex_unlock(&io->lock);
}

static int run_sharing(struct gpu_io *io, struct call *call)
{
	struct err err = {""};
	int r = try_sharing(io->ops, io->gpu, &io->config, call->number[0] != 0, &call->err, &err);

	if (r < 0)
		call->err = err;
	return r;
}

static int run_kind(struct gpu_io *io, struct call *call)
{
	const struct gpu_ops *ops = io->ops;
	struct gpu_vgpu *vgpu = call->vgpu;
	uint64_t now_ns = time_of(io, call->now_ns);

	switch (call->kind) {
	case CALL_CREATE:
		return ops->create(io->gpu, call->id, call->number[0], &call->err);
	case CALL_DESTROY:
		return ops->destroy(io->gpu, call->id, &call->err);
	case CALL_ATTACH:
		return ops->attach(io->gpu, call->id, now_ns, &call->attached, &call->err);
	case CALL_READ:
		return ops->read(vgpu, now_ns, &call->reading);
	case CALL_READ_CAP:
		return ops->read_cap(vgpu, &call->value);
	case CALL_WRITE_CAP:
		return CALL_IF(ops, write_cap, vgpu, now_ns, call->number[0]);
	case CALL_WRITE_MEMORY:
		return CALL_IF(ops, memory.write, vgpu, call->bytes);
	case CALL_WRITE_CEILING:
		return CALL_IF(ops, sharing.write_ceiling, vgpu, call->number[0]);
	case CALL_READ_INITIAL_CAP:
		return CALL_IF(ops, lease.read_initial_cap, vgpu, &call->value);
	case CALL_WRITE_INITIAL_CAP:
		return CALL_IF(ops, lease.write_initial_cap, vgpu, call->number[0],
			       call->number[1]);
	case CALL_RENEW:
		return CALL_IF(ops, lease.renew, vgpu, call->number[0]);
	case CALL_CHOOSE_SHARING:
		return run_sharing(io, call);
	}
	return -EOPNOTSUPP;
}

static int run_call(struct gpu_io *io, struct call *call)
{
	int r = run_kind(io, call);

	if (call->kind == CALL_WRITE_CAP || call->kind == CALL_WRITE_INITIAL_CAP)
		forget_cap(io, call->vgpu);
	return r;
}

/* Runs the call. A vGPU that it attached is detached if its caller has stopped waiting. */
static void do_call(struct gpu_io *io)
{
	bool abandoned;

	io->call_state = CALL_RUNNING;
	begin_step(io);
	io->call.result = run_call(io, &io->call);
	end_step(io);
	abandoned = io->call_state == CALL_ABANDONED;
	io->call_state = abandoned ? CALL_NONE : CALL_ENDED;
	if (abandoned && io->call.attached)
		io->detached[io->n_detached++] = io->call.attached;
	pthread_cond_signal(&io->ended);
}

static void do_sweep_step(struct gpu_io *io)
{
	struct gpu_io_sweep *sweep = &io->sweep;
	int step = io->sweep_step++;
	struct gpu_io_sample *sample = step > 0 ? &sweep->samples[step - 1] : NULL;
	struct gpu_vgpu *vgpu = step > 0 && step <= sweep->n_samples ? sample->device : NULL;

	begin_step(io);
	if (step == 0)
		list_vgpus(io);
	else if (step > sweep->n_samples)
		read_physical(io);
	else if (vgpu)
		sample_vgpu(io, vgpu, sample);
	end_step(io);
	if (step <= sweep->n_samples)
		return;
	sweep->took_ns = clock_now().mono_ns - io->sweep_started_ns;
	io->sweep_state = SWEEP_ENDED;
	pthread_cond_signal(&io->ended);
}

/* Does one step. Returns false if there is nothing to do. */
static bool do_step(struct gpu_io *io)
{
	if (io->open_state == OPEN_WANTED)
		do_open(io);
	else if (io->n_detached > 0)
		do_detach(io);
	else if (io->call_state == CALL_WAITING)
		do_call(io);
	else if (io->sweep_state == SWEEP_RUNNING)
		do_sweep_step(io);
	else
		return false;
	return true;
}

static void free_all(struct gpu_io *io)
{
	pthread_cond_destroy(&io->ended);
	pthread_cond_destroy(&io->work);
	pthread_mutex_destroy(&io->lock);
	free(io);
}

static void *run_thread(void *userdata)
{
	struct gpu_io *io = userdata;
	bool orphaned;

	pthread_mutex_lock(&io->lock);
	while (!io->stop)
		if (!do_step(io))
			pthread_cond_wait(&io->work, &io->lock);
	while (io->n_detached > 0)
		do_detach(io);
	if (io->gpu) {
		begin_step(io);
		io->ops->close(io->gpu);
		end_step(io);
	}
	io->stopped = true;
	orphaned = io->orphaned;
	pthread_cond_signal(&io->ended);
	pthread_mutex_unlock(&io->lock);
	if (orphaned)
		free_all(io);
	return NULL;
}

/* --- waiting: each function is called with @lock held --- */

/* Waits until the thread signals an end. Returns false if @until_ns has passed. */
static bool wait_end(struct gpu_io *io, uint64_t until_ns)
{
	struct timespec until = {
		.tv_sec = (time_t)(until_ns / NS_PER_S),
		.tv_nsec = (long)(until_ns % NS_PER_S),
	};

	return pthread_cond_timedwait(&io->ended, &io->lock, &until) != ETIMEDOUT;
}

static uint64_t silence_ns(const struct gpu_io *io, uint64_t now_ns)
{
	uint64_t started_ns = io->step_started_ns;

	if (!started_ns || now_ns < started_ns + GPU_IO_WAIT_MS * NS_PER_MS)
		return 0;
	return now_ns - started_ns;
}

/* The time to wait grows by half of the time that passes, up to the longest wait. */
static uint64_t refill(struct gpu_io_patience *patience, uint64_t now_ns)
{
	uint64_t max_ns = patience->max_ns ? patience->max_ns : GPU_IO_WAIT_MS * NS_PER_MS;
	uint64_t left_ns = patience->left_ns + (now_ns - patience->at_ns) / 2;

	if (!patience->at_ns || left_ns > max_ns)
		left_ns = max_ns;
	patience->left_ns = left_ns;
	patience->at_ns = now_ns;
	return left_ns;
}

static void wait_for(struct gpu_io *io, bool (*is_over)(const struct gpu_io *io), uint64_t wait_ns)
{
	uint64_t now_ns = clock_now().mono_ns, left_ns = refill(io->patience, now_ns), waited_ns;
	uint64_t until_ns = now_ns + (wait_ns < left_ns ? wait_ns : left_ns);

	if (is_over(io) || silence_ns(io, now_ns))
		return;
	while (!is_over(io) && wait_end(io, until_ns))
		;
	waited_ns = clock_now().mono_ns - now_ns;
	io->patience->left_ns = waited_ns < left_ns ? left_ns - waited_ns : 0;
}

/* --- opening and closing --- */

static int start_thread(struct gpu_io *io)
{
	pthread_condattr_t monotonic;
	int r;

	(void)pthread_mutex_init(&io->lock, NULL); /* never fails without attributes */
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&io->work, NULL);
	(void)pthread_cond_init(&io->ended, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
	r = thread_start(&io->thread, run_thread, io, "gover-gpu");
	if (r < 0)
		free_all(io);
	return r;
}

static void open_here(struct gpu_io *io)
{
	io->open_result = open_gpu(io, &io->ops, &io->gpu, &io->sharing_why, &io->open_err);
	io->open_state = io->open_result < 0 ? OPEN_FAILED : OPEN_DONE;
}

int gpu_io_new(const struct gpu_config *config, struct gpu_io_patience *patience,
	       struct gpu_io **ret_io, struct err *reterr)
{
	const struct gpu_ops *ops = gpu_find(config->backend);
	struct gpu_io *io;
	int r = 0;

	if (!ops && strcmp(config->backend, "auto") != 0)
		return err_fail(reterr, EINVAL, "backend: \"%s\" is unknown", config->backend);
	io = xcalloc(1, sizeof(*io));
	io->config = *config;
	io->patience = patience;
	io->threaded = !ops || !ops->in_memory;
	if (io->threaded)
		r = start_thread(io);
	else
		open_here(io);
	if (r < 0)
		return err_fail(reterr, -r, "cannot start a thread: %s", strerror(-r));
	*ret_io = io;
	return 0;
}

static int open_result(struct gpu_io *io, struct err *reterr)
{
	if (io->open_state == OPEN_WANTED || io->open_state == OPEN_RUNNING)
		return -EINPROGRESS;
	if (reterr)
		*reterr = io->open_err;
	io->opened = io->open_state == OPEN_DONE;
	return io->open_result;
}

int gpu_io_wait_open(struct gpu_io *io, uint64_t until_ns, struct err *reterr)
{
	int r;

	if (!io->threaded)
		return open_result(io, reterr);
	pthread_mutex_lock(&io->lock);
	while ((r = open_result(io, reterr)) == -EINPROGRESS && wait_end(io, until_ns))
		;
	pthread_mutex_unlock(&io->lock);
	return r;
}

void gpu_io_reopen(struct gpu_io *io)
{
	io->open_err.msg[0] = '\0';
	if (!io->threaded) {
		open_here(io);
		return;
	}
	pthread_mutex_lock(&io->lock);
	io->open_state = OPEN_WANTED;
	pthread_cond_signal(&io->work);
	pthread_mutex_unlock(&io->lock);
}

static bool has_stopped(const struct gpu_io *io)
{
	return io->stopped;
}

/* Ends the thread and frees everything. If a step hangs, the thread does this when it ends. */
static void stop_thread(struct gpu_io *io)
{
	bool stopped;

	pthread_mutex_lock(&io->lock);
	io->stop = true;
	pthread_cond_signal(&io->work);
	io->patience->at_ns = 0;
	wait_for(io, has_stopped, UINT64_MAX);
	stopped = io->stopped;
	io->orphaned = !stopped;
	if (!stopped)
		(void)pthread_detach(io->thread);
	pthread_mutex_unlock(&io->lock);
	if (!stopped)
		return;
	(void)pthread_join(io->thread, NULL);
	free_all(io);
}

struct gpu_io *gpu_io_free(struct gpu_io *io)
{
	if (!io)
		return NULL;
	if (io->threaded) {
		stop_thread(io);
		return NULL;
	}
	if (io->gpu)
		io->ops->close(io->gpu);
	free(io);
	return NULL;
}

void gpu_io_traits(const struct gpu_io *io, struct gpu_traits *ret_traits)
{
	io->ops->traits(io->gpu, ret_traits);
	ret_traits->leases = io->ops->lease.renew;
}

const char *gpu_io_backend(const struct gpu_io *io)
{
	return io->opened ? io->ops->name : io->config.backend;
}

bool gpu_io_has_physical(const struct gpu_io *io)
{
	return io->opened && io->ops->observe.physical;
}

uint64_t gpu_io_silent_ns(struct gpu_io *io)
{
	uint64_t ns;

	if (!io->threaded)
		return 0;
	pthread_mutex_lock(&io->lock);
	ns = silence_ns(io, clock_now().mono_ns);
	pthread_mutex_unlock(&io->lock);
	return ns;
}

/* --- sweeps --- */

static bool is_swept(const struct gpu_io *io)
{
	return io->sweep_state != SWEEP_RUNNING;
}

struct gpu_io_sweep *gpu_io_next_sweep(struct gpu_io *io)
{
	bool idle;

	if (!io->opened)
		return NULL;
	if (!io->threaded)
		return &io->sweep;
	pthread_mutex_lock(&io->lock);
	idle = is_swept(io);
	pthread_mutex_unlock(&io->lock);
	return idle ? &io->sweep : NULL;
}

void gpu_io_start_sweep(struct gpu_io *io, uint64_t now_mono_ns)
{
	struct gpu_io_sweep *sweep = &io->sweep;

	io->sweep_now_ns = now_mono_ns;
	if (io->threaded) {
		pthread_mutex_lock(&io->lock);
		io->sweep_step = 0;
		io->sweep_started_ns = clock_now().mono_ns;
		io->sweep_state = SWEEP_RUNNING;
		pthread_cond_signal(&io->work);
		pthread_mutex_unlock(&io->lock);
		return;
	}
	list_vgpus(io);
	for (int i = 0; i < sweep->n_samples; i++)
		sample_vgpu(io, sweep->samples[i].device, &sweep->samples[i]);
	read_physical(io);
	io->sweep_state = SWEEP_ENDED;
}

const struct gpu_io_sweep *gpu_io_take_sweep(struct gpu_io *io, uint64_t until_ns)
{
	uint64_t now_ns;
	bool ended;

	if (io->threaded) {
		pthread_mutex_lock(&io->lock);
		now_ns = clock_now().mono_ns;
		wait_for(io, is_swept, until_ns > now_ns ? until_ns - now_ns : 0);
	}
	ended = io->sweep_state == SWEEP_ENDED;
	if (ended)
		io->sweep_state = SWEEP_IDLE;
	if (io->threaded)
		pthread_mutex_unlock(&io->lock);
	return ended ? &io->sweep : NULL;
}

static bool is_answered(const struct gpu_io *io)
{
	return io->call_state == CALL_ENDED;
}

/* Makes the call in the thread of the GPU and waits for it. */
static int call_in_thread(struct gpu_io *io, struct call *call)
{
	int r = -ETIMEDOUT;

	pthread_mutex_lock(&io->lock);
	if (io->call_state == CALL_NONE && !silence_ns(io, clock_now().mono_ns)) {
		io->call = *call;
		io->call_state = CALL_WAITING;
		pthread_cond_signal(&io->work);
		wait_for(io, is_answered, UINT64_MAX);
		if (io->call_state == CALL_ENDED) {
			*call = io->call;
			r = call->result;
		}
		io->call_state = io->call_state == CALL_RUNNING ? CALL_ABANDONED : CALL_NONE;
	}
	pthread_mutex_unlock(&io->lock);
	return r;
}

static int make_call(struct gpu_io *io, struct call *call, struct err *reterr)
{
	int r;

	if (!io->opened)
		r = -ETIMEDOUT;
	else if (io->threaded)
		r = call_in_thread(io, call);
	else
		r = run_call(io, call);
	if (!reterr)
		return r;
	if (r == -ETIMEDOUT && call->err.msg[0] == '\0')
		return err_fail(reterr, ETIMEDOUT, "GPU %s does not answer", io->config.name);
	*reterr = call->err;
	return r;
}

int gpu_io_create(struct gpu_io *io, const char *id, int cap_pct, struct err *reterr)
{
	struct call call = {.kind = CALL_CREATE, .number = {cap_pct}};

	snprintf(call.id, sizeof(call.id), "%s", id);
	return make_call(io, &call, reterr);
}

int gpu_io_destroy(struct gpu_io *io, const char *id, struct err *reterr)
{
	struct call call = {.kind = CALL_DESTROY};

	snprintf(call.id, sizeof(call.id), "%s", id);
	return make_call(io, &call, reterr);
}

int gpu_io_attach(struct gpu_io *io, const char *id, uint64_t now_mono_ns,
		  struct gpu_vgpu **ret_vgpu, struct err *reterr)
{
	struct call call = {.kind = CALL_ATTACH, .now_ns = now_mono_ns};
	int r;

	snprintf(call.id, sizeof(call.id), "%s", id);
	r = make_call(io, &call, reterr);
	if (r >= 0)
		*ret_vgpu = call.attached;
	return r;
}

void gpu_io_detach(struct gpu_io *io, struct gpu_vgpu *vgpu)
{
	if (!vgpu)
		return;
	if (!io->threaded) {
		io->ops->detach(vgpu);
		return;
	}
	pthread_mutex_lock(&io->lock);
	for (int i = 0; i < io->sweep.n_samples; i++)
		if (io->sweep.samples[i].device == vgpu)
			io->sweep.samples[i].device = NULL;
	io->detached[io->n_detached++] = vgpu;
	pthread_cond_signal(&io->work);
	pthread_mutex_unlock(&io->lock);
}

int gpu_io_read(struct gpu_io *io, struct gpu_vgpu *vgpu, uint64_t now_mono_ns,
		struct gpu_reading *ret_reading)
{
	struct call call = {.kind = CALL_READ, .vgpu = vgpu, .now_ns = now_mono_ns};
	int r = make_call(io, &call, NULL);

	if (r >= 0)
		*ret_reading = call.reading;
	return r;
}

int gpu_io_write_cap(struct gpu_io *io, struct gpu_vgpu *vgpu, uint64_t now_mono_ns, int cap_pct)
{
	struct call call = {
		.kind = CALL_WRITE_CAP, .vgpu = vgpu, .now_ns = now_mono_ns, .number = {cap_pct}};

	return make_call(io, &call, NULL);
}

int gpu_io_write_memory(struct gpu_io *io, struct gpu_vgpu *vgpu, uint64_t max_bytes)
{
	struct call call = {.kind = CALL_WRITE_MEMORY, .vgpu = vgpu, .bytes = max_bytes};

	return make_call(io, &call, NULL);
}

static int write_numbers(struct gpu_io *io, enum call_kind kind, struct gpu_vgpu *vgpu, int first,
			 int second)
{
	struct call call = {.kind = kind, .vgpu = vgpu, .number = {first, second}};

	return make_call(io, &call, NULL);
}

int gpu_io_write_ceiling(struct gpu_io *io, struct gpu_vgpu *vgpu, int ceiling_pct)
{
	return write_numbers(io, CALL_WRITE_CEILING, vgpu, ceiling_pct, 0);
}

static int read_number(struct gpu_io *io, enum call_kind kind, struct gpu_vgpu *vgpu,
		       int *ret_value)
{
	struct call call = {.kind = kind, .vgpu = vgpu};
	int r = make_call(io, &call, NULL);

	if (r >= 0)
		*ret_value = call.value;
	return r;
}

int gpu_io_read_cap(struct gpu_io *io, struct gpu_vgpu *vgpu, int *ret_cap_pct)
{
	return read_number(io, CALL_READ_CAP, vgpu, ret_cap_pct);
}

int gpu_io_read_initial_cap(struct gpu_io *io, struct gpu_vgpu *vgpu, int *ret_cap_pct)
{
	return read_number(io, CALL_READ_INITIAL_CAP, vgpu, ret_cap_pct);
}

int gpu_io_write_initial_cap(struct gpu_io *io, struct gpu_vgpu *vgpu, int initial_cap_pct,
			     int cap_pct)
{
	return write_numbers(io, CALL_WRITE_INITIAL_CAP, vgpu, initial_cap_pct, cap_pct);
}

int gpu_io_renew(struct gpu_io *io, struct gpu_vgpu *vgpu, int lease_ms)
{
	return write_numbers(io, CALL_RENEW, vgpu, lease_ms, 0);
}

/* --- functions that never wait for the GPU --- */

int gpu_io_owner(const struct gpu_io *io, pid_t pid, char ret_id[ID_MAX])
{
	if (!io->opened || !io->ops->processes.owner)
		return -EOPNOTSUPP;
	return io->ops->processes.owner(io->gpu, pid, ret_id);
}

int gpu_io_places(const struct gpu_io *io, const char *id, gpu_path_fn path, void *userdata)
{
	if (!io->opened || !io->ops->processes.places)
		return -EOPNOTSUPP;
	return io->ops->processes.places(io->gpu, id, path, userdata);
}

uint64_t gpu_io_identity(const struct gpu_io *io, const struct gpu_vgpu *vgpu)
{
	return io->opened && io->ops->identity ? io->ops->identity(vgpu) : 0;
}

int gpu_io_label(const struct gpu_io *io, struct gpu_vgpu *vgpu, const char *key, const char *value,
		 struct err *reterr)
{
	if (!io->opened || !io->ops->label)
		return 0;
	return io->ops->label(vgpu, key, value, reterr);
}

int gpu_io_choose_sharing(struct gpu_io *io, bool paper_mode, struct err *reterr)
{
	struct call call = {.kind = CALL_CHOOSE_SHARING, .number = {paper_mode}};
	int r = make_call(io, &call, reterr);

	if (r == 0)
		io->sharing_why = call.err;
	return r;
}

const char *gpu_io_sharing_why(const struct gpu_io *io)
{
	return io->sharing_why.msg;
}
