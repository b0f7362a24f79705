/* SPDX-License-Identifier: MIT */
/*
 * What a request may ask of the daemon. Every function runs in the loop, checks everything, does
 * all of it or nothing, and returns 0 or a negative errno with a sentence in @reterr. What changes
 * a contract is answered only after save_contracts() has put it on disk.
 */
#ifndef GOVER_D_CORE_CONTROL_H
#define GOVER_D_CORE_CONTROL_H

#include "gover-d/core/offers.h"
#include "gover-d/model/host.h"

struct manager;

/* mode and selling: NULL where unchanged. */
int control_gpu_change(struct manager *manager, const char *name, const enum gpu_mode *mode,
		       const bool *selling, struct err *reterr);

/*
 * Claims an offer with an idempotency key ("" none): the same key again gives the same newcomer.
 * @contract: id required (and vm, cid, labels, target_fps if given: fields says which); caps are
 * the flavour's. -EEXIST (claimed by another, or duplicate id), -ENOSPC (cannot be funded any more:
 * closes the offer), -ENOENT, -ETIME (expired or closed).
 */
int control_offer_claim(struct manager *manager, int64_t offer, const char *key,
			unsigned int fields, struct contract *contract,
			const struct offer **ret_offer, struct err *reterr);
int control_offer_close(struct manager *manager, int64_t offer, struct err *reterr);
int control_alert_ack(struct manager *manager, int64_t alert, struct err *reterr);
/* PATCH /v1/policy: an object of config keys of [policy] and [offer]; all are checked before one is
 * changed. A null puts the file's value back. Survives a restart (in the database). */
int control_policy_change(struct manager *manager, json_t *object, struct err *reterr);

#endif
