/* SPDX-License-Identifier: MIT */
/* cl-conformance: gates, user events that a thread opens after a time. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "tests/helper/cl-conformance/conform.h"

struct gate {
	cl_event event;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct timespec open_at; /* CLOCK_MONOTONIC */
	bool open;
	bool by_time_limit;
	bool timed; /* gate_open_after() was called: opening by time is no mistake */
};

static struct timespec after_ms(unsigned int ms)
{
	struct timespec at;

	(void)clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_nsec += (long)(ms % 1000) * 1000000;
	at.tv_sec += ms / 1000 + at.tv_nsec / 1000000000;
	at.tv_nsec %= 1000000000;
	return at;
}

/*
 * Sets the event with @lock held, so that gate_is_open() is never true before the event is set and
 * a second opening waits for the first.
 */
static void open_locked(struct gate *gate)
{
	if (gate->open)
		return;
	must(clSetUserEventStatus(gate->event, CL_COMPLETE), "clSetUserEventStatus");
	gate->open = true;
	(void)pthread_cond_signal(&gate->changed);
}

static bool is_before(struct timespec a, struct timespec b)
{
	return a.tv_sec < b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec < b.tv_nsec);
}

static void *open_in_time(void *argument)
{
	struct gate *gate = argument;

	(void)pthread_mutex_lock(&gate->lock);
	while (!gate->open) {
		struct timespec now = after_ms(0), at = gate->open_at;

		if (!is_before(now, at)) {
			gate->by_time_limit = !gate->timed;
			open_locked(gate);
		} else {
			(void)pthread_cond_timedwait(&gate->changed, &gate->lock, &at);
		}
	}
	(void)pthread_mutex_unlock(&gate->lock);
	return NULL;
}

struct gate *gate_new(struct bed *bed)
{
	struct gate *gate = allocate(sizeof(*gate));
	pthread_condattr_t monotonic;
	cl_int error;

	gate->event = clCreateUserEvent(bed->context, &error);
	must(error, "clCreateUserEvent");
	(void)pthread_mutex_init(&gate->lock, NULL);
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&gate->changed, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
	gate->open_at = after_ms(patience_ms());
	if (pthread_create(&gate->thread, NULL, open_in_time, gate) != 0)
		must(CL_OUT_OF_RESOURCES, "pthread_create");
	return gate;
}

cl_event *gate_event(struct gate *gate)
{
	return &gate->event;
}

bool gate_open(struct gate *gate)
{
	bool late;

	(void)pthread_mutex_lock(&gate->lock);
	open_locked(gate);
	late = gate->by_time_limit;
	(void)pthread_mutex_unlock(&gate->lock);
	return !late;
}

void gate_open_after(struct gate *gate, unsigned int ms)
{
	(void)pthread_mutex_lock(&gate->lock);
	gate->open_at = after_ms(ms);
	gate->timed = true;
	(void)pthread_cond_signal(&gate->changed);
	(void)pthread_mutex_unlock(&gate->lock);
}

bool gate_is_open(struct gate *gate)
{
	bool open;

	(void)pthread_mutex_lock(&gate->lock);
	open = gate->open;
	(void)pthread_mutex_unlock(&gate->lock);
	return open;
}

void gate_free(struct gate *gate)
{
	(void)gate_open(gate);
	(void)pthread_join(gate->thread, NULL);
	must(clReleaseEvent(gate->event), "clReleaseEvent");
	(void)pthread_cond_destroy(&gate->changed);
	(void)pthread_mutex_destroy(&gate->lock);
	free(gate);
}
