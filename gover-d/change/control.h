/* SPDX-License-Identifier: MIT */
/*
 * Requests that change vGPUs, GPUs, offers, alerts, silences and live parameters. Each function
 * runs in the event loop and begins a change (change/change.h). It returns 0 if the change is
 * accepted: @done reports its end. Otherwise it returns an enum control_error or a negative errno,
 * and nothing was changed. @done may report the same errors, and CONTROL_E_NOT_STORED.
 */
#ifndef GOVER_D_CHANGE_CONTROL_H
#define GOVER_D_CHANGE_CONTROL_H

#include "gover-d/alert/alerts.h"
#include "gover-d/change/change.h"
#include "gover-d/change/keys.h"
#include "gover-d/model/fleet.h"
#include "gover-d/model/host.h"
#include "gover-d/sale/offers.h"

/*
 * POST /v1/vgpus: adds a vGPU with @contract. @fields: the members that the request contains. If
 * the flavour is one of them, it determines the cap and the target that the request does not
 * contain. Takes over the labels in @contract. Errors: CONTROL_E_INVALID, _EXISTS, _DOES_NOT_FIT,
 * _FOREIGN_CAP, _UNSUPPORTED, _DRY_RUN, and those of keys_check(), CONTROL_E_REPEATED too.
 */
int control_vgpu_add(struct changes *changes, const struct control_key *key, unsigned int fields,
		     struct contract *contract, struct change_done done, struct err *reterr);

/*
 * PATCH /v1/vgpus/ID: sets the members in @fields (a mask of enum contract_bit) to their @values.
 * New labels replace all old labels. If held is true and held_cap_pct is 0, the current cap is
 * held. Errors: CONTROL_E_NOT_FOUND, _INVALID, _FOREIGN_CAP, or _DOES_NOT_FIT (the message contains
 * the largest cap that fits).
 */
int control_vgpu_change(struct changes *changes, const char *id, unsigned int fields,
			const struct contract *values, struct change_done done, struct err *reterr);
/*
 * DELETE /v1/vgpus/ID: removes the vGPU and its contract. Errors: CONTROL_E_NOT_FOUND, _IN_USE or
 * _DRY_RUN.
 */
int control_vgpu_remove(struct changes *changes, const char *id, struct change_done done,
			struct err *reterr);

/*
 * Changes the mode and the selling of a GPU. @mode and @selling may be NULL: unchanged. Errors:
 * CONTROL_E_NOT_FOUND or _INVALID.
 */
int control_gpu_change(struct changes *changes, const char *name, const enum gpu_mode *mode,
		       const bool *selling, struct change_done done, struct err *reterr);

struct control_claim {
	int64_t offer;
	struct control_key key; /* of a held offer: given must be its holder */
	unsigned int fields;
};

/*
 * Claims an offer for a new vGPU. @contract contains the id of the vGPU, and the flavour; "": the
 * flavour that leads the offer. The members vm, cid, labels, target_fps, target_rate and memory_mib
 * are used if they are in @claim->fields. The flavour determines the cap. Takes over the labels in
 * @contract.
 *
 * Errors: CONTROL_E_NOT_FOUND, _OFFER_OVER, _OFFER_HELD, _NOT_LISTED, _EXISTS (the offer is already
 * claimed, or the id is in use), _DOES_NOT_FIT (the offer is then closed), and the errors of
 * control_vgpu_add().
 */
int control_offer_claim(struct changes *changes, const struct control_claim *claim,
			struct contract *contract, struct change_done done, struct err *reterr);
/*
 * Holds an open offer for @holder, for @ttl_s seconds (1 to OFFERS_HOLD_MAX_S) from now on. Errors:
 * CONTROL_E_NOT_FOUND, _OFFER_OVER, or _OFFER_HELD: another holder has it.
 */
int control_offer_hold(struct changes *changes, int64_t offer, const char *holder, int ttl_s,
		       struct change_done done, struct err *reterr);
/* Withdraws an open offer. Errors: CONTROL_E_NOT_FOUND or _OFFER_OVER. */
int control_offer_close(struct changes *changes, int64_t offer, struct change_done done,
			struct err *reterr);
/* Acknowledges an alert for principal @by. Error: CONTROL_E_NOT_FOUND. */
int control_alert_ack(struct changes *changes, int64_t alert, const char *by,
		      struct change_done done, struct err *reterr);
/*
 * PATCH /v1/policy: @object contains new values for keys of [policy] and [offer]. null restores the
 * value of the configuration file. Error: CONTROL_E_INVALID, also for an unknown key.
 */
int control_policy_change(struct changes *changes, json_t *object, struct change_done done,
			  struct err *reterr);

/*
 * Takes over the live keys of @config, a configuration that was read again, except those that
 * clients have changed. Logs the names of all other keys whose values differ from those at the
 * start. Errors: CONTROL_E_INVALID; -EBUSY: a change of the policy is in progress.
 */
int control_reload(struct changes *changes, const struct config *config, struct change_done done,
		   struct err *reterr);

/*
 * Adds @silence with the next id and the present time. When @done is called, it is the last one of
 * the list. Errors: CONTROL_E_INVALID or _TOO_MANY.
 */
int control_silence_add(struct changes *changes, const struct db_silence *silence,
			struct change_done done, struct err *reterr);
/* Removes the silence. Error: CONTROL_E_NOT_FOUND. */
int control_silence_remove(struct changes *changes, int64_t silence, struct change_done done,
			   struct err *reterr);

/*
 * Stores the row of the audit log of a change that is made in another file, before it is made. The
 * contracts file contains no other trace of this change.
 */
int control_store_audit(struct changes *changes, struct change_done done, struct err *reterr);

/* Reports of gover-fleet. They are facts in memory, so the contracts file does not contain them. */

/* PUT /v1/fleet: replaces the last report. It has ended when the function returns. */
void control_fleet_report(struct changes *changes, const struct fleet_report *report,
			  struct instant now);
/*
 * POST /v1/vgpus/ID/migration: records a fact about the migration of a vGPU as a decision. The vGPU
 * exists, or its migration was requested since the start of the daemon and it has left. Error:
 * CONTROL_E_NOT_FOUND.
 */
int control_fleet_migration(struct changes *changes, const char *vgpu,
			    const struct fleet_migration *migration, struct instant now,
			    struct change_done done, struct err *reterr);

#endif
