/* SPDX-License-Identifier: MIT */
/* Runs one period of the daemon. */
#ifndef GOVER_D_CORE_TICK_H
#define GOVER_D_CORE_TICK_H

#include <stdbool.h>

#include "base/clock.h"
#include "gover-d/core/cap.h"
#include "gover-d/core/notify.h"
#include "gover-d/core/selling.h"
#include "gover-d/model/fleet.h"

/* What a period needs, and the plan that it shares with requests. */
struct tick {
	struct plan_round *round; /* preallocated: a tick allocates nothing */
	uint64_t next_ns;	  /* monotonic time at which the next tick is due */
	struct host *host;
	struct fleet *fleet;
	struct caps *caps;
	struct store *store;
	struct notifier *notifier;
	struct recorder *recorder;
	struct sales *sales;
	const struct settings *settings;
};

/* Samples, checks, decides, acts and records. @gap: the tick is late, so counts of consecutive
 * periods restart. */
void tick_run(struct tick *tick, struct instant now, bool gap);

#endif
