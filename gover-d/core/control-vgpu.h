/* SPDX-License-Identifier: MIT */
/*
 * Requests that sell, change, hold and remove vGPUs. Each function runs in the event loop and
 * applies the request completely or not at all. It returns 0, an enum control_error or a negative
 * errno. The caller replies to the client after save_contracts() has finished.
 */
#ifndef GOVER_D_CORE_CONTROL_VGPU_H
#define GOVER_D_CORE_CONTROL_VGPU_H

#include "gover-d/core/error.h"
#include "gover-d/model/host.h"

struct manager;

/*
 * POST /v1/vgpus: adds a vGPU with @contract, and takes ownership of its labels on success.
 * *@ret_vgpu is set to the new vGPU; @ret_vgpu may be NULL. Errors: CONTROL_E_INVALID, _EXISTS,
 * _DOES_NOT_FIT, _FOREIGN_CAP, _UNSUPPORTED, _DRY_RUN or _NOT_STORED.
 */
int control_vgpu_add(struct manager *manager, struct contract *contract, struct vgpu **ret_vgpu,
		     struct err *reterr);

/*
 * PATCH /v1/vgpus/ID: changes @fields (a mask of enum contract_bit) to @values. The field labels
 * replaces all labels. The field held with held_cap_pct 0 holds the current cap. Errors:
 * CONTROL_E_NOT_FOUND, _INVALID, _FOREIGN_CAP, or _DOES_NOT_FIT with the largest cap that fits.
 */
int control_vgpu_change(struct manager *manager, const char *id, unsigned int fields,
			const struct contract *values, struct err *reterr);
/*
 * DELETE /v1/vgpus/ID: removes the vGPU and its contract. Errors: CONTROL_E_NOT_FOUND, _IN_USE or
 * _DRY_RUN.
 */
int control_vgpu_remove(struct manager *manager, const char *id, struct err *reterr);

#endif
