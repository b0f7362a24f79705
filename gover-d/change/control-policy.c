/* SPDX-License-Identifier: MIT */
/* Changes live parameters: PATCH /v1/policy, and a reload of the configuration. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "db/db.h"
#include "gover-d/change/change.h"
#include "gover-d/change/control.h"
#include "gover-d/record/record.h"
#include "gover-d/sale/selling.h"
#include "gover-d/tick/ledger.h"
#include "gover-d/util/log.h"

struct policy_change {
	struct change change; /* must be the first member */
	const char *origin;   /* for the decision: "an operator changed the policy" */
	json_t *object;	      /* owned: the new values */
	struct config file;   /* values of the keys that no client has changed */
	json_t *restart_keys; /* owned: see struct settings */
	/* set by plan(); @live is owned: the live settings after the change */
	struct config config;
	json_t *live;
};

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

static int set_one(const struct config *file, struct config *config, const char *key,
		   const json_t *value, struct err *reterr)
{
	char text[128];
	int r;

	if (json_is_null(value))
		r = config_get_live(file, key, text, sizeof(text));
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

/*
 * True if an offer that is open might not be made with the values of @to. Some keys only change
 * what happens to an offer later.
 */
static bool changes_admission(const struct config *from, const struct config *to, json_t *object)
{
	static const char *const later[] = {"ttl_s", "probation_s", "probation_broken_pct"};
	char was[128], is[128];
	const char *key;
	json_t *value;

	json_object_foreach (object, key, value) {
		size_t i = 0;

		while (i < ARRAY_SIZE(later) && strcmp(later[i], key) != 0)
			i++;
		if (i == ARRAY_SIZE(later) && config_get_live(from, key, was, sizeof(was)) >= 0 &&
		    config_get_live(to, key, is, sizeof(is)) >= 0 && strcmp(was, is) != 0)
			return true;
	}
	return false;
}

/*
 * Sets the live settings of the keys of @object, which exist: a key with the value of the file has
 * none.
 */
static void set_live(const struct changes *changes, struct policy_change *c)
{
	char now_text[128], file_text[128];
	const char *key;
	json_t *value;

	json_decref(c->live);
	c->live = changes->settings->live ? json_copy(changes->settings->live) : json_object();
	json_object_foreach (c->object, key, value) {
		(void)config_get_live(&c->config, key, now_text, sizeof(now_text));
		(void)config_get_live(&c->file, key, file_text, sizeof(file_text));
		if (strcmp(now_text, file_text) == 0)
			(void)json_object_del(c->live, key);
		else
			json_object_set_new(c->live, key, json_string(now_text));
	}
}

static int plan_policy(struct changes *changes, struct change *change, struct err *reterr)
{
	struct policy_change *c = (struct policy_change *)change;
	const char *key;
	json_t *value;
	int r;

	c->config = changes->settings->config;
	json_object_foreach (c->object, key, value) {
		r = set_one(&c->file, &c->config, key, value, reterr);
		if (r != 0)
			return r;
	}
	if (config_check(&c->config, reterr) < 0)
		return CONTROL_E_INVALID;
	set_live(changes, c);
	return 0;
}

static int amend_policy(const struct change *change, struct contracts *contracts)
{
	const struct policy_change *c = (const struct policy_change *)change;

	json_decref(contracts->operator_state->settings);
	contracts->operator_state->settings = json_incref(c->live);
	return 0;
}

/*
 * Stores a copy of each setting in the history. An error is ignored, because the contracts file
 * contains the setting.
 */
static void copy_to_history(const struct changes *changes, json_t *object, json_t *live)
{
	const char *key;
	json_t *value;

	if (!changes->recorder->history.db || changes->settings->dry_run)
		return;
	json_object_foreach (object, key, value)
		(void)db_append_setting(changes->recorder->history.db, key,
					json_string_value(json_object_get(live, key)));
}

/* Records one decision without a GPU, because the policy applies to all GPUs. */
static void record_parameters(struct changes *changes, const char *origin, const char *text)
{
	char why[DECISION_WHY_MAX];
	struct decision d = {.ts_ms = clock_now().wall_ms,
			     .kind = DECISION_SET,
			     .result = DECISION_NOTED,
			     .why = why};

	snprintf(why, sizeof(why), "%s: %s%s", origin, text,
		 changes->settings->dry_run ? "; the change is lost at the next restart (dry run)"
					    : "");
	record_add(changes->recorder, &d, NULL, 0);
}

static int apply_policy(struct changes *changes, struct change *change, struct err *reterr)
{
	struct policy_change *c = (struct policy_change *)change;
	char text[DECISION_WHY_MAX - 128];
	struct settings *settings = &changes->store->settings;
	bool closes;

	(void)reterr;
	list_changes(&settings->config, &c->config, c->object, text, sizeof(text));
	closes = changes_admission(&settings->config, &c->config, c->object);
	settings->config = c->config;
	settings->file_config = c->file;
	settings_apply(settings);
	json_decref(settings->live);
	settings->live = json_incref(c->live);
	json_decref(settings->restart_keys);
	settings->restart_keys = json_incref(c->restart_keys);
	ledger_store_prices(changes->tick);
	copy_to_history(changes, c->object, c->live);
	if (text[0])
		record_parameters(changes, c->origin, text);
	for (int i = 0; closes && i < changes->host->n_gpus; i++)
		selling_close(changes->sales, &changes->host->gpus[i], clock_now(), "%s",
			      c->origin);
	return 0;
}

static void fini_policy(struct change *change)
{
	struct policy_change *c = (struct policy_change *)change;

	json_decref(c->object);
	json_decref(c->live);
	json_decref(c->restart_keys);
}

static const struct change_kind policy_change_kind = {
	.plan = plan_policy, .amend = amend_policy, .apply = apply_policy, .fini = fini_policy};

int control_policy_change(struct changes *changes, json_t *object, struct change_done done,
			  struct err *reterr)
{
	struct policy_change *c = xcalloc(1, sizeof(*c));

	c->change.kind = &policy_change_kind;
	c->change.subject.other = "policy";
	c->origin = "an operator changed the policy";
	c->file = changes->settings->file_config;
	c->restart_keys = json_incref(changes->settings->restart_keys);
	c->object = json_incref(object);
	return change_begin(changes, &c->change, done, reterr);
}

/* Takes the live keys of @config that no client has changed. The other keys of the file stay. */
static void take_live(struct policy_change *c, const struct config *config, const json_t *changed)
{
	const struct setting *key;
	char text[PATH_MAX];

	for (size_t i = 0; (key = config_key_at(i)); i++) {
		if (!key->live)
			continue;
		(void)config_get_live(config, key->key, text, sizeof(text));
		(void)config_set_live(&c->file, key->key, text, NULL);
		if (!json_object_get(changed, key->key))
			json_object_set_new(c->object, key->key, json_string(text));
	}
}

/* Adds the name of a key to the array @userdata. */
static void add_restart_key(void *userdata, const char *section, const char *key)
{
	json_array_append_new(userdata, json_sprintf("[%s]%s%s", section, key[0] ? " " : "", key));
}

static void log_other_keys(const json_t *restart_keys, json_t *live)
{
	const char *key;
	json_t *value;
	size_t i;

	json_array_foreach (restart_keys, i, value) {
		log_notice("%s has changed in the configuration: the next start of gover-d uses it",
			   json_string_value(value));
	}
	json_object_foreach (live, key, value) {
		log_notice("%s stays %s, because a client has changed it", key,
			   json_string_value(value));
	}
}

int control_reload(struct changes *changes, const struct config *config, struct change_done done,
		   struct err *reterr)
{
	const struct settings *settings = changes->settings;
	const struct change_subject subject = {.other = "policy"};
	struct policy_change *c;

	if (change_conflicts(changes, &subject))
		return err_fail(reterr, EBUSY, "a change of the policy is in progress");
	c = xcalloc(1, sizeof(*c));
	c->change.kind = &policy_change_kind;
	c->change.subject = subject;
	c->origin = "the configuration was reloaded";
	c->file = settings->file_config;
	c->file.read_ms = config->read_ms;
	c->restart_keys = json_array();
	config_compare(&settings->file_config, config, add_restart_key, c->restart_keys);
	c->object = json_object();
	take_live(c, config, settings->live);
	log_other_keys(c->restart_keys, settings->live);
	return change_begin(changes, &c->change, done, reterr);
}
