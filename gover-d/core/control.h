/* SPDX-License-Identifier: MIT */
/*
 * The changes that requests can make. Every function runs in the event loop, checks everything, and
 * makes the whole change or none of it. Functions with @reterr return 0, a positive enum
 * control_error or a negative errno (see core/error.h). A change of a contract is answered only
 * after save_contracts() has written it to disk.
 */
#ifndef GOVER_D_CORE_CONTROL_H
#define GOVER_D_CORE_CONTROL_H

#include "gover-d/core/error.h"
#include "gover-d/core/offers.h"
#include "gover-d/model/host.h"

struct manager;

/* @mode and @selling: NULL if unchanged. CONTROL_E_NOT_FOUND or _INVALID. */
int control_gpu_change(struct manager *manager, const char *name, const enum gpu_mode *mode,
		       const bool *selling, struct err *reterr);

/*
 * Claims an offer. @key is an idempotency key ("" none): the same key again returns the same vGPU.
 * @contract has the id and those of vm, cid, labels and target_fps that are in @fields; the caps
 * are the flavour's. CONTROL_E_NOT_FOUND, _OFFER_OVER, _EXISTS (the offer or the id), _DOES_NOT_FIT
 * (closes the offer), and as control_vgpu_add().
 */
int control_offer_claim(struct manager *manager, int64_t offer, const char *key,
			unsigned int fields, struct contract *contract,
			const struct offer **ret_offer, struct err *reterr);
/* CONTROL_E_NOT_FOUND or _OFFER_OVER. */
int control_offer_close(struct manager *manager, int64_t offer, struct err *reterr);
/* CONTROL_E_NOT_FOUND. */
int control_alert_ack(struct manager *manager, int64_t alert, struct err *reterr);
/*
 * PATCH /v1/policy: an object of keys of [policy] and [offer]. Null restores the value of the
 * configuration file. The changes are stored in the database and survive a restart.
 * CONTROL_E_INVALID, also for an unknown key.
 */
int control_policy_change(struct manager *manager, json_t *object, struct err *reterr);

#endif
