/* SPDX-License-Identifier: MIT */
/*
 * Loads the state of an earlier daemon. Each row of the history is checked first: a row that gover
 * has written passes. Other rows come from another program or from a damaged disk: the daemon could
 * not answer requests with their values, or would write a contracts file that its next start
 * rejects.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "db/db.h"
#include "gover-d/model/contract.h"
#include "gover-d/store/load.h"
#include "gover-d/store/operator-state.h"
#include "gover-d/util/log.h"

/* The contracts file contains times up to this value: 2^53, as a double represents it exactly. */
#define TIME_MAX_MS (INT64_C(1) << 53)

static bool is_id_or_empty(const char *text)
{
	return text[0] == '\0' || id_valid(text);
}

static bool is_time(int64_t ms)
{
	return ms >= 0 && ms <= TIME_MAX_MS;
}

/* Keys and values of settings are printable ASCII. */
static bool is_setting_text(const char *text)
{
	for (const char *c = text; *c; c++)
		if (*c < ' ' || *c > '~')
			return false;
	return strlen(text) < OPERATOR_TEXT_MAX;
}

/* As the contracts file and REST accept a text. Bytes outside ASCII are replaced if needed. */
static bool has_no_control(const char *text)
{
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
	return true;
}

static bool is_cap(int pct)
{
	return pct >= 0 && pct <= 100;
}

/* The column contains a target in frames or in units of work per second. Also rejects NaN. */
static bool is_target(double target)
{
	const struct contract_field *field = contract_field_at(CONTRACT_ROW_TARGET_RATE);

	return target >= field->min && target <= field->max;
}

struct column {
	const char *name; /* NULL: end of the list */
	bool valid;
};

static const char *first_invalid(const struct column *columns)
{
	while (columns->name && columns->valid)
		columns++;
	return columns->name;
}

const char *row_check_decision(const struct db_decision *row)
{
	return first_invalid((const struct column[]){
		{"ts_ms", is_time(row->ts_ms)},
		{"gpu", is_id_or_empty(row->gpu)},
		{"vgpu", is_id_or_empty(row->vgpu)},
		{"donor", is_id_or_empty(row->donor)},
		{.name = NULL},
	});
}

const char *row_check_alert(const struct db_alert *row)
{
	return first_invalid((const struct column[]){
		{"raised_ms", is_time(row->raised_ms)},
		{"cleared_ms", is_time(row->cleared_ms)},
		{"acked_ms", is_time(row->acked_ms)},
		{"gpu", is_id_or_empty(row->gpu)},
		{"vgpu", is_id_or_empty(row->vgpu)},
		{"vm", has_no_control(row->vm)},
		{"cause", is_id_or_empty(row->cause)},
		{"acked_by", has_no_control(row->acked_by)},
		{.name = NULL},
	});
}

const char *row_check_silence(const struct db_silence *row)
{
	return first_invalid((const struct column[]){
		{"created_ms", is_time(row->created_ms)},
		{"until_ms", is_time(row->until_ms)},
		{"alert", is_id_or_empty(row->alert)},
		{"gpu", is_id_or_empty(row->gpu)},
		{"vgpu", is_id_or_empty(row->vgpu)},
		{"reason", has_no_control(row->reason)},
		{"alert, gpu or vgpu", row->alert[0] || row->gpu[0] || row->vgpu[0]},
		{.name = NULL},
	});
}

const char *row_check_offer(const struct db_offer *row)
{
	return first_invalid((const struct column[]){
		{"created_ms", is_time(row->created_ms)},
		{"changed_ms", is_time(row->changed_ms)},
		{"gpu", id_valid(row->gpu)},
		{"vgpu", is_id_or_empty(row->vgpu)},
		{"cap_pct", is_cap(row->cap_pct)},
		{"funded_pct", is_cap(row->funded_pct)},
		{"target_fps", is_target(row->target_fps)},
		{"flavor", is_id_or_empty(row->flavor)},
		{.name = NULL},
	});
}

