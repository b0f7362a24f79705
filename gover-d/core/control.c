/* SPDX-License-Identifier: MIT */
/*
 * Requests about GPUs, offers, alerts and live parameters. control-vgpu.c contains the requests
 * about vGPUs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "db/db.h"
#include "gover-d/core/control-vgpu.h"
#include "gover-d/core/control.h"
#include "gover-d/core/ledger.h"
#include "gover-d/core/record.h"
#include "gover-d/core/state.h"

int control_gpu_change(struct manager *m, const char *name, const enum gpu_mode *mode,
		       const bool *selling, struct err *reterr)
{
	struct host_gpu *gpu = host_find_gpu(&m->host, name);
	struct instant now = clock_now();
	struct offer *offer;

	if (!gpu)
		return err_condition(reterr, CONTROL_E_NOT_FOUND, "no GPU %s on this host", name);
	if (mode)
		gpu->mode = *mode;
	if (selling)
		gpu->selling = *selling;
	record_decision(m, gpu, NULL, DECISION_SET, DECISION_NOTED, now,
			"an operator set GPU %s to mode %s, selling %s", name,
			gpu_mode_name(gpu->mode), gpu->selling ? "on" : "off");
	offer = offers_live(m->offers, name);
	if (offer && offer->life.state == OFFER_OPEN &&
	    (!gpu->selling || gpu->mode != GPU_MODE_ACT))
		offers_end(m->offers, offer, OFFER_CLOSED, now,
			   "an operator stopped selling on GPU %s", name);
	return 0;
}

/* --- offers and alerts --- */

/*
 * Checks that the offer can be claimed. Sets *@ret_claimed to true if the offer was already claimed
 * with the same @key.
 */
static int check_claim(const struct offer *offer, const char *key, bool *ret_claimed,
		       struct err *reterr)
{
	*ret_claimed = offer->vgpu[0] && key[0] && strcmp(offer->claim_key, key) == 0;
	if (*ret_claimed)
		return 0;
	if (offer->vgpu[0])
		return err_condition(reterr, CONTROL_E_EXISTS,
				     "offer %lld was already claimed for vGPU %s",
				     (long long)offer->id, offer->vgpu);
	if (offer->life.state != OFFER_OPEN)
		return err_condition(reterr, CONTROL_E_OFFER_OVER, "offer %lld is %s: %s",
				     (long long)offer->id, offer_state_name(offer->life.state),
				     offer->reason);
	return 0;
}

int control_offer_claim(struct manager *m, int64_t id, const char *key, unsigned int fields,
			struct contract *contract, const struct offer **ret_offer,
			struct err *reterr)
{
	struct instant now = clock_now();
	struct offer *offer = offers_find(m->offers, id);
	bool claimed;
	struct vgpu *vgpu;
	int r;

	if (!offer)
		return err_condition(reterr, CONTROL_E_NOT_FOUND, "no offer %lld", (long long)id);
	r = check_claim(offer, key, &claimed, reterr);
	if (r != 0)
		return r;
	if (claimed) {
		contract_fini(contract); /* a repeated request gets the vGPU of the first request */
		*ret_offer = offer;
		return 0;
	}
	memcpy(contract->gpu, offer->gpu, sizeof(contract->gpu));
	contract->terms.initial_cap_pct = offer->flavor.initial_cap_pct;
	if (!(fields & CONTRACT_TARGET_FPS))
		contract->terms.target_fps = offer->flavor.target_fps;
	contract->terms.weight = 1;
	memcpy(contract->flavor, m->config.offer.flavor, sizeof(contract->flavor));
	/*
	 * Store the claim also in the contract, which is saved before the reply. The history is
	 * written later, so a crash may lose the claim there.
	 */
	contract->offer = id;
	snprintf(contract->claim_key, sizeof(contract->claim_key), "%s", key);
	r = control_vgpu_add(m, contract, &vgpu, reterr);
	if (r == CONTROL_E_DOES_NOT_FIT)
		offers_end(m->offers, offer, OFFER_CLOSED, now,
			   "the offer could no longer be funded when it was claimed");
	if (r != 0)
		return r;
	vgpu->newcomer = true;
	offers_claim(m->offers, offer, vgpu->contract.id, key, m->config.offer.probation_s, now);
	*ret_offer = offer;
	return 0;
}

int control_offer_close(struct manager *m, int64_t id, struct err *reterr)
{
	struct offer *offer = offers_find(m->offers, id);

	if (!offer)
		return err_condition(reterr, CONTROL_E_NOT_FOUND, "no offer %lld", (long long)id);
	if (offer->life.state != OFFER_OPEN)
		return err_condition(reterr, CONTROL_E_OFFER_OVER,
				     "offer %lld is %s (only an open offer can be withdrawn)",
				     (long long)id, offer_state_name(offer->life.state));
	offers_end(m->offers, offer, OFFER_CLOSED, clock_now(), "withdrawn by a client");
	return 0;
}

