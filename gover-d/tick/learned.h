/* SPDX-License-Identifier: MIT */
/*
 * Preserves the knowledge of policy qos across a restart. The estimate of migrations is part of the
 * contracts file. The past demands are read from the raw samples of the history.
 */
#ifndef GOVER_D_TICK_LEARNED_H
#define GOVER_D_TICK_LEARNED_H

#include <math.h>

#include "gover-d/store/contracts.h"
#include "gover-d/tick/tick.h"

/* Continues the estimates of migrations. Call it before the vGPUs of @contracts are adopted. */
void learned_load_migrations(struct tick *tick, const struct contracts *contracts);
/*
 * Reads the past demands of all vGPUs, if policy qos is in force. Call it once, after the vGPUs are
 * adopted and before the first tick. Reading ends after half a second; the oldest demands are
 * then left out. @now: the wall clock limits the rows that are read.
 */
void learned_load(struct tick *tick, struct instant now);

/* True if the estimate of migrations has changed since its last save. */
static inline bool learned_has_changed(const struct host_gpu *gpu)
{
	struct moving_estimate now = moving_save(&gpu->view.moving);
	const struct moving_estimate *saved = &gpu->migrations_saved;

	return now.unanswered != saved->unanswered || now.answered != saved->answered ||
	       !(fabs(now.delay_s - saved->delay_s) <= 0);
}
/* Requests a save of the estimate. Call it in each period in which it has changed. */
void learned_save(struct tick *tick, struct host_gpu *gpu);

#endif
