/* SPDX-License-Identifier: MIT */
/*
 * Requests that sell, change, hold and remove vGPUs. Each function runs in the event loop and
 * begins a change (core/change.h). It returns 0 if the change is accepted: @done reports its end.
 * Otherwise it returns an enum control_error or a negative errno, and nothing was changed. @done
 * may report the same errors, and CONTROL_E_NOT_STORED.
 */
#ifndef GOVER_D_CORE_CONTROL_VGPU_H
#define GOVER_D_CORE_CONTROL_VGPU_H

#include "gover-d/core/change.h"

struct manager;

/*
 * POST /v1/vgpus: adds a vGPU with @contract. Takes over the labels in @contract. Errors:
 * CONTROL_E_INVALID, _EXISTS, _DOES_NOT_FIT, _FOREIGN_CAP, _UNSUPPORTED or _DRY_RUN.
 */
int control_vgpu_add(struct manager *manager, struct contract *contract, struct change_done done,
		     struct err *reterr);

/*
 * PATCH /v1/vgpus/ID: sets the members in @fields (a mask of enum contract_bit) to their @values.
 * New labels replace all old labels. If held is true and held_cap_pct is 0, the current cap is
 * held. Errors: CONTROL_E_NOT_FOUND, _INVALID, _FOREIGN_CAP, or _DOES_NOT_FIT (the message contains
 * the largest cap that fits).
 */
int control_vgpu_change(struct manager *manager, const char *id, unsigned int fields,
			const struct contract *values, struct change_done done, struct err *reterr);
/*
 * DELETE /v1/vgpus/ID: removes the vGPU and its contract. Errors: CONTROL_E_NOT_FOUND, _IN_USE or
 * _DRY_RUN.
 */
int control_vgpu_remove(struct manager *manager, const char *id, struct change_done done,
			struct err *reterr);

#endif
