/* SPDX-License-Identifier: MIT */
/*
 * Requests that change GPUs, offers, alerts and live parameters. As in control-vgpu.h, each
 * function begins a change, and @done reports its end.
 */
#ifndef GOVER_D_CORE_CONTROL_H
#define GOVER_D_CORE_CONTROL_H

#include "gover-d/core/change.h"
#include "gover-d/core/offers.h"
#include "gover-d/model/host.h"

struct manager;

/*
 * Changes the mode and the selling of a GPU. @mode and @selling may be NULL: unchanged. Errors:
 * CONTROL_E_NOT_FOUND or _INVALID.
 */
int control_gpu_change(struct manager *manager, const char *name, const enum gpu_mode *mode,
		       const bool *selling, struct change_done done, struct err *reterr);

struct control_claim {
	int64_t offer;
	/* idempotency key with the name of its owner, as it is stored; "": none */
	const char *key;
	const char *holder; /* the same key as the client sent it, for a held offer; "": none */
	unsigned int fields;
};

/*
 * Claims an offer for a new vGPU. A repeated claim with the same key succeeds and changes nothing.
 * @contract contains the id of the vGPU, and the flavour; "": the flavour that leads the offer. The
 * members vm, cid, labels, target_fps, target_rate and memory_mib are used if they are in
 * @claim->fields. The flavour determines the cap. Takes over the labels in @contract.
 *
 * Errors: CONTROL_E_NOT_FOUND, _OFFER_OVER, _OFFER_HELD, _NOT_LISTED, _EXISTS (the offer is already
 * claimed, or the id is in use), _DOES_NOT_FIT (the offer is then closed), and the errors of
 * control_vgpu_add().
 */
int control_offer_claim(struct manager *manager, const struct control_claim *claim,
			struct contract *contract, struct change_done done, struct err *reterr);
/*
 * Holds an open offer for @holder, for @ttl_s seconds (1 to OFFERS_HOLD_MAX_S) from now on. Errors:
 * CONTROL_E_NOT_FOUND, _OFFER_OVER, or _OFFER_HELD: another holder has it.
 */
int control_offer_hold(struct manager *manager, int64_t offer, const char *holder, int ttl_s,
		       struct change_done done, struct err *reterr);
/* Withdraws an open offer. Errors: CONTROL_E_NOT_FOUND or _OFFER_OVER. */
int control_offer_close(struct manager *manager, int64_t offer, struct change_done done,
			struct err *reterr);
/* Acknowledges an alert for principal @by. Error: CONTROL_E_NOT_FOUND. */
int control_alert_ack(struct manager *manager, int64_t alert, const char *by,
		      struct change_done done, struct err *reterr);
/*
 * PATCH /v1/policy: @object contains new values for keys of [policy] and [offer]. null restores the
 * value of the configuration file. Error: CONTROL_E_INVALID, also for an unknown key.
 */
int control_policy_change(struct manager *manager, json_t *object, struct change_done done,
			  struct err *reterr);

#endif
