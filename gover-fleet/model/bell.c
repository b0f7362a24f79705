/* SPDX-License-Identifier: MIT */
/* A condition variable on CLOCK_MONOTONIC with a count of rings. */
#include <time.h>

#include "base/clock.h"
#include "gover-fleet/model/bell.h"

void bell_init(struct bell *bell)
{
	pthread_condattr_t attributes;

	*bell = (struct bell){0};
	(void)pthread_mutex_init(&bell->lock, NULL);
	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&bell->rung, &attributes);
	(void)pthread_condattr_destroy(&attributes);
}

void bell_fini(struct bell *bell)
{
	(void)pthread_cond_destroy(&bell->rung);
	(void)pthread_mutex_destroy(&bell->lock);
}

void bell_ring(struct bell *bell)
{
	pthread_mutex_lock(&bell->lock);
	bell->rings++;
	pthread_cond_broadcast(&bell->rung);
	pthread_mutex_unlock(&bell->lock);
}

void bell_stop(struct bell *bell)
{
	pthread_mutex_lock(&bell->lock);
	bell->stopped = true;
	pthread_cond_broadcast(&bell->rung);
	pthread_mutex_unlock(&bell->lock);
}

bool bell_stopped(struct bell *bell)
{
	bool stopped;

	pthread_mutex_lock(&bell->lock);
	stopped = bell->stopped;
	pthread_mutex_unlock(&bell->lock);
	return stopped;
}

bool bell_wait(struct bell *bell, uint64_t until_ns)
{
	const struct timespec until = {
		.tv_sec = (time_t)(until_ns / NS_PER_S),
		.tv_nsec = (long)(until_ns % NS_PER_S),
	};
	bool go_on;

	pthread_mutex_lock(&bell->lock);
	while (!bell->stopped && bell->rings == bell->heard)
		if (pthread_cond_timedwait(&bell->rung, &bell->lock, &until) != 0)
			break;
	bell->heard = bell->rings;
	go_on = !bell->stopped;
	pthread_mutex_unlock(&bell->lock);
	return go_on;
}
