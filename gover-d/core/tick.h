/* SPDX-License-Identifier: MIT */
/* Runs one period of the daemon. */
#ifndef GOVER_D_CORE_TICK_H
#define GOVER_D_CORE_TICK_H

#include <stdbool.h>

#include "base/clock.h"

struct manager;

/* Samples, checks, decides, acts and records. @gap: the tick is late, so counts of consecutive
 * periods restart. */
void tick_run(struct manager *manager, struct instant now, bool gap);

#endif