const char *row_check_setting(const char *key, const char *value)
{
	return first_invalid((const struct column[]){
		{"key", is_setting_text(key)},
		{"value", is_setting_text(value)},
		{.name = NULL},
	});
}

#define DECISIONS_LOADED 500
/* maximum number of ended offers that are loaded because a vGPU was sold through them */
#define OFFERS_LOADED 100
/* maximum number of invalid rows of which each is logged */
#define INVALID_LOGGED 5

/* Loads the contracts from the database. -ENOENT: the database contains no contracts. */
static int load_from_database(struct store *store, struct db_reader *reader,
			      struct contracts *ret_contracts)
{
	CLEANUP_FREE char *text = NULL;
	struct err err = {""};
	int64_t revision;
	int r;

	if (!reader)
		return -ENOENT;
	r = db_query_contracts(reader, &revision, &text);
	if (r == -ENOENT)
		return r;
	if (r < 0)
		(void)err_fail(&err, -r, "%s: cannot be read: %s", store->recorder->history.path,
			       strerror(-r));
	else
		r = contracts_parse(text, strlen(text), store->recorder->history.path,
				    ret_contracts, &err);
	if (r < 0)
		log_warning("%s; ignoring the contracts in the database", err.msg);
	return r;
}

/* True if the file is damaged. A file of a newer gover is not damaged and must not be replaced. */
static bool is_damaged(int r)
{
	return r == -EINVAL || r == -EIO || r == -EFBIG || r == -EISDIR;
}

/*
 * Returns true if the contracts of the database are used instead of the file, and logs the reason.
 * @r: result of loading the file.
 */
static bool prefer_database(const struct store *store, int r, const struct err *err,
			    const struct contracts *file, const struct contracts *database)
{
	char database_at[CLOCK_TEXT_MAX], file_at[CLOCK_TEXT_MAX];

	/* A revision is usually the time of saving in ms since 1970. */
	clock_format(database->head.revision, database_at);
	clock_format(file->head.revision, file_at);
	if (r == -ENOENT || is_damaged(r)) {
		log_warning("%s; using the contracts and holds of %s, saved at %s", err->msg,
			    store->recorder->history.path, database_at);
		return true;
	}
	if (r < 0 || file->head.revision == 0 || file->head.revision >= database->head.revision)
		return false;
	log_warning("%s was saved at %s, but %s at %s: using the newer contracts of the database",
		    store->contracts_path, file_at, store->recorder->history.path, database_at);
	return true;
}

/* The contracts of the vGPUs in the cap journal are lost: logs them. False: there are none. */
static bool log_lost(const struct store *store, const struct cap_journal *journal)
{
	char ids[ERR_MSG_MAX / 2] = "";
	size_t at = 0;
	int place = 0, more = 0;
	const char *id;
	bool lost = false;

	while ((id = cap_journal_next(journal, &place))) {
		lost = true;
		if (at + strlen(id) + 3 < sizeof(ids))
			at += (size_t)snprintf(ids + at, sizeof(ids) - at, "%s%s", at ? ", " : "",
					       id);
		else
			more++;
	}
	if (!lost)
		return false;
	log_warning("%s is missing and %s has no contracts: the contracts of vGPU %s%s are lost; "
		    "each vGPU that exists is held at its cap",
		    store->contracts_path, store->recorder->history.path, ids,
		    more ? " and others" : "");
	return true;
}

int load_contracts(struct store *store, const struct cap_journal *journal, struct db_reader *reader,
		   struct loaded_contracts *ret_loaded, struct err *reterr)
{
	struct contracts file = {0}, database = {0};
	struct err err = {""};
	int r = contracts_load(store->contracts_path, &file, &err);
	bool use_database;

