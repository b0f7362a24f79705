/* SPDX-License-Identifier: MIT */
/* Opens the history database, and stores decisions, alerts, silences, offers and samples. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "gover-d/record/history.h"
#include "gover-d/util/log.h"
#include "gover-d/util/worker.h"

/*
 * Pause between two tries to open the database. A try blocks the worker for at most 250 ms, the
 * timeout of the database lock.
 */
#define RETRY_NS      (5 * NS_PER_S)
#define FAILING_TICKS 3	 /* ticks in which the alert is reported after records were dropped */
#define CLOCK_STEP_S  10 /* smaller steps of the clock are not logged */

struct open_job {
	/* must be the first member, because the worker returns a pointer to it */
	struct worker_job job;
	struct history *history;
	char path[PATH_MAX];
	struct db_retention retention;
	struct db *db; /* NULL: opening failed, see @err */
	struct err err;
};

/* Returns true if the writer has opened another file since the last call. */
static bool watch_file(struct history *history, const struct db_stats *stats)
{
	bool replaced = stats->replaced != history->replaced_seen;

	if (stats->no_log && !history->no_log)
		log_notice("%s: the file system has no shared mappings: the database has no WAL, "
			   "and queries and writes wait for each other",
			   history->path);
	history->no_log = stats->no_log;
	if (stats->set_aside != history->set_aside_seen)
		log_warning("%s: damaged (%s): set aside as %s; a new file begins", history->path,
			    stats->set_aside_why, stats->set_aside_name);
	history->set_aside_seen = stats->set_aside;
	history->replaced_seen = stats->replaced;
	history->damaged = stats->damaged.database;
	return replaced;
}

/*
 * The first record of a run is a reading of the clocks. A row before it would be pruned if the wall
 * clock jumped before the first tick.
 */
static void append_clock(struct history *history, struct instant now)
{
	/* db/ counts the record as dropped if its queue is full */
	(void)db_append_clock(history->db, now.wall_ms, now.boot_ns);
}

void history_open(struct history *history, const struct db_retention *retention, struct instant now)
{
	struct db_stats stats;
	struct err err = {""};

	if (db_open(history->path, retention, &history->db, &err) == 0) {
		append_clock(history, now);
		db_stats(history->db, &stats);
		(void)watch_file(history, &stats);
		return;
	}
	history->db = NULL;
	snprintf(history->error, sizeof(history->error), "%s", err.msg);
	log_warning("%s; continuing without history", err.msg);
}

struct db_reader *history_open_reader(const struct history *history)
{
	struct db_reader *reader = NULL;
	struct err err = {""};

	/* If db_open() failed too, its error was already logged. */
	if (db_reader_open(history->path, &reader, &err) < 0 && history->db)
		log_warning("%s, ignoring", err.msg);
	return reader;
}

static void run_open(struct worker_job *job)
{
	struct open_job *open = (struct open_job *)job;

	if (db_open(open->path, &open->retention, &open->db, &open->err) < 0)
		open->db = NULL;
}

static void open_done(struct worker_job *job)
{
	struct open_job *open = (struct open_job *)job;
	struct history *history = open->history;
	struct db_stats stats;

	history->opening = false;
	history->db = open->db;
	if (open->db) {
		log_notice("%s is available again", history->path);
		append_clock(history, clock_now());
		history->replaced_seen = history->set_aside_seen = history->lost_seen = 0;
		db_stats(history->db, &stats);
		(void)watch_file(history, &stats);
		history->opened(history->userdata);
	} else {
		memcpy(history->error, open->err.msg, sizeof(history->error));
	}
	free(open);
}

void history_retry_open(struct history *history, const struct db_retention *retention,
			struct worker *worker, struct instant now)
{
	struct open_job *open;

	if (history->db || history->opening || now.mono_ns < history->retry_ns)
		return;
	history->retry_ns = now.mono_ns + RETRY_NS;
	open = xcalloc(1, sizeof(*open));
	open->job.run = run_open;
	open->job.done = open_done;
	open->history = history;
	memcpy(open->path, history->path, sizeof(open->path));
	open->retention = *retention;
	history->opening = worker_submit(worker, &open->job) == 0;
	if (!history->opening)
		free(open);
}

/* --- the observer; if the queue is full, db/ counts the dropped rows --- */

