/* SPDX-License-Identifier: MIT */
/* What the parts of a tick share: its alerts, and keeping what was decided. */
#ifndef GOVER_D_TICK_H
#define GOVER_D_TICK_H

#include "gover-d/manager.h"

/* Say which alert conditions hold now. */
void tick_alerts_gpu(struct manager *manager, const struct host_gpu *gpu, struct instant now);
void tick_alerts_host(struct manager *manager, struct instant now);

/* Keeps one decision under the next id, which it returns; 0: no memory. Takes over its json. */
int64_t keep_decision(struct manager *manager, struct decision *decision);

#endif
