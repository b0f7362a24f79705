/* SPDX-License-Identifier: MIT */
/*
 * Preserves the knowledge of policy qos across a restart. The estimate of migrations is part of the
 * contracts file. The past demands are read from the raw samples of the history.
 */
#ifndef GOVER_D_TICK_LEARNED_H
#define GOVER_D_TICK_LEARNED_H

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

/* Requests a save if the estimate of migrations has changed. Call it once a period. */
void learned_tick(struct tick *tick);

#endif
