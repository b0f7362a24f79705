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
 * POST /v1/vgpus: adds a vGPU with @contract. On success takes ownership of the labels in @contract
 * and sets *@ret_vgpu, if @ret_vgpu is not NULL. Errors: CONTROL_E_INVALID, _EXISTS, _DOES_NOT_FIT,
 * _FOREIGN_CAP, _UNSUPPORTED, _DRY_RUN or _NOT_STORED.
 */
int control_vgpu_add(struct manager *manager, struct contract *contract, struct vgpu **ret_vgpu,
		     struct err *reterr);

/*
 * PATCH /v1/vgpus/ID: sets the members in @fields (a mask of enum contract_bit) to their @values.
 * New labels replace all old labels. If held is true and held_cap_pct is 0, the current cap is
 * held. Errors: CONTROL_E_NOT_FOUND, _INVALID, _FOREIGN_CAP, or _DOES_NOT_FIT (the message contains
 * the largest cap that fits).
 */
int control_vgpu_change(struct manager *manager, const char *id, unsigned int fields,
			const struct contract *values, struct err *reterr);
/*
 * DELETE /v1/vgpus/ID: removes the vGPU and its contract. Errors: CONTROL_E_NOT_FOUND, _IN_USE or
 * _DRY_RUN.
 */
int control_vgpu_remove(struct manager *manager, const char *id, struct err *reterr);

#endif