	use_database = load_from_database(store, reader, &database) == 0 &&
		       prefer_database(store, r, &err, &file, &database);
	contracts_fini(use_database ? &file : &database);
	if (r < 0 && r != -ENOENT && !use_database)
		return err_fail(reterr, -r, "%s", err.msg);
	*ret_loaded = (struct loaded_contracts){
		.contracts = use_database ? database : file,
		.stale = use_database && r != -ENOENT,
		.lost = r == -ENOENT && !use_database && log_lost(store, journal),
	};
	store->revision = ret_loaded->contracts.head.revision;
	store->keys = ret_loaded->contracts.keys;
	ret_loaded->contracts.keys = (struct sale_keys){.n = 0};
	store->audit = ret_loaded->contracts.audit;
	ret_loaded->contracts.audit = (struct audit_rows){.n = 0};
	return 0;
}

/* --- the operator's state --- */

/*
 * A value that is not allowed is ignored in this run, but stays stored: it may be allowed with
 * another configuration file.
 */
static void load_setting(struct store *store, const char *key, const char *value)
{
	struct err err = {""};
	int r = config_set_live(&store->settings.config, key, value, &err);

	if (r < 0)
		log_warning("live setting %s: %s, ignoring", key,
			    r == -ENOENT ? "unknown key" : err.msg);
	if (r != -ENOENT)
		json_object_set_new(store->settings.live, key, json_string(value));
}

/* Drops all live settings of this run if they conflict with the configuration file. */
static void check_settings(struct store *store)
{
	struct err err = {""};

	if (config_check(&store->settings.config, &err) == 0)
		return;
	log_warning("live settings conflict with the configuration: %s; all live settings are "
		    "ignored",
		    err.msg);
	store->settings.config = store->settings.file_config;
}

void load_operator_state(struct store *store, const struct operator_state *state)
{
	const char *key;
	json_t *value;

	store->settings.live = json_object();
	if (!state)
		return;
	json_object_foreach (state->settings, key, value) {
		load_setting(store, key, json_string_value(value));
	}
	check_settings(store);
	store->recorder->silences = state->silences;
}

/* --- the last run's history --- */

struct history_context {
	struct store *store;
	const struct operator_state *state; /* NULL: the history contains the newest state */
	int settings;			    /* rows of settings that were read */
	int invalid;			    /* rows that were ignored */
};

/* Logs and counts a row with an invalid column. @column: result of row_check_*(); NULL: none. */
static bool is_invalid(struct history_context *context, const char *column, const char *table,
		       int64_t id)
{
	if (!column)
		return false;
	if (++context->invalid <= INVALID_LOGGED)
		log_warning("%s: %s %lld: invalid %s, ignoring this row",
			    context->store->recorder->history.path, table, (long long)id, column);
	return true;
}

static int load_stored_setting(void *userdata, const void *data)
{
	const struct db_setting *row = data;
	struct history_context *context = userdata;

	if (!is_invalid(context, row_check_setting(row->key, row->value), "setting",
			++context->settings))
		load_setting(context->store, row->key, row->value);
	return 0;
}

/* Returns member @name of @detail if it has the type of @empty, otherwise @empty. Takes @empty. */
static json_t *take_member(json_t *detail, const char *name, json_t *empty)
{
	json_t *member = json_object_get(detail, name);

	if (!member || json_typeof(member) != json_typeof(empty))
		return empty;
	json_decref(empty);
	return json_incref(member);
}

static int load_decision(void *userdata, const void *data)
{
	const struct db_decision *row = data;
	struct history_context *context = userdata;
	struct decision d = {.ts_ms = row->ts_ms};
	json_t *detail;

	if (is_invalid(context, row_check_decision(row), "decision", row->id))
		return 0;
	if (decision_kind_parse(row->kind, &d.kind) < 0 ||
	    decision_result_parse(row->result, &d.result) < 0)
		return 0; /* unknown kind or result, written by another version of gover */
	detail = json_loadb(row->detail_json, strlen(row->detail_json), 0, NULL);
	memcpy(d.gpu, row->gpu, sizeof(d.gpu));
	memcpy(d.vgpu, row->vgpu, sizeof(d.vgpu));
	memcpy(d.donor, row->donor, sizeof(d.donor));
	d.why = row->why;
	d.id = row->id;
	d.numbers = take_member(detail, "numbers", json_object());
	d.moves = take_member(detail, "moves", json_array());
	json_decref(detail);
	(void)decisions_add(context->store->recorder->decisions, &d);
	return 0;
}

