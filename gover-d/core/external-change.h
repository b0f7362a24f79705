/* SPDX-License-Identifier: MIT */
/*
 * Detects changes that other programs make on a GPU: new vGPUs, vanished vGPUs and changed caps. A
 * cap that another program wrote stays in force: the vGPU is on hold until an operator releases it.
 */
#ifndef GOVER_D_CORE_EXTERNAL_CHANGE_H
#define GOVER_D_CORE_EXTERNAL_CHANGE_H

#include "gover-d/model/host.h"

struct manager;

/* True if the next sweep must list the vGPUs. */
bool external_change_list_due(const struct manager *manager, const struct host_gpu *gpu);
/* Adopts vGPUs that @sweep has listed and the daemon does not manage yet. */
void external_change_find_vgpus(struct manager *manager, struct host_gpu *gpu,
				const struct gpu_io_sweep *sweep, struct instant now);
/*
 * Handles a vGPU that vanished. A sold vGPU stays in the list of the GPU, because its contract
 * stays in force; a vGPU without a contract is freed.
 */
void external_change_lose_vgpu(struct manager *manager, struct host_gpu *gpu, struct vgpu *vgpu,
			       struct instant now);
/*
 * Checks the sampled cap. If an external writer set the cap, puts the vGPU on hold. If a lease has
 * ended and the cap is therefore the initial cap again, writes the last cap again. @gap: the tick
 * is late, so a lease may have expired.
 */
void external_change_check_cap(struct manager *manager, struct host_gpu *gpu, struct vgpu *vgpu,
			       bool gap, struct instant now);
/*
 * Reads and checks the cap now. Returns 1 with a message if an external writer changed the cap; the
 * vGPU is on hold then.
 */
int external_change_check_now(struct manager *manager, struct host_gpu *gpu, struct vgpu *vgpu,
			      struct instant now, struct err *reterr);
/*
 * Judges a cap that was read just before a write. Puts the vGPU on hold if an external writer set
 * the cap. If the lease of the cap has ended, the next tick writes the last cap again.
 */
void external_change_judge_cap(struct manager *manager, struct host_gpu *gpu, struct vgpu *vgpu,
			       int found_pct, struct instant now);

#endif
