/* SPDX-License-Identifier: MIT */
/* Single calls of a backend: each is made between two steps of a sweep, and waited for. */
#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "gpu/io-state.h"
#include "gpu/io.h"

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

/* Makes a call that the backend may not have. */
#define CALL_IF(ops, name, ...) ((ops)->name ? (ops)->name(__VA_ARGS__) : -EOPNOTSUPP)

static int run_kind(struct gpu_io *io, struct call *call)
{
	const struct gpu_ops *ops = io->ops;
	struct gpu_vgpu *vgpu = call->vgpu;
	uint64_t now_ns = gpu_io_time(io, call->now_ns);

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
		return CALL_IF(ops, write_memory, vgpu, call->bytes);
	case CALL_WRITE_CEILING:
		return CALL_IF(ops, write_ceiling, vgpu, call->number[0]);
	case CALL_READ_INITIAL_CAP:
		return CALL_IF(ops, read_initial_cap, vgpu, &call->value);
	case CALL_WRITE_INITIAL_CAP:
		return CALL_IF(ops, write_initial_cap, vgpu, call->number[0], call->number[1]);
	case CALL_RENEW:
		return CALL_IF(ops, renew, vgpu, call->number[0]);
	case CALL_CHOOSE_SHARING:
		return gpu_io_run_sharing(io, call);
	}
	return -EOPNOTSUPP;
}

int gpu_io_run(struct gpu_io *io, struct call *call)
{
	int r = run_kind(io, call);

	if (call->kind == CALL_WRITE_CAP || call->kind == CALL_WRITE_INITIAL_CAP)
		forget_cap(io, call->vgpu);
	return r;
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
	if (io->call_state == CALL_NONE && !gpu_io_silence_ns(io, clock_now().mono_ns)) {
		io->call = *call;
		io->call_state = CALL_WAITING;
		pthread_cond_signal(&io->work);
		gpu_io_wait(io, is_answered, GPU_IO_WAIT_MS);
		if (io->call_state == CALL_ENDED) {
			*call = io->call;
			r = call->result;
		}
		io->call_state = io->call_state == CALL_RUNNING ? CALL_ABANDONED : CALL_NONE;
	}
	pthread_mutex_unlock(&io->lock);
	return r;
}

int gpu_io_call(struct gpu_io *io, struct call *call, struct err *reterr)
{
	int r;

	if (!io->opened)
		r = -ETIMEDOUT;
	else if (io->threaded)
		r = call_in_thread(io, call);
	else
		r = gpu_io_run(io, call);
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
	return gpu_io_call(io, &call, reterr);
}

int gpu_io_destroy(struct gpu_io *io, const char *id, struct err *reterr)
{
	struct call call = {.kind = CALL_DESTROY};

	snprintf(call.id, sizeof(call.id), "%s", id);
	return gpu_io_call(io, &call, reterr);
}

int gpu_io_attach(struct gpu_io *io, const char *id, uint64_t now_mono_ns,
		  struct gpu_vgpu **ret_vgpu, struct err *reterr)
{
	struct call call = {.kind = CALL_ATTACH, .now_ns = now_mono_ns};
	int r;

	snprintf(call.id, sizeof(call.id), "%s", id);
	r = gpu_io_call(io, &call, reterr);
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
	int r = gpu_io_call(io, &call, NULL);

	if (r >= 0)
		*ret_reading = call.reading;
	return r;
}

int gpu_io_write_cap(struct gpu_io *io, struct gpu_vgpu *vgpu, uint64_t now_mono_ns, int cap_pct)
{
	struct call call = {
		.kind = CALL_WRITE_CAP, .vgpu = vgpu, .now_ns = now_mono_ns, .number = {cap_pct}};

	return gpu_io_call(io, &call, NULL);
}

int gpu_io_write_memory(struct gpu_io *io, struct gpu_vgpu *vgpu, uint64_t max_bytes)
{
	struct call call = {.kind = CALL_WRITE_MEMORY, .vgpu = vgpu, .bytes = max_bytes};

	return gpu_io_call(io, &call, NULL);
}

int gpu_io_write_ceiling(struct gpu_io *io, struct gpu_vgpu *vgpu, int ceiling_pct)
{
	struct call call = {.kind = CALL_WRITE_CEILING, .vgpu = vgpu, .number = {ceiling_pct}};

	return gpu_io_call(io, &call, NULL);
}

static int read_number(struct gpu_io *io, struct call *call, int *ret_value)
{
	int r = gpu_io_call(io, call, NULL);

	if (r >= 0)
		*ret_value = call->value;
	return r;
}

int gpu_io_read_cap(struct gpu_io *io, struct gpu_vgpu *vgpu, int *ret_cap_pct)
{
	struct call call = {.kind = CALL_READ_CAP, .vgpu = vgpu};

	return read_number(io, &call, ret_cap_pct);
}

int gpu_io_read_initial_cap(struct gpu_io *io, struct gpu_vgpu *vgpu, int *ret_cap_pct)
{
	struct call call = {.kind = CALL_READ_INITIAL_CAP, .vgpu = vgpu};

	return read_number(io, &call, ret_cap_pct);
}

int gpu_io_write_initial_cap(struct gpu_io *io, struct gpu_vgpu *vgpu, int initial_cap_pct,
			     int cap_pct)
{
	struct call call = {
		.kind = CALL_WRITE_INITIAL_CAP, .vgpu = vgpu, .number = {initial_cap_pct, cap_pct}};

	return gpu_io_call(io, &call, NULL);
}

int gpu_io_renew(struct gpu_io *io, struct gpu_vgpu *vgpu, int lease_ms)
{
	struct call call = {.kind = CALL_RENEW, .vgpu = vgpu, .number = {lease_ms}};

	return gpu_io_call(io, &call, NULL);
}

/* --- functions that never wait for the GPU --- */

int gpu_io_owner(const struct gpu_io *io, pid_t pid, char ret_id[ID_MAX])
{
	if (!io->opened || !io->ops->owner)
		return -EOPNOTSUPP;
	return io->ops->owner(io->gpu, pid, ret_id);
}

int gpu_io_places(const struct gpu_io *io, const char *id, gpu_path_fn path, void *userdata)
{
	if (!io->opened || !io->ops->places)
		return -EOPNOTSUPP;
	return io->ops->places(io->gpu, id, path, userdata);
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
