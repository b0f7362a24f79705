/* SPDX-License-Identifier: MIT */
/* Wakes a thread that waits for changes. Rings that arrive while the thread works count as one. */
#ifndef GOVER_FLEET_MODEL_BELL_H
#define GOVER_FLEET_MODEL_BELL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct bell {
	pthread_mutex_t lock;
	pthread_cond_t rung;
	uint64_t rings, heard;
	bool stopped;
};

void bell_init(struct bell *bell);
void bell_fini(struct bell *bell);
void bell_ring(struct bell *bell);
void bell_stop(struct bell *bell); /* every present and later wait returns false at once */
bool bell_stopped(struct bell *bell);

/*
 * Waits until the bell rings, but not beyond @until_ns of CLOCK_MONOTONIC. Returns false after
 * bell_stop(). Only one thread waits.
 */
bool bell_wait(struct bell *bell, uint64_t until_ns);

#endif