int control_alert_ack(struct manager *m, int64_t id, struct err *reterr)
{
	if (alerts_ack(m->alerts, id, clock_now().wall_ms) < 0)
		return err_condition(reterr, CONTROL_E_NOT_FOUND, "no alert %lld", (long long)id);
	return 0;
}

/* --- live parameters --- */

static int text_of(const json_t *value, char *text, size_t size)
{
	int n = -1;

	if (json_is_string(value))
		n = snprintf(text, size, "%s", json_string_value(value));
	else if (json_is_boolean(value))
		n = snprintf(text, size, "%s", json_is_true(value) ? "on" : "off");
	else if (json_is_integer(value))
		n = snprintf(text, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_real(value))
		n = snprintf(text, size, "%.17g", json_real_value(value));
	return n >= 0 && (size_t)n < size ? 0 : -EINVAL;
}

static int set_one(struct manager *m, struct config *config, const char *key, const json_t *value,
		   struct err *reterr)
{
	char text[128];
	int r;

	if (json_is_null(value))
		r = config_get_live(&m->file_config, key, text, sizeof(text));
	else
		r = text_of(value, text, sizeof(text));
	if (r == -ENOENT)
		return err_condition(reterr, CONTROL_E_INVALID, "%s: unknown parameter", key);
	if (r < 0)
		return err_condition(reterr, CONTROL_E_INVALID,
				     "%s: wrong type (allowed: a number, a word, on, off or null)",
				     key);
	r = config_set_live(config, key, text, reterr);
	return r == -ENOENT || r == -EINVAL ? CONTROL_E_INVALID : r;
}

/* Lists the keys of @object whose values change: "overload_pct 95 -> 90, ...". */
static void list_changes(const struct config *from, const struct config *to, json_t *object,
			 char *text, size_t size)
{
	char was[128], is[128];
	const char *key;
	json_t *value;
	size_t at = 0;

	text[0] = '\0';
	json_object_foreach (object, key, value) {
		if (config_get_live(from, key, was, sizeof(was)) < 0 ||
		    config_get_live(to, key, is, sizeof(is)) < 0 || strcmp(was, is) == 0)
			continue;
		if (at < size)
			at += (size_t)snprintf(text + at, size - at, "%s%s %s -> %s",
					       at ? ", " : "", key, was, is);
	}
}

static int store_setting(struct manager *m, const char *key)
{
	char now_text[128], file_text[128];

	if (!m->history.db)
		return -ENODEV;
	if (m->actuator.dry_run)
		return -EPERM; /* a dry run must not affect later runs */
	if (config_get_live(&m->config, key, now_text, sizeof(now_text)) < 0 ||
	    config_get_live(&m->file_config, key, file_text, sizeof(file_text)) < 0)
		return -ENOENT;
	return db_append_setting(m->history.db, key,
				 strcmp(now_text, file_text) == 0 ? NULL : now_text);
}

/* Records one decision without a GPU, because the policy applies to all GPUs. */
static void record_parameters(struct manager *m, const char *changes, bool stored)
{
	char why[DECISION_WHY_MAX];
	struct decision d = {.ts_ms = clock_now().wall_ms,
			     .kind = DECISION_SET,
			     .result = DECISION_NOTED,
			     .why = why};

	snprintf(why, sizeof(why), "an operator changed the policy: %s%s", changes,
		 stored		       ? ""
		 : m->actuator.dry_run ? "; the change is lost at the next restart (dry run)"
				       : "; the change is lost at the next restart (no history)");
	(void)record_add(m, &d);
}

int control_policy_change(struct manager *m, json_t *object, struct err *reterr)
{
	CLEANUP_FREE struct config *config = malloc(sizeof(*config));
	char changes[DECISION_WHY_MAX - 128];
	bool stored = true;
	const char *key;
	json_t *value;
	int r;

	if (!config)
		return err_fail(reterr, ENOMEM, "out of memory");
	*config = m->config;
	json_object_foreach (object, key, value) {
		r = set_one(m, config, key, value, reterr);
		if (r != 0)
			return r;
	}
	if (config_check(config, reterr) < 0)
		return CONTROL_E_INVALID;
	list_changes(&m->config, config, object, changes, sizeof(changes));
	m->config = *config;
	m->policy = policy_find(m->config.policy);
	m->params = config_policy_params(&m->config);
	ledger_store_prices(m);
	json_object_foreach (object, key, value)
		if (store_setting(m, key) < 0)
			stored = false;
	if (changes[0])
		record_parameters(m, changes, stored);
	return 0;
}
