/* SPDX-License-Identifier: MIT */
/*
 * Adopts the contracts, vGPUs, caps and holds that an earlier daemon left (design.md section 6),
 * and vGPUs that exist without a contract. A cap that no other program has changed stays as it is.
 */
#ifndef GOVER_D_CORE_ADOPT_H
#define GOVER_D_CORE_ADOPT_H

#include "gover-d/model/host.h"
#include "gover-d/store/contracts.h"

struct manager;

/*
 * Checks that each contract can be adopted, before a GPU is opened and anything is changed.
 * -ENOENT: the GPU of a contract is not configured. -EINVAL: a GPU has too many contracts.
 */
int adopt_check(const struct manager *manager, const struct contracts *contracts,
		struct err *reterr);

/* Adopts @contracts with their vGPUs. Continues or ends the offers and alerts of the last run. */
int adopt_host(struct manager *manager, struct contracts *contracts, struct instant now,
	       struct err *reterr);

/* Adopts the vGPUs of the contracts of a GPU that was opened after adopt_host(). */
void adopt_gpu(struct manager *manager, struct host_gpu *gpu, struct instant now);

/*
 * Adopts a vGPU that the backend has and the daemon does not manage (rule 12).
 * @initial_cap_pct 0: unknown. -EINVAL: the name
 * is not a valid id, or a vGPU of another GPU has this name. -ENOSPC: the GPU has too many vGPUs.
 * Other errors: the vGPU cannot be attached.
 */
int adopt_found(struct manager *manager, struct host_gpu *gpu, const char *id, int initial_cap_pct,
		struct instant now, struct err *reterr);

/*
 * Removes and frees a vGPU that was never sold and no longer exists. The caller saves the
 * contracts.
 */
void adopt_forget(struct manager *manager, struct host_gpu *gpu, struct vgpu *vgpu,
		  struct instant now);

#endif
