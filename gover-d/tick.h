/* SPDX-License-Identifier: MIT */
/* The alerts of a tick: which conditions hold now. */
#ifndef GOVER_D_TICK_H
#define GOVER_D_TICK_H

#include "gover-d/manager.h"

void tick_alerts_gpu(struct manager *manager, const struct host_gpu *gpu, struct instant now);
void tick_alerts_host(struct manager *manager, struct instant now);

#endif