/* Copies @detail. If it is too long, omits the moves, because table cap_write contains them too. */
static void copy_detail(const char *detail, char *to, size_t size)
{
	json_t *shorter;
	char *text;

	if (strlen(detail) < size) {
		strcpy(to, detail);
		return;
	}
	shorter = json_loadb(detail, strlen(detail), 0, NULL);
	(void)json_object_set_new(shorter, "moves", json_array());
	text = json_dumps(shorter, JSON_COMPACT);
	if (text && strlen(text) < size)
		strcpy(to, text);
	free(text);
	json_decref(shorter);
}

static void store_decision(void *userdata, const struct decision *d)
{
	const struct history *history = userdata;
	struct db_decision row = {.id = d->id, .ts_ms = d->ts_ms};

	if (!history->db)
		return;
	memcpy(row.gpu, d->gpu, sizeof(row.gpu));
	snprintf(row.kind, sizeof(row.kind), "%s", decision_kind_name(d->kind));
	memcpy(row.vgpu, d->vgpu, sizeof(row.vgpu));
	memcpy(row.donor, d->donor, sizeof(row.donor));
	snprintf(row.result, sizeof(row.result), "%s", decision_result_name(d->result));
	snprintf(row.why, sizeof(row.why), "%s", d->why);
	copy_detail(d->detail, row.detail_json, sizeof(row.detail_json));
	(void)db_append_decision(history->db, &row);
}

static void store_alert(void *userdata, const struct alert *alert, enum alert_event event)
{
	const struct history *history = userdata;
	struct db_alert row = {
		.id = alert->id,
		.raised_ms = alert->raised_ms,
		.cleared_ms = alert->cleared_ms,
		.acked_ms = alert->acked_ms,
	};

	(void)event;
	if (!history->db)
		return;
	snprintf(row.name, sizeof(row.name), "%s", alert->name);
	memcpy(row.gpu, alert->gpu, sizeof(row.gpu));
	memcpy(row.vgpu, alert->vgpu, sizeof(row.vgpu));
	snprintf(row.severity, sizeof(row.severity), "%s", alert_severity_name(alert->severity));
	snprintf(row.text, sizeof(row.text), "%s", alert->text);
	memcpy(row.vm, alert->vm, sizeof(row.vm));
	memcpy(row.cause, alert->cause, sizeof(row.cause));
	memcpy(row.acked_by, alert->acked_by, sizeof(row.acked_by));
	(void)db_append_alert(history->db, &row);
}

static void store_silence(void *userdata, const struct db_silence *silence)
{
	const struct history *history = userdata;

	if (history->db)
		(void)db_append_silence(history->db, silence);
}

static void store_offer(void *userdata, const struct offer *offer, const char *vm)
{
	const struct history *history = userdata;
	const struct offer_flavor *leading = &offer->flavors[0];
	struct db_offer row = {
		.id = offer->id,
		.created_ms = offer->created_ms,
		.changed_ms = offer->changed_ms,
		.cap_pct = leading->terms.initial_cap_pct,
		.funded_pct = leading->fundable_pct,
		.target_fps = leading->terms.target_fps,
	};

	(void)vm;
	if (!history->db)
		return;
	memcpy(row.gpu, offer->gpu, sizeof(row.gpu));
	memcpy(row.vgpu, offer->vgpu, sizeof(row.vgpu));
	memcpy(row.flavor, leading->name, sizeof(row.flavor));
	snprintf(row.state, sizeof(row.state), "%s", offer_state_name(offer->life.state));
	snprintf(row.reason, sizeof(row.reason), "%s", offer->reason);
	(void)db_append_offer(history->db, &row);
}

void history_store_all(struct history *history, const struct alerts *alerts,
		       const struct silences *silences, const struct offers *offers)
{
	for (size_t i = 0; i < alerts_count(alerts); i++)
		if (alerts_at(alerts, i)->cleared_ms == 0)
			store_alert(history, alerts_at(alerts, i), ALERT_RAISED);
	for (int i = 0; i < silences->n; i++)
		store_silence(history, &silences->list[i]);
	for (size_t i = 0; i < offers_count(offers); i++)
		if (offer_is_live(&offers_at(offers, i)->life))
			store_offer(history, offers_at(offers, i), /* vm= */ NULL);
}

