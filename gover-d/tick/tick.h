/* SPDX-License-Identifier: MIT */
/* State shared by periods and requests: the parts of the daemon, and one plan. */
#ifndef GOVER_D_TICK_TICK_H
#define GOVER_D_TICK_TICK_H

#include "base/clock.h"
#include "gover-d/cap/caps.h"
#include "gover-d/model/fleet.h"
#include "gover-d/record/notify.h"
#include "gover-d/sale/selling.h"

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

#endif
