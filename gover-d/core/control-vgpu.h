/* SPDX-License-Identifier: MIT */
/*
 * Requests that sell, change, hold and remove vGPUs. Each function runs in the loop, checks
 * everything, and does all of it or nothing. The caller answers after save_contracts().
 */
#ifndef GOVER_D_CORE_CONTROL_VGPU_H
#define GOVER_D_CORE_CONTROL_VGPU_H

#include "gover-d/model/host.h"

struct manager;

/*
 * POST /v1/vgpus: *@ret_vgpu (if not NULL) is the new vGPU. Takes over what @contract owns on
 * success only. -EINVAL (a value, or a flavour there is none of), -ENOENT (no such GPU), -EEXIST
 * (duplicate id), -ENOSPC (cannot be funded down to its floor), -ENODEV (the backend does not
 * create vGPUs and none of this id exists), -ESTALE (somebody else has just written a cap that it
 * would change: that vGPU is on hold now), or as the system says.
 */
int control_vgpu_add(struct manager *manager, struct contract *contract, struct vgpu **ret_vgpu,
		     struct err *reterr);

/*
 * PATCH: changes @fields (a mask of enum contract_bit) to @values. labels replaces all labels; held
 * with held_cap_pct 0 holds the current cap. -ENOSPC names the largest cap that would fit; -ESTALE
 * as above.
 */
int control_vgpu_change(struct manager *manager, const char *id, unsigned int fields,
			const struct contract *values, struct err *reterr);
/* DELETE. -EBUSY: programs still run in it. */
int control_vgpu_remove(struct manager *manager, const char *id, struct err *reterr);

#endif
