/* SPDX-License-Identifier: MIT */
/* Reports which alert conditions hold in a tick, each with its numbers. */
#ifndef GOVER_D_CORE_TICK_ALERTS_H
#define GOVER_D_CORE_TICK_ALERTS_H

#include "gover-d/model/host.h"

struct manager;

void tick_alerts_gpu(struct manager *manager, const struct host_gpu *gpu, struct instant now);
void tick_alerts_host(struct manager *manager, struct instant now);
/* The alert foreign_write alone, also between ticks: the vGPU may be gone before the next one. */
void tick_alerts_foreign(struct manager *manager, const char *gpu, const struct vgpu *vgpu,
			 int64_t now_ms);

#endif
