/* SPDX-License-Identifier: MIT */
/*
 * What a request may ask of the daemon. Every function runs in the loop, checks everything, does
 * all of it or nothing, and returns 0 or a negative errno with a sentence in @reterr. What changes
 * a contract is answered only after save_contracts() has put it on disk.
 */
#ifndef GOVER_D_CORE_CONTROL_H
#define GOVER_D_CORE_CONTROL_H

#include "gover-d/alert/alerts.h"
#include "gover-d/alert/silence.h"
#include "gover-d/alert/webhook.h"
#include "gover-d/config/config.h"
#include "gover-d/core/frames.h"
#include "gover-d/core/offers.h"
#include "gover-d/model/decisions.h"
#include "gover-d/model/host.h"
#include "gover-d/util/hook.h"
#include "gover-d/util/worker.h"

struct manager;

/* Read access for answers; valid until the loop goes on. */
const struct host *control_host(const struct manager *manager);
const struct config *control_config(const struct manager *manager);	 /* in force */
const struct config *control_file_config(const struct manager *manager); /* as the file says */
const struct decisions *control_decisions(const struct manager *manager);
const struct alerts *control_alerts(const struct manager *manager);
const struct offers *control_offers(const struct manager *manager);
struct worker *control_worker(struct manager *manager);
struct db *control_db(struct manager *manager); /* NULL: no history at present */
const char *control_db_path(const struct manager *manager);
const struct fps_hub *control_fps(const struct manager *manager);   /* NULL: no socket */
const struct frames *control_frames(const struct manager *manager); /* what the kernel counts */
void control_hook_stats(const struct manager *manager, enum hook hook,
			struct hook_stats *ret_stats);
/* False: there is no webhook. */
bool control_webhook_stats(const struct manager *manager, struct webhook_stats *ret_stats);
bool control_dry_run(const struct manager *manager);

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

/* Called by the tick when answers have changed, and by the API to know (a counter). */
uint64_t control_generation(const struct manager *manager);

#endif
