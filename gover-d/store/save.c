/* SPDX-License-Identifier: MIT */
/*
 * Saves the contracts to the contracts file, and a copy to the database in case the file is lost.
 * At most one job runs. The next job saves the changes that were made meanwhile. When the daemon
 * ends, the worker accepts no jobs, and the event loop writes the file itself.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/xalloc.h"
#include "db/db.h"
#include "gover-d/store/contracts.h"
#include "gover-d/store/save.h"
#include "gover-d/util/log.h"
#include "gover-d/util/worker.h"

/*
 * Each save reserves this many ids above the last used ids. If the history is lost, the next start
 * continues above the reserved ids, so that no id is used twice.
 */
#define IDS_AHEAD 1000

struct save_waiter {
	struct save_request request;
	struct save_waiter *next; /* next waiter in store.waiting or store.in_job */
};

struct save_job {
	/* must be the first member, because the worker returns a pointer to it */
	struct worker_job job;
	struct store *store;
	char path[PATH_MAX];
	int64_t revision;
	bool amended; /* the text contains changes that are not in force yet */
	char *text;
	int result;
};

static int start_save(struct store *store);

static void finish_waiters(struct save_waiter *list, int result)
{
	while (list) {
		struct save_waiter *next = list->next;

		list->request.done(list->request.userdata, result);
		free(list);
		list = next;
	}
}

static void run_save(struct worker_job *job)
{
	struct save_job *save = (struct save_job *)job;

	save->result = file_replace(save->path, save->text, strlen(save->text));
}

static void finish_save(struct store *store, int result)
{
	struct save_waiter *finished = store->in_job;

	if (result < 0 && store->result >= 0)
		log_error("%s: cannot be written: %s", store->contracts_path, file_error(result));
	store->result = result;
	store->in_job = NULL;
	/*
	 * Also a save that could not start counts as running now: all changes that begin in a
	 * callback share the next save.
	 */
	store->running = true;
	finish_waiters(finished, result);
	store->running = false;
	if (store->again) {
		store->again = false;
		result = start_save(store);
		if (result < 0)
			finish_save(store, result);
	}
}

static void save_done(struct worker_job *job)
{
	struct save_job *save = (struct save_job *)job;
	struct store *store = save->store;
	int result = save->result;

	/*
	 * Store the contracts in the database also if the file could not be written, unless they
	 * contain a change that fails for this reason. An error is ignored, because the next save
	 * stores them again.
	 */
	if (store->recorder->history.db && (result >= 0 || !save->amended))
		db_save_contracts(store->recorder->history.db, save->revision, save->text);
	free(save->text);
	free(save);
	finish_save(store, result);
}

static struct db_last_ids last_ids(const struct store *store)
{
	return (struct db_last_ids){
		.decision = decisions_last_id(store->recorder->decisions),
		.alert = alerts_last_id(store->recorder->alerts),
		.offer = offers_last_id(store->sales->offers),
		.audit = store->audit.last_id,
	};
}

struct operator_hold save_hold_of(const struct offer *offer, const struct offer_hold *hold)
{
	struct operator_hold stored = {
		.offer = offer->id,
		.created_ms = offer->created_ms,
		.expires_ms =
			offer->expires_ms > hold->until_ms ? offer->expires_ms : hold->until_ms,
		.until_ms = hold->until_ms,
		.n_flavors = offer->n_flavors,
	};

	memcpy(stored.gpu, offer->gpu, sizeof(stored.gpu));
	memcpy(stored.holder, hold->holder, sizeof(stored.holder));
	for (int i = 0; i < offer->n_flavors; i++) {
		const struct offer_flavor *flavor = &offer->flavors[i];

		stored.flavors[i] = (struct operator_hold_flavor){
			.initial_cap_pct = flavor->terms.initial_cap_pct,
			.target = flavor->terms.target_fps,
		};
		memcpy(stored.flavors[i].flavor, flavor->name, sizeof(flavor->name));
	}
	return stored;
}

/* Adds withdrawn and held offers. */
static void collect_offers(const struct offers *offers, struct operator_state *state,
			   struct instant now)
{
	for (size_t i = 0; i < offers_count(offers); i++) {
		const struct offer *offer = offers_at(offers, i);
		struct operator_hold hold = save_hold_of(offer, &offer->hold);

		if (offer->withdrawn)
			(void)operator_state_add_withdrawn(state, offer->id);
		if (offers_is_held(offer, now))
			(void)operator_state_set_hold(state, &hold);
	}
}

/* Returns the silences, settings, acknowledgements, withdrawals and holds of offers in force. */
static struct operator_state *collect_operator_state(const struct store *store)
{
	struct operator_state *state = operator_state_new();

