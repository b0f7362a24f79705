/* SPDX-License-Identifier: MIT */
/* Reports which alert conditions hold in a tick, each with its numbers. */
#ifndef GOVER_D_TICK_TICK_ALERTS_H
#define GOVER_D_TICK_TICK_ALERTS_H

#include "gover-d/tick/tick.h"

/* @offer: the offer of @gpu that was live when the period was counted; NULL: none. */
void tick_alerts_gpu(struct tick *tick, const struct host_gpu *gpu, const struct offer *offer,
		     struct instant now);
void tick_alerts_host(struct tick *tick, struct instant now);

#endif
