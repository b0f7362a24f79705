/* SPDX-License-Identifier: MIT */
/* What the parts of a tick share: what others did, its alerts, and keeping what was decided. */
#ifndef GOVER_D_CORE_TICK_H
#define GOVER_D_CORE_TICK_H

#include "gover-d/core/manager.h"

/* Takes up the vGPUs that stand in the backend and are not known yet, where it is time to look. */
void others_list(struct manager *manager, struct host_gpu *gpu, struct instant now);
/* One that was sold is missing from now on; one that was not is forgotten, and freed. */
void others_lose(struct manager *manager, struct host_gpu *gpu, struct vgpu *vgpu,
		 struct instant now);
/*
 * Judges the cap that was read in the sample. Somebody else's puts the vGPU on hold; the initial
 * one, where its lease ran out in a @gap or while nobody renewed it, is written over again.
 */
void others_check_cap(struct manager *manager, struct host_gpu *gpu, struct vgpu *vgpu, bool gap,
		      struct instant now);
/* Renews the lease of its cap, held or not. */
void others_renew(struct manager *manager, struct host_gpu *gpu, struct vgpu *vgpu,
		  struct instant now);
/* Puts the vGPU on hold at what somebody else wrote. */
void others_take_foreign(struct manager *manager, struct host_gpu *gpu, struct vgpu *vgpu,
			 int found_pct, struct instant now);

/* Say which alert conditions hold now. */
void tick_alerts_gpu(struct manager *manager, const struct host_gpu *gpu, struct instant now);
void tick_alerts_host(struct manager *manager, struct instant now);
/* One of them, also between two ticks: the vGPU may be gone before the next. */
void tick_alerts_foreign(struct manager *manager, const char *gpu, const struct vgpu *vgpu,
			 int64_t now_ms);

/* Keeps one decision under the next id, which it returns; 0: no memory. Takes over its json. */
int64_t keep_decision(struct manager *manager, struct decision *decision);

#endif
