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
#include "gover-d/core/save.h"
#include "gover-d/core/state.h"
#include "gover-d/store/contracts.h"
#include "gover-d/util/log.h"

/*
 * Each save reserves this many ids above the last used ids. If the history is lost, the next start
 * continues above the reserved ids, so that no id is used twice.
 */
#define IDS_AHEAD 1000

struct save_waiter {
	void (*done)(void *userdata, int result);
	void *userdata;
	struct save_waiter *next; /* next waiter in manager.waiting or manager.in_job */
};

struct save_job {
	/* must be the first member, because the worker returns a pointer to it */
	struct worker_job job;
	struct manager *manager;
	char path[PATH_MAX];
	int64_t revision;
	bool amended; /* the text contains changes that are not in force yet */
	char *text;
	int result;
};

static int start_save(struct manager *m);

static void finish_waiters(struct save_waiter *list, int result)
{
	while (list) {
		struct save_waiter *next = list->next;

		list->done(list->userdata, result);
		free(list);
		list = next;
	}
}

static void run_save(struct worker_job *job)
{
	struct save_job *save = (struct save_job *)job;

	save->result = file_replace(save->path, save->text, strlen(save->text));
}

static void finish_save(struct manager *m, int result)
{
	struct save_waiter *finished = m->in_job;

	if (result < 0 && m->save_result >= 0)
		log_error("%s: cannot be written: %s", m->contracts_path, strerror(-result));
	m->save_result = result;
	m->in_job = NULL;
	/* The save still counts as running, so that all changes that begin now share the next one.
	 */
	finish_waiters(finished, result);
	m->save_running = false;
	if (m->save_again) {
		m->save_again = false;
		result = start_save(m);
		if (result < 0)
			finish_save(m, result);
	}
}

static void save_done(struct worker_job *job)
{
	struct save_job *save = (struct save_job *)job;
	struct manager *m = save->manager;
	int result = save->result;

	/*
	 * Store the contracts in the database also if the file could not be written, unless they
	 * contain a change that fails for this reason. An error is ignored, because the next save
	 * stores them again.
	 */
	if (m->history.db && (result >= 0 || !save->amended))
		db_save_contracts(m->history.db, save->revision, save->text);
	free(save->text);
	free(save);
	finish_save(m, result);
}

static struct db_last_ids last_ids(const struct manager *m)
{
	return (struct db_last_ids){
		.decision = decisions_last_id(m->decisions),
		.alert = alerts_last_id(m->alerts),
		.offer = offers_last_id(m->offers),
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
static struct operator_state *collect_operator_state(const struct manager *m)
{
	struct operator_state *state = operator_state_new();

	if (m->live_settings) {
		json_decref(state->settings);
		state->settings = json_incref(m->live_settings);
	}
	state->silences = m->silences;
	/* Above a limit, the oldest entries are stored; the history contains the others. */
	for (size_t i = 0; i < alerts_count(m->alerts); i++) {
		const struct alert *alert = alerts_at(m->alerts, i);

		if (alert->acked_ms && !alert->cleared_ms)
			(void)operator_state_add_ack(state, alert->id, alert->acked_ms);
	}
	collect_offers(m->offers, state, clock_now());
	return state;
}

/*
 * Sets @ret_contracts to what is in force, with the changes of m->amend(). Returns 1 if there are
 * such changes, otherwise 0.
 */
static int collect(const struct manager *m, struct contracts *ret_contracts)
{
	int r;

	contracts_collect(&m->host, ret_contracts);
	ret_contracts->operator_state = collect_operator_state(m);
	r = m->amend ? m->amend(m, ret_contracts) : 0;
	if (r < 0)
		contracts_fini(ret_contracts);
	return r;
}

static int make_text(struct manager *m, struct save_job *save)
{
	int64_t now_ms = clock_now().wall_ms, ahead = m->ending ? 0 : IDS_AHEAD;
	struct db_last_ids last = last_ids(m);
	struct contracts contracts = {0};
	int r = collect(m, &contracts);

	if (r < 0)
		return r;
	save->amended = r > 0;
	contracts.head = (struct contracts_head){
		.revision = now_ms > m->revision ? now_ms : m->revision + 1,
		.ids = {last.decision + ahead, last.alert + ahead, last.offer + ahead},
	};
	save->text = contracts_encode(&contracts);
	m->revision = save->revision = contracts.head.revision;
	m->ids_saved = contracts.head.ids;
	contracts_fini(&contracts);
	return 0;
}

/* Starts a job. All requests in manager.waiting then wait for this job. */
static int start_save(struct manager *m)
{
	struct save_job *save = xcalloc(1, sizeof(*save));
	int r;

	m->in_job = m->waiting;
	m->waiting = NULL;
	save->job.run = run_save;
	save->job.done = save_done;
	save->manager = m;
	memcpy(save->path, m->contracts_path, sizeof(save->path));
	r = make_text(m, save);
	if (r >= 0)
		r = worker_submit(m->saver, &save->job);
	if (r < 0 && r != -ESHUTDOWN) {
		free(save->text);
		free(save);
		return r;
	}
	m->save_running = true;
	if (r == -ESHUTDOWN) { /* the daemon is ending and the worker accepts no jobs */
		run_save(&save->job);
		save_done(&save->job);
	}
	return 0;
}

static void request_save(struct manager *m)
{
	int r;

	if (m->save_running) {
		m->save_again = true;
		return;
	}
	r = start_save(m);
	if (r < 0)
		finish_save(m, r);
}

void save_soon(struct manager *m)
{
	if (!m->actuator.dry_run)
		request_save(m);
}

static bool ids_run_out(const struct manager *m)
{
	struct db_last_ids last = last_ids(m);

	return last.decision > m->ids_saved.decision - IDS_AHEAD / 2 ||
	       last.alert > m->ids_saved.alert - IDS_AHEAD / 2 ||
	       last.offer > m->ids_saved.offer - IDS_AHEAD / 2;
}

void save_tick(struct manager *m)
{
	if (m->save_result < 0 || ids_run_out(m))
		save_soon(m);
}

void save_contracts(struct manager *m, void (*done)(void *userdata, int result), void *userdata)
{
	struct save_waiter *waiter;

	if (m->actuator.dry_run) { /* a dry run changes memory only */
		done(userdata, 0);
		return;
	}
	waiter = xcalloc(1, sizeof(*waiter));
	waiter->done = done;
	waiter->userdata = userdata;
	waiter->next = m->waiting;
	m->waiting = waiter;
	request_save(m);
}
