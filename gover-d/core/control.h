/* SPDX-License-Identifier: MIT */
/*
 * Requests that change GPUs, offers, alerts and live parameters. Every function runs in the event
 * loop and applies the request completely or not at all. Functions with @reterr return 0, a
 * positive enum control_error or a negative errno (see core/error.h). If a request changes a
 * contract, the caller replies to the client after save_contracts() has finished.
 */
#ifndef GOVER_D_CORE_CONTROL_H
#define GOVER_D_CORE_CONTROL_H

#include "gover-d/core/error.h"
#include "gover-d/core/offers.h"
#include "gover-d/model/host.h"

struct manager;

/*
 * Changes the mode and the selling of a GPU. @mode and @selling may be NULL: unchanged. Errors:
 * CONTROL_E_NOT_FOUND or _INVALID.
 */
int control_gpu_change(struct manager *manager, const char *name, const enum gpu_mode *mode,
		       const bool *selling, struct err *reterr);

/*
 * Claims an offer for a new vGPU. @key is an idempotency key; "": no key. A repeated claim with the
 * same key returns the same vGPU. @contract contains the id of the vGPU. The members vm, cid,
 * labels and target_fps are used if they are in @fields. The offer determines the cap.
 *
 * Errors: CONTROL_E_NOT_FOUND, _OFFER_OVER, _EXISTS (the offer is already claimed, or the id is in
 * use), _DOES_NOT_FIT (the offer is then closed), and the errors of control_vgpu_add().
 */
int control_offer_claim(struct manager *manager, int64_t offer, const char *key,
			unsigned int fields, struct contract *contract,
			const struct offer **ret_offer, struct err *reterr);
/* Withdraws an open offer. Errors: CONTROL_E_NOT_FOUND or _OFFER_OVER. */
int control_offer_close(struct manager *manager, int64_t offer, struct err *reterr);
/* Acknowledges an alert. Error: CONTROL_E_NOT_FOUND. */
int control_alert_ack(struct manager *manager, int64_t alert, struct err *reterr);
/*
 * PATCH /v1/policy: @object contains new values for keys of [policy] and [offer]. null restores the
 * value of the configuration file. The changes are stored in the database and survive a restart.
 * Error: CONTROL_E_INVALID, also for an unknown key.
 */
int control_policy_change(struct manager *manager, json_t *object, struct err *reterr);

#endif
