/* SPDX-License-Identifier: MIT */
/*
 * Adopts the contracts, vGPUs and holds that an earlier daemon left (design.md section 6), and
 * vGPUs that exist without a contract. Handles vGPUs that other programs create and remove.
 */
#ifndef GOVER_D_CAP_ADOPT_H
#define GOVER_D_CAP_ADOPT_H

#include "gover-d/cap/caps.h"
#include "gover-d/store/contracts.h"

/* If the daemon itself creates the vGPUs, it lists them only once in this number of periods. */
#define ADOPT_LIST_PERIODS 5

/*
 * Checks that each contract can be adopted, before a GPU is opened and anything is changed.
 * -ENOENT: the GPU of a contract is not configured. -EINVAL: a GPU has too many contracts.
 */
int adopt_check(const struct caps *caps, const struct contracts *contracts, struct err *reterr);

/* Adopts @contracts with their vGPUs. Continues or ends the offers and alerts of the last run. */
int adopt_host(struct caps *caps, struct contracts *contracts, struct instant now,
	       struct err *reterr);

/* Adopts the vGPUs of the contracts of a GPU that was opened after adopt_host(). */
void adopt_gpu(struct caps *caps, struct host_gpu *gpu, struct instant now);

/*
 * Adopts a vGPU that the backend has and the daemon does not manage (rule 12).
 * @initial_cap_pct 0: unknown. -EINVAL: the name is not a valid id, or a vGPU of another GPU has
 * this name. -ENOSPC: the GPU has too many vGPUs. Other errors: the vGPU cannot be attached.
 */
int adopt_found(struct caps *caps, struct host_gpu *gpu, const char *id, int initial_cap_pct,
		struct instant now, struct err *reterr);

/* True if the next sweep must list the vGPUs. */
static inline bool adopt_list_due(const struct caps *caps, const struct host_gpu *gpu)
{
	return !gpu->traits.creates || caps->host->ticks % ADOPT_LIST_PERIODS == 0;
}
/* Adopts vGPUs that @sweep has listed and the daemon does not manage yet. */
void adopt_listed(struct caps *caps, struct host_gpu *gpu, const struct gpu_io_sweep *sweep,
		  struct instant now);
/*
 * Handles a vGPU that vanished. A sold vGPU stays in the list of the GPU, because its contract
 * stays in force; a vGPU without a contract is freed.
 */
void adopt_lose(struct caps *caps, struct host_gpu *gpu, struct vgpu *vgpu, struct instant now);

#endif
