/* SPDX-License-Identifier: MIT */
/* Runs one period of the daemon. */
#ifndef GOVER_D_TICK_PERIOD_H
#define GOVER_D_TICK_PERIOD_H

#include "gover-d/tick/tick.h"

/*
 * Samples, checks, decides, acts and records. @gap: the tick is late, so counts of consecutive
 * periods restart.
 */
void period_run(struct tick *tick, struct instant now, bool gap);

#endif