	if (store->settings.live) {
		json_decref(state->settings);
		state->settings = json_incref(store->settings.live);
	}
	state->silences = store->recorder->silences;
	/* Above a limit, the oldest entries are stored; the history contains the others. */
	for (size_t i = 0; i < alerts_count(store->recorder->alerts); i++) {
		const struct alert *alert = alerts_at(store->recorder->alerts, i);

		if (alert->acked_ms && !alert->cleared_ms)
			(void)operator_state_add_ack(state, alert->id, alert->acked_ms);
	}
	collect_offers(store->sales->offers, state, clock_now());
	return state;
}

/* Makes the changes that wait for this save. Returns 1 if there are any, 0, or a negative errno. */
static int amend(const struct store *store, struct contracts *contracts)
{
	int amended = 0;

	for (const struct save_waiter *w = store->in_job; w; w = w->next) {
		int r = w->request.amend ? w->request.amend(w->request.userdata, contracts) : 0;

		if (r < 0)
			return r;
		amended |= w->request.amend != NULL;
	}
	return amended;
}

static int make_text(struct store *store, struct save_job *save)
{
	int64_t now_ms = clock_now().wall_ms, ahead = store->ending ? 0 : IDS_AHEAD;
	struct db_last_ids last = last_ids(store);
	struct contracts contracts = {0};
	int r;

	contracts_collect(store->host, &contracts);
	sale_keys_expire(&store->keys, now_ms);
	contracts.keys = sale_keys_copy(&store->keys);
	contracts.operator_state = collect_operator_state(store);
	r = amend(store, &contracts);
	if (r < 0) {
		contracts_fini(&contracts);
		return r;
	}
	save->amended = r > 0;
	contracts.head = (struct contracts_head){
		.revision = now_ms > store->revision ? now_ms : store->revision + 1,
		.ids = {last.decision + ahead, last.alert + ahead, last.offer + ahead,
			last.audit + ahead},
	};
	contracts.audit = store->audit;
	save->text = contracts_encode(&contracts);
	contracts.audit = (struct audit_rows){.n = 0}; /* the store keeps the rows */
	store->revision = save->revision = contracts.head.revision;
	store->ids_saved = contracts.head.ids;
	contracts_fini(&contracts);
	return 0;
}

/* Starts a job. All requests in store.waiting then wait for this job. */
static int start_save(struct store *store)
{
	struct save_job *save = xcalloc(1, sizeof(*save));
	int r;

	store->in_job = store->waiting;
	store->waiting = NULL;
	save->job.run = run_save;
	save->job.done = save_done;
	save->store = store;
	memcpy(save->path, store->contracts_path, sizeof(save->path));
	r = make_text(store, save);
	if (r >= 0)
		r = worker_submit(store->saver, &save->job);
	if (r < 0 && r != -ESHUTDOWN) {
		free(save->text);
		free(save);
		return r;
	}
	store->running = true;
	if (r == -ESHUTDOWN) { /* the daemon is ending and the worker accepts no jobs */
		run_save(&save->job);
		save_done(&save->job);
	}
	return 0;
}

static void request_save(struct store *store)
{
	int r;

	if (store->running) {
		store->again = true;
		return;
	}
	r = start_save(store);
	if (r < 0)
		finish_save(store, r);
}

void save_soon(struct store *store)
{
	if (!store->settings.dry_run)
		request_save(store);
}

static bool ids_run_out(const struct store *store)
{
	struct db_last_ids last = last_ids(store);

	return last.decision > store->ids_saved.decision - IDS_AHEAD / 2 ||
	       last.alert > store->ids_saved.alert - IDS_AHEAD / 2 ||
	       last.offer > store->ids_saved.offer - IDS_AHEAD / 2 ||
	       last.audit > store->ids_saved.audit - IDS_AHEAD / 2;
}

void save_tick(struct store *store)
{
	store->ids_checked = true;
	if (store->result < 0 || ids_run_out(store))
		save_soon(store);
}

static void observe_decision(void *userdata, const struct decision *decision)
{
	struct store *store = userdata;

	(void)decision;
	store->ids_checked = false;
}

static void observe_alert(void *userdata, const struct alert *alert, enum alert_event event)
{
	struct store *store = userdata;

	(void)alert, (void)event;
	store->ids_checked = false;
}

static void observe_offer(void *userdata, const struct offer *offer, const char *vm)
{
	struct store *store = userdata;

	(void)offer, (void)vm;
	store->ids_checked = false;
}

const struct observer save_observer = {
	.decision = observe_decision,
	.alert = observe_alert,
	.offer = observe_offer,
};

void save_contracts(struct store *store, const struct save_request *request)
{
	struct save_waiter *waiter;

	if (store->settings.dry_run) { /* a dry run changes memory only */
		request->done(request->userdata, 0);
		return;
	}
	waiter = xcalloc(1, sizeof(*waiter));
	waiter->request = *request;
	waiter->next = store->waiting;
	store->waiting = waiter;
	request_save(store);
}