static int load_alert(void *userdata, const void *data)
{
	const struct db_alert *row = data;
	struct history_context *context = userdata;
	struct store *store = context->store;
	struct alert alert = {
		.id = row->id,
		.raised_ms = row->raised_ms,
		.cleared_ms = row->cleared_ms,
		.acked_ms = row->acked_ms,
	};

	/* Unknown names were written by another version of gover. */
	if (alerts_kind_parse(row->name, &alert.kind) < 0 ||
	    alert_severity_parse(row->severity, &alert.severity) < 0 ||
	    is_invalid(context, row_check_alert(row), "alert", row->id))
		return 0;
	memcpy(alert.gpu, row->gpu, sizeof(alert.gpu));
	memcpy(alert.vgpu, row->vgpu, sizeof(alert.vgpu));
	memcpy(alert.vm, row->vm, sizeof(alert.vm));
	memcpy(alert.cause, row->cause, sizeof(alert.cause));
	memcpy(alert.acked_by, row->acked_by, sizeof(alert.acked_by));
	snprintf(alert.text, sizeof(alert.text), "%.*s", ALERT_TEXT_MAX - 1, row->text);
	if (context->state && alert.acked_ms == 0)
		alert.acked_ms = operator_state_acked_ms(context->state, row->id);
	alerts_adopt(store->recorder->alerts, &alert);
	return 0;
}

static int load_silence(void *userdata, const void *data)
{
	const struct db_silence *row = data;
	struct history_context *context = userdata;
	struct store *store = context->store;

	if (row->ended_ms) { /* an ended silence: only its id is needed */
		store->recorder->silences.last_id = row->id;
		return 0;
	}
	/* silences_adopt() fails only if there are more rows than a daemon stores */
	if (!is_invalid(context, row_check_silence(row), "silence", row->id))
		(void)silences_adopt(&store->recorder->silences, row);
	return 0;
}

static int load_offer(void *userdata, const void *data)
{
	const struct db_offer *row = data;
	struct history_context *context = userdata;
	struct store *store = context->store;
	struct instant now = clock_now();
	struct offer offer = {
		.id = row->id,
		.created_ms = row->created_ms,
		.changed_ms = row->changed_ms,
		.flavors = {{.terms = {.initial_cap_pct = row->cap_pct,
				       .target_fps = row->target_fps},
			     .fundable_pct = row->funded_pct}},
		.n_flavors = 1,
		.life.probation_ends_ns =
			now.mono_ns + (uint64_t)store->settings.config.offer.probation_s * NS_PER_S,
	};

	if (offer_state_parse(row->state, &offer.life.state) < 0 ||
	    is_invalid(context, row_check_offer(row), "offer", row->id))
		return 0;
	memcpy(offer.gpu, row->gpu, sizeof(offer.gpu));
	memcpy(offer.vgpu, row->vgpu, sizeof(offer.vgpu));
	memcpy(offer.flavors[0].name, row->flavor, sizeof(offer.flavors[0].name));
	snprintf(offer.reason, sizeof(offer.reason), "%.*s", (int)sizeof(offer.reason) - 1,
		 row->reason);
	if (context->state && operator_state_is_withdrawn(context->state, row->id)) {
		offer.withdrawn = true;
		if (offer.life.state == OFFER_OPEN)
			strcpy(offer.reason, OFFERS_WITHDRAWN);
		offer.life.state = OFFER_CLOSED;
	}
	(void)offers_adopt(store->sales->offers,
			   &offer); /* fails only if too many of the offers are live */
	return 0;
}