static void hold_failing(struct history *history, const struct db_stats *stats,
			 struct alerts *alerts, int64_t ms)
{
	if (stats->dropped != history->dropped_seen) {
		history->dropped_seen = stats->dropped;
		history->failing_ticks = FAILING_TICKS;
		history->lost_file = NULL;
	}
	if (stats->lost_files != history->lost_seen) {
		history->lost_seen = stats->lost_files;
		history->failing_ticks = FAILING_TICKS;
		history->lost_file = stats->lost_file;
	}
	if (history->failing_ticks == 0 && !stats->last_error)
		return;
	history->failing_ticks -= history->failing_ticks > 0;
	if (!stats->last_error && history->lost_file) {
		alerts_hold(alerts, ALERT_HISTORY_FAILING, NULL, NULL, ms,
			    "%s%s was deleted or replaced by another program; no record was lost",
			    history->path, history->lost_file);
		return;
	}
	alerts_hold(alerts, ALERT_HISTORY_FAILING, NULL, NULL, ms, "%s: %llu records lost: %s",
		    history->path, (unsigned long long)stats->dropped,
		    stats->last_message[0] ? stats->last_message : "the writer is too slow");
}

static void hold_conditions(void *userdata, struct alerts *alerts, struct instant now)
{
	struct history *history = userdata;
	struct db_stats stats;

	if (!history->db) {
		alerts_hold(alerts, ALERT_HISTORY_FAILING, NULL, NULL, now.wall_ms, "%s",
			    history->error);
		return;
	}
	db_stats(history->db, &stats);
	if (stats.damaged.n > 0)
		alerts_hold(alerts, ALERT_HISTORY_DAMAGED, NULL, NULL, now.wall_ms,
			    "damaged files are set aside, the newest as %s; copy "
			    "or remove them",
			    stats.damaged.names[stats.damaged.n - 1]);
	hold_failing(history, &stats, alerts, now.wall_ms);
	if (watch_file(history, &stats))
		history->opened(history->userdata);
}

static struct db_sample sample_of(const struct host_gpu *gpu, const struct vgpu *v, bool gap,
				  struct instant now)
{
	struct db_sample sample = {
		.ts_ms = now.wall_ms,
		.sample = v->row.sample,
		.cap_pct = v->sampled_cap_pct,
		.initial_cap_pct = v->contract.terms.initial_cap_pct,
		.target_fps = host_terms(gpu, &v->contract).target_fps,
		.short_of_target = v->view.short_of_target,
		.broken = v->view.broken,
		.gap = gap,
	};

	memcpy(sample.vgpu, v->contract.id, sizeof(sample.vgpu));
	memcpy(sample.gpu, gpu->config.name, sizeof(sample.gpu));
	return sample;
}

static void store_gpu(struct db *db, const struct host_gpu *gpu, bool gap, struct instant now)
{
	struct db_gpu_sample sample = {
		.ts_ms = now.wall_ms,
		.util_pct = gpu->util_pct,
		.load_pct = gpu->view.total_load * 100,
		.sum_cap_pct = host_gpu_sum_cap_pct(gpu),
		.sum_initial_cap_pct = host_gpu_sum_initial_cap_pct(gpu),
		.vgpus = gpu->n_vgpus,
		.gap = gap,
	};
	struct db_sample vgpus[POLICY_VGPUS_MAX];
	int n = 0;

	memcpy(sample.gpu, gpu->config.name, sizeof(sample.gpu));
	for (const struct vgpu *v = gpu->vgpus; v && n < POLICY_VGPUS_MAX; v = v->next)
		if (v->device)
			vgpus[n++] = sample_of(gpu, v, gap, now);
	(void)db_append_samples(db, &sample, vgpus, n);
}

/* Logs a step of the wall clock, because it changes the times of all later rows. */
static void log_clock_step(const struct instant *before, struct instant now)
{
	int64_t passed_ms = (int64_t)((now.boot_ns - before->boot_ns) / NS_PER_MS);
	double step_s = (double)(now.wall_ms - before->wall_ms - passed_ms) / 1000;

	if (before->boot_ns > 0 && fabs(step_s) >= CLOCK_STEP_S)
		log_warning("the clock was set %s by %.0f s", step_s < 0 ? "back" : "forward",
			    fabs(step_s));
}

static void store_tick(void *userdata, const struct host *host, bool gap, struct instant now)
{
	struct history *history = userdata;

	log_clock_step(&history->ticked, now);
	history->ticked = now;
	if (!history->db)
		return;
	append_clock(history, now);
	for (int i = 0; i < host->n_gpus; i++)
		store_gpu(history->db, &host->gpus[i], gap, now);
	db_commit(history->db);
}

const struct observer history_observer = {
	.decision = store_decision,
	.alert = store_alert,
	.silence = store_silence,
	.offer = store_offer,
	.conditions = hold_conditions,
	.tick = store_tick,
};
