/* SPDX-License-Identifier: MIT */
/*
 * Requests that sell, change, hold and remove vGPUs. Each function runs in the loop, checks
 * everything, and does all of it or nothing; it returns 0, an enum control_error or a negative
 * errno. The caller answers after save_contracts().
 */
#ifndef GOVER_D_CORE_CONTROL_VGPU_H
#define GOVER_D_CORE_CONTROL_VGPU_H

#include "gover-d/core/error.h"
#include "gover-d/model/host.h"

struct manager;

/*
 * POST /v1/vgpus. *@ret_vgpu, if not NULL, is the new vGPU. On success the labels of @contract are
 * taken over. CONTROL_E_INVALID, _EXISTS, _DOES_NOT_FIT, _FOREIGN_CAP, _UNSUPPORTED, _DRY_RUN or
 * _NOT_STORED.
 */
int control_vgpu_add(struct manager *manager, struct contract *contract, struct vgpu **ret_vgpu,
		     struct err *reterr);

/*
 * PATCH: changes @fields (a mask of enum contract_bit) to @values. labels replaces all labels; held
 * with held_cap_pct 0 holds the current cap. CONTROL_E_NOT_FOUND, _INVALID, _FOREIGN_CAP, or
 * _DOES_NOT_FIT with the largest cap that would fit.
 */
int control_vgpu_change(struct manager *manager, const char *id, unsigned int fields,
			const struct contract *values, struct err *reterr);
/* DELETE. CONTROL_E_NOT_FOUND, _IN_USE or _DRY_RUN. */
int control_vgpu_remove(struct manager *manager, const char *id, struct err *reterr);

#endif