int load_history(struct store *store, struct db_reader *reader, const struct operator_state *state,
		 struct err *reterr)
{
	struct history_context context = {.store = store, .state = state};
	int r = 0;

	/* An earlier release stored settings and silences in the database only. */
	if (!state) {
		r = db_query_settings(reader, load_stored_setting, &context);
		check_settings(store);
	}
	if (r >= 0 && !state)
		r = db_query_silences(reader, load_silence, &context);
	if (r >= 0)
		r = db_query_decisions(reader, DECISIONS_LOADED, load_decision, &context);
	if (r >= 0)
		r = db_query_alerts(reader, ALERTS_CLEARED_KEPT, load_alert, &context);
	if (r >= 0)
		r = db_query_offers(reader, OFFERS_LOADED, load_offer, &context);
	if (context.invalid > INVALID_LOGGED)
		log_warning("%s: further invalid rows: %d, ignoring them",
			    store->recorder->history.path, context.invalid - INVALID_LOGGED);
	if (r < 0)
		return err_fail(reterr, -r, "%s: cannot be read: %s", store->recorder->history.path,
				strerror(-r));
	return 0;
}

/* The history contains only the flavour that led the offer. */
static void restore_flavors(const struct operator_hold *hold, struct offer *offer)
{
	offer->n_flavors = hold->n_flavors;
	for (int i = 0; i < hold->n_flavors; i++) {
		const struct operator_hold_flavor *stored = &hold->flavors[i];

		offer->flavors[i] = (struct offer_flavor){
			.terms = {.initial_cap_pct = stored->initial_cap_pct,
				  .target_fps = stored->target},
		};
		memcpy(offer->flavors[i].name, stored->flavor, sizeof(offer->flavors[i].name));
	}
}

/* Returns the offer of @hold, restored if the history does not contain it; NULL: it has ended. */
static struct offer *find_held(struct store *store, const struct operator_hold *hold)
{
	struct offer *offer = offers_find(store->sales->offers, hold->offer);
	struct offer lost = {
		.id = hold->offer,
		.created_ms = hold->created_ms,
		.changed_ms = hold->created_ms,
		.life.state = OFFER_OPEN,
	};

	if (offer)
		return offer->life.state == OFFER_OPEN ? offer : NULL;
	memcpy(lost.gpu, hold->gpu, sizeof(lost.gpu));
	return offers_adopt(store->sales->offers, &lost);
}

/* Returns the time until @end_ms, at most @limit_s: the wall clock may have been set meanwhile. */
static uint64_t left_ns(int64_t end_ms, struct instant now, int limit_s)
{
	int64_t left_ms = end_ms - now.wall_ms, limit_ms = (int64_t)limit_s * 1000;

	left_ms = left_ms < 0 ? 0 : left_ms > limit_ms ? limit_ms : left_ms;
	return (uint64_t)left_ms * NS_PER_MS;
}

void load_holds(struct store *store, const struct operator_state *state, struct instant now)
{
	for (size_t i = 0; state && i < state->n_holds; i++) {
		const struct operator_hold *stored = &state->holds[i];
		struct offer_hold hold = {.until_ms = stored->until_ms};
		struct offer *offer;

		if (stored->until_ms <= now.wall_ms)
			continue;
		offer = find_held(store, stored);
		if (!offer)
			continue;
		hold.until_ns = now.mono_ns + left_ns(stored->until_ms, now, OFFERS_HOLD_MAX_S);
		memcpy(hold.holder, stored->holder, sizeof(hold.holder));
		offer->hold = hold;
		restore_flavors(stored, offer);
		offer->expires_ms = stored->expires_ms;
		offer->life.expires_ns = now.mono_ns + left_ns(stored->expires_ms, now,
							       store->settings.config.offer.ttl_s);
		if (offer->life.expires_ns < hold.until_ns)
			offer->life.expires_ns = hold.until_ns;
	}
}
