/* SPDX-License-Identifier: MIT */
/*
 * Detects what other programs change on a GPU: new and vanished vGPUs, and caps. A cap that another
 * program wrote stays in force, on hold, until an operator releases it.
 */
#ifndef GOVER_D_CORE_EXTERNAL_CHANGE_H
#define GOVER_D_CORE_EXTERNAL_CHANGE_H

#include "gover-d/model/host.h"

struct manager;

/* Adopts vGPUs that the backend lists and the daemon does not manage yet, if a listing is due. */
void external_change_find_vgpus(struct manager *manager, struct host_gpu *gpu, struct instant now);
/* Handles a vGPU that vanished: a sold one is missing from now on, another one is freed. */
void external_change_lose_vgpu(struct manager *manager, struct host_gpu *gpu, struct vgpu *vgpu,
			       struct instant now);
/*
 * Checks the sampled cap. An external writer's cap puts the vGPU on hold. The initial cap, if its
 * lease expired in a @gap or was not renewed, is replaced by the last cap.
 */
void external_change_check_cap(struct manager *manager, struct host_gpu *gpu, struct vgpu *vgpu,
			       bool gap, struct instant now);
/* Reads and checks the cap now. Returns 1 with a message if an external writer changed it; the vGPU
 * is on hold then. */
int external_change_check_now(struct manager *manager, struct host_gpu *gpu, struct vgpu *vgpu,
			      struct instant now, struct err *reterr);
/* Puts the vGPU on hold at the cap that an external writer set. */
void external_change_take_cap(struct manager *manager, struct host_gpu *gpu, struct vgpu *vgpu,
			      int found_pct, struct instant now);

#endif
