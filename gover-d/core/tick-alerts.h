/* SPDX-License-Identifier: MIT */
/* Reports which alert conditions hold in a tick, each with its numbers. */
#ifndef GOVER_D_CORE_TICK_ALERTS_H
#define GOVER_D_CORE_TICK_ALERTS_H

#include "gover-d/model/host.h"

struct manager;

void tick_alerts_gpu(struct manager *manager, const struct host_gpu *gpu, struct instant now);
void tick_alerts_host(struct manager *manager, struct instant now);
/*
 * Reports only the condition of the alert foreign_write. Also called between ticks, because the
 * vGPU may vanish before the next tick.
 */
void tick_alerts_foreign(struct manager *manager, const char *gpu, const struct vgpu *vgpu,
			 int64_t now_ms);

#endif
