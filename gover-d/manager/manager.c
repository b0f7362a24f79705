/* SPDX-License-Identifier: MIT */
/* Creates the parts of the daemon in order, runs the loop, and frees them in reverse. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "db/db.h"
#include "gover-d/cap/adopt.h"
#include "gover-d/cap/frames.h"
#include "gover-d/cap/gpus.h"
#include "gover-d/manager/manager.h"
#include "gover-d/manager/parts.h"
#include "gover-d/record/history.h"
#include "gover-d/record/memory-mark.h"
#include "gover-d/record/notify.h"
#include "gover-d/store/contracts.h"
#include "gover-d/store/load.h"
#include "gover-d/store/save.h"
#include "gover-d/tick/learned.h"
#include "gover-d/tick/ledger.h"
#include "gover-d/tick/period.h"
#include "gover-d/tick/promises.h"
#include "gover-d/tick/round.h"
#include "gover-d/util/log.h"

#define TICK_PRIORITY  (SD_EVENT_PRIORITY_IMPORTANT)
#define REQUESTS_SHARE 10 /* after a tick, a tenth of the period is kept free for requests */

/* --- one daemon, one state directory --- */

/* The folder contains contracts and the history, so other users may not read it. */
static int make_state_dir(const char *path)
{
	int r = file_make_parents(path);

	if (r == 0 && mkdir(path, 0750) < 0 && errno != EEXIST)
		r = -errno;
	return r < 0 ? r : file_make_dirs(path);
}

/* Renames @path, so that a new file can be written. @why: why it is no file of the daemon. */
static void set_aside(const char *path, const char *why)
{
	char name[PATH_MAX];
	int r = file_set_aside(path, name);

	if (r < 0)
		log_warning("%s: %s, and cannot be renamed: %s", path, why, strerror(-r));
	else
		log_warning("%s: %s: it was renamed to %s, and a new file begins", path, why, name);
}

static void set_other_aside(const char *path)
{
	if (file_is_other(path))
		set_aside(path, file_error(-EINVAL));
}

/* On a read-only file system, flock() needs no permission to write. The file may be missing. */
static int open_lock(const char *path)
{
	int fd = file_open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);

	if (fd == -EROFS)
		fd = file_open(path, O_RDONLY | O_NOFOLLOW, 0);
	return fd == -ENOENT ? -EROFS : fd;
}

static void warn_unlocked(const char *path, int error)
{
	log_warning("%s cannot be locked: %s: a second gover-d with this state directory would not "
		    "be noticed",
		    path, strerror(error));
}

static int lock_state_dir(const char *state_dir, bool dry_run, int *ret_fd, struct err *reterr)
{
	char path[PATH_MAX + 16];
	CLEANUP_CLOSE int fd = -1;
	int r = make_state_dir(state_dir);

	if (r < 0)
		return err_fail(reterr, -r, "state directory %s cannot be created: %s", state_dir,
				strerror(-r));
	snprintf(path, sizeof(path), "%s/lock", state_dir);
	if (!dry_run)
		set_other_aside(path);
	fd = open_lock(path);
	if (fd == -EROFS) {
		warn_unlocked(path, EROFS);
		return 0;
	}
	if (fd < 0)
		return err_fail(reterr, -fd, "%s cannot be opened: %s", path, file_error(fd));
	r = flock(fd, LOCK_EX | LOCK_NB) < 0 ? errno : 0;
	if (r == EWOULDBLOCK)
		return err_fail(reterr, EBUSY, "another gover-d uses the state directory %s",
				state_dir);
	if (r == ENOLCK || r == EOPNOTSUPP || r == ENOSYS)
		warn_unlocked(path, r);
	else if (r)
		return err_fail(reterr, r, "%s cannot be locked: %s", path, strerror(r));
	*ret_fd = steal_fd(&fd);
	return 0;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/*
 * Finds the highest ids that were ever used. No id may be used twice: a client with a cursor would
 * miss events, and rows of a database that is restored later would be overwritten. If the last ids
 * are unknown, returns the seconds since 1970, which exceed all earlier ids.
 */
static struct db_last_ids find_last_ids(struct manager *m, struct db_reader *reader,
					const struct contracts *contracts)
{
	struct db_last_ids last = {0}, saved = contracts->head.ids;
	int r = reader ? db_query_last_ids(reader, &last) : -ENOENT;

	if (reader && r < 0)
		log_warning("%s: the last ids cannot be read, ignoring", m->recorder.history.path);
	if (contracts->head.revision == 0 &&
	    (r < 0 || m->caps.contracts_lost || m->recorder.history.damaged))
		saved.decision = saved.alert = saved.offer = clock_now().wall_ms / 1000;
	/* a file of an earlier release has no id of the audit log */
	if (r < 0 && saved.audit == 0)
		saved.audit = clock_now().wall_ms / 1000;
	return (struct db_last_ids){
		.decision = larger(last.decision, saved.decision),
		.alert = larger(last.alert, saved.alert),
		.offer = larger(last.offer, saved.offer),
		.audit = larger(last.audit, saved.audit),
	};
}

static void alert_changed(void *userdata, const struct alert *alert, enum alert_event event)
{
	struct manager *m = userdata;

	observers_pass(&m->recorder.observers, alert, alert, event);
}

static bool is_silenced(void *userdata, const struct alert *alert)
{
	const struct manager *m = userdata;

	return silences_match(&m->recorder.silences, alert);
}

static void offer_changed(void *userdata, const struct offer *offer)
{
	struct manager *m = userdata;
	const struct vgpu *vgpu = host_find_vgpu(&m->host, offer->vgpu, NULL);
	const char *vm = vgpu ? vgpu->contract.vm : "";

	observers_pass(&m->recorder.observers, offer, offer, vm);
	/* An offer that has ended must not be restored by its stored hold. */
	if (offer->hold.holder[0] && !offer_is_live(&offer->life))
		save_soon(&m->store);
	if (offer->life.state == OFFER_FAILED)
		observers_pass(&m->recorder.observers, migrate,
			       &(struct migration){.event = "sale_failed",
						   .gpu = offer->gpu,
						   .vgpu = offer->vgpu,
						   .vm = vm,
						   .why = offer->reason});
}

static void load_state(struct manager *m, struct db_reader *reader,
		       const struct contracts *contracts)
{
	struct recorder *recorder = &m->recorder;
	struct db_last_ids last = find_last_ids(m, reader, contracts);
	struct err err = {""};

	recorder->decisions = decisions_new(0); /* loaded decisions keep their ids */
	recorder->alerts = alerts_new(last.alert, alert_changed, m);
	m->sales.alerts = m->notifier.alerts = recorder->alerts;
	m->sales.offers = offers_new(last.offer, offer_changed, m);
	alerts_set_silenced(recorder->alerts, is_silenced);
	alerts_set_update(recorder->alerts, m->store.settings.config.update_s * 1000LL);
	load_operator_state(&m->store, contracts->operator_state);
	if (reader && load_history(&m->store, reader, contracts->operator_state, &err) < 0)
		log_warning("%s, ignoring", err.msg);
	load_holds(&m->store, contracts->operator_state, clock_now());
	decisions_continue_after(recorder->decisions, last.decision);
	m->store.audit.last_id = larger(m->store.audit.last_id, last.audit);
	if (recorder->history.db)
		audit_rows_pass(&m->store.audit, recorder->history.db);
	if (recorder->history.damaged && recorder->silences.last_id == 0)
		recorder->silences.last_id = clock_now().wall_ms / 1000; /* as in find_last_ids() */
	settings_apply(&m->store.settings);
	ledger_store_prices(&m->tick);
}

/* --- the tick --- */

/*
 * Sets the time at which the next tick is due, and returns the time at which it starts. Ticks stay
 * at multiples of the period. If this tick took so long that the next one would start at once, the
 * next one starts one or more periods late, so that the loop always has time for requests.
 */
static uint64_t plan_next_tick(struct manager *m, struct instant begun, uint64_t period_ns)
{
	uint64_t free_ns = clock_now().mono_ns + period_ns / REQUESTS_SHARE, start_ns;

	while (m->tick.next_ns <= begun.mono_ns)
		m->tick.next_ns += period_ns;
	for (start_ns = m->tick.next_ns; start_ns < free_ns;)
		start_ns += period_ns;
	return start_ns;
}

static int on_tick(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct manager *m = userdata;
	uint64_t period_ns = settings_period_ns(&m->store.settings);
	struct instant now = clock_now();
	bool late;

	(void)usec;
	late = now.mono_ns > m->tick.next_ns + period_ns / 2;
	host_count_delay(&m->host.lateness,
			 now.mono_ns > m->tick.next_ns
				 ? (double)(now.mono_ns - m->tick.next_ns) / NS_PER_S
				 : 0);
	if (late)
		m->host.late_ticks++;
	period_run(&m->tick, now, late);
	if (!m->recorder.history.db)
		history_retry_open(&m->recorder.history, &m->store.settings.config.retention,
				   m->queries, now);
	audit_rows_drop_written(&m->store.audit, m->recorder.history.db);
	if (save_is_due(&m->store))
		save_tick(&m->store);
	memory_tick(&m->memory, now.mono_ns);
	(void)sd_event_source_set_time(source, plan_next_tick(m, now, period_ns) / 1000);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int start_ticking(struct manager *m, struct err *reterr)
{
	int r;

	m->tick.next_ns = clock_now().mono_ns + settings_period_ns(&m->store.settings);
	r = sd_event_add_time(m->event, &m->timer, CLOCK_MONOTONIC, m->tick.next_ns / 1000, 1,
			      on_tick, m);
	if (r >= 0)
		r = sd_event_source_set_priority(m->timer, TICK_PRIORITY);
	return r < 0 ? err_fail(reterr, -r, "event loop: %s", strerror(-r)) : 0;
}

static const struct worker_limits saver_limits = {
	.name = "gover-save",
	.threads = 1, /* keeps the order of the saves */
	.waiting_max = 256,
	.client_max = 256,
};

/* With two threads, a long query does not delay short ones. More threads would slow the tick. */
static const struct worker_limits query_limits = {
	.name = "gover-query",
	.threads = 2,
	.waiting_max = 64,
	.client_max = 16,
};

static int make_loop(struct manager *m, struct err *reterr)
{
	sigset_t signals;
	int r;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGHUP); /* reload.c handles it */
	r = -pthread_sigmask(SIG_BLOCK, &signals, NULL);
	if (r >= 0)
		r = sd_event_new(&m->event);
	if (r >= 0)
		r = sd_event_add_signal(m->event, NULL, SIGTERM, NULL, NULL);
	if (r >= 0)
		r = sd_event_add_signal(m->event, NULL, SIGINT, NULL, NULL);
	if (r >= 0)
		r = sd_event_set_watchdog(m->event, 1);
	if (r >= 0)
		r = worker_new(m->event, &saver_limits, &m->store.saver);
	if (r >= 0)
		r = worker_new(m->event, &query_limits, &m->queries);
	return r < 0 ? err_fail(reterr, -r, "event loop: %s", strerror(-r))
		     : notify_open(&m->notifier, m->event, reterr);
}

/* Locks the state directory and opens the cap journal. */
static int open_journal(struct manager *m, struct err *reterr)
{
	const char *state_dir = m->store.settings.config.state_dir;
	char caps_path[PATH_MAX];
	int r;

	if ((size_t)snprintf(m->recorder.history.path, sizeof(m->recorder.history.path),
			     "%s/history.db", state_dir) >= sizeof(m->recorder.history.path) ||
	    (size_t)snprintf(m->store.contracts_path, sizeof(m->store.contracts_path),
			     "%s/contracts.json", state_dir) >= sizeof(m->store.contracts_path) ||
	    (size_t)snprintf(caps_path, sizeof(caps_path), "%s/caps", state_dir) >=
		    sizeof(caps_path))
		return err_fail(reterr, ENAMETOOLONG, "state directory %s: the path is too long",
				state_dir);
	r = lock_state_dir(state_dir, m->store.settings.dry_run, &m->lock_fd, reterr);
	if (r < 0)
		return r;
	if (!m->store.settings.dry_run)
		set_other_aside(caps_path);
	r = cap_journal_open(caps_path, &m->caps.actuator.journal, reterr);
	if (r != -EFBIG || m->store.settings.dry_run)
		return r;
	set_aside(caps_path, "too large for the caps of this host");
	return cap_journal_open(caps_path, &m->caps.actuator.journal, reterr);
}

/* Renames the contracts file, so that the next save does not overwrite the old contracts. */
static void rename_old(const char *path)
{
	char old[PATH_MAX + 8];

	snprintf(old, sizeof(old), "%s.old", path);
	if (rename(path, old) < 0)
		log_warning("%s cannot be renamed to %s: %s, ignoring", path, old, strerror(errno));
	else
		log_notice("%s was renamed to %s", path, old);
}

static void on_history_opened(void *userdata)
{
	struct manager *m = userdata;

	ledger_store_prices(&m->tick);
	history_store_all(&m->recorder.history, m->recorder.alerts, &m->recorder.silences,
			  m->sales.offers);
	audit_rows_pass(&m->store.audit, m->recorder.history.db);
	save_soon(&m->store); /* the new database needs the contracts too */
}

/* Loads the history and the contracts that an earlier daemon left. */
static int load_all(struct manager *m, struct err *reterr)
{
	struct history *history = &m->recorder.history;
	const struct settings *settings = &m->store.settings;
	struct loaded_contracts *loaded = m->loaded;
	struct db_reader *reader;
	int r;

	history->opened = on_history_opened;
	history->userdata = m;
	history_open(history, &settings->config.retention, clock_now());
	reader = history_open_reader(history);
	if (!settings->dry_run)
		set_other_aside(m->store.contracts_path);
	r = load_contracts(&m->store, m->caps.actuator.journal, reader, loaded, reterr);
	m->caps.contracts_lost = loaded->lost;
	if (r >= 0)
		load_state(m, reader, &loaded->contracts);
	db_reader_close(reader);
	if (r >= 0 && loaded->stale && !settings->dry_run)
		rename_old(m->store.contracts_path);
	return r;
}

static void set_view(struct manager *m)
{
	m->view = (struct view){
		.host = &m->host,
		.fleet = &m->fleet,
		.config = &m->store.settings.config,
		.file_config = &m->store.settings.file_config,
		.restart_keys = &m->store.settings.restart_keys,
		.decisions = m->recorder.decisions,
		.alerts = m->recorder.alerts,
		.silences = &m->recorder.silences,
		.offers = m->sales.offers,
		.sales = &m->sales,
		.history = &m->recorder.history,
		.frames = &m->caps.frames,
		.hook_stats = hooks_stats(m->notifier.hooks),
		.webhook = m->notifier.webhook,
		.saver = m->store.saver,
		.queries = m->queries,
		.generation = &m->recorder.observers.generation,
		.dry_run = m->store.settings.dry_run,
	};
}

static int add_observers(struct manager *m)
{
	int r = observers_add(&m->recorder.observers, &notify_log_observer, NULL);

	if (r >= 0)
		r = observers_add(&m->recorder.observers, &notify_observer, &m->notifier);
	if (r >= 0)
		r = observers_add(&m->recorder.observers, &history_observer, &m->recorder.history);
	if (r >= 0)
		r = observers_add(&m->recorder.observers, &save_observer, &m->store);
	return r;
}

static int set_up(struct manager *m, struct err *reterr)
{
	int r;

	m->tick.round = xcalloc(1, sizeof(*m->tick.round));
	m->loaded = xcalloc(1, sizeof(*m->loaded));
	r = add_observers(m);
	if (r >= 0)
		r = open_journal(m, reterr);
	if (r < 0)
		return r;
	memory_mark_open(m->store.settings.config.state_dir);
	r = make_loop(m, reterr);
	if (r >= 0)
		r = load_all(m, reterr);
	if (r >= 0)
		set_view(m);
	return r;
}

int manager_new(const struct config *config, bool dry_run, struct manager **ret_manager,
		struct err *reterr)
{
	struct manager *m = xcalloc(1, sizeof(*m));
	struct settings *settings = &m->store.settings;
	int r;

	m->lock_fd = -1;
	manager_wire(m);
	settings->config = settings->file_config = *config;
	settings->dry_run = dry_run;
	m->host.started = clock_now();
	r = set_up(m, reterr);
	if (r < 0) {
		manager_free(m);
		return r;
	}
	*ret_manager = m;
	return 0;
}

int manager_start(struct manager *m, struct err *reterr)
{
	const struct config *config = &m->store.settings.config;
	struct contracts *contracts = &m->loaded->contracts;
	struct host *host = &m->host;
	int r = adopt_check(&m->caps, contracts, reterr);

	if (r >= 0)
		r = gpus_open(host, config, contracts, m->store.settings.dry_run, reterr);
	if (r >= 0)
		learned_load_migrations(&m->tick, contracts);
	if (r >= 0)
		r = adopt_host(&m->caps, contracts, clock_now(), reterr);
	contracts_fini(contracts);
	if (r >= 0) {
		ledger_load_tallies(&m->tick);
		promises_resume(&m->tick);
		learned_load(&m->tick, clock_now());
	}
	for (int i = 0; r >= 0 && i < host->n_gpus; i++)
		if (host_gpu_take_caps_check(&host->gpus[i]))
			round_adopt_caps(&m->tick, &host->gpus[i], clock_now());
	for (int i = 0; r >= 0 && i < host->n_gpus; i++)
		if (host->gpus[i].state == GPU_OPEN)
			gpus_open_igt(&host->gpus[i], config);
	if (r >= 0)
		r = frames_open(&m->caps.frames, config, host, m->event, reterr);
	if (r >= 0)
		r = start_ticking(m, reterr);
	/*
	 * Write the same contracts to the file and the database. If contracts are lost, the first
	 * tick saves instead, after it has found the existing vGPUs.
	 */
	if (r >= 0 && !m->caps.contracts_lost)
		save_soon(&m->store);
	return r;
}

sd_event *manager_event(struct manager *m)
{
	return m->event;
}

const struct view *manager_view(const struct manager *m)
{
	return &m->view;
}

struct changes *manager_changes(struct manager *m)
{
	return &m->changes;
}

int manager_observe(struct manager *m, const struct observer *observer, void *userdata)
{
	return observers_add(&m->recorder.observers, observer, userdata);
}

void manager_stop(struct manager *m)
{
	m->timer = sd_event_source_unref(m->timer);
	/* The queries are interrupted and answered; then the files are written. */
	m->queries = worker_free(m->queries);
	m->store.saver = worker_free(m->store.saver);
	if (m->store.ending && m->store.result < 0)
		log_error("%s: the newest changes could not be saved: %s", m->store.contracts_path,
			  file_error(m->store.result));
	m->recorder.observers.n = 0;
}

struct manager *manager_free(struct manager *m)
{
	if (!m)
		return NULL;
	if (m->store.saver)
		manager_stop(m);
	ledger_flush(&m->tick);
	ledger_store_tallies(&m->tick, clock_now().wall_ms);
	frames_close(&m->caps.frames);
	gpus_close(&m->host);
	cap_journal_close(m->caps.actuator.journal);
	offers_free(m->sales.offers);
	alerts_free(m->recorder.alerts);
	decisions_free(m->recorder.decisions);
	webhook_free(m->notifier.webhook);
	hooks_free(m->notifier.hooks);
	json_decref(m->store.settings.live);
	json_decref(m->store.settings.restart_keys);
	sale_keys_fini(&m->store.keys);
	audit_rows_fini(&m->store.audit);
	db_close(m->recorder.history.db);
	sd_event_unref(m->event);
	if (m->lock_fd >= 0)
		(void)close(m->lock_fd);
	if (m->loaded)
		contracts_fini(&m->loaded->contracts);
	free(m->loaded);
	free(m->tick.round);
	free(m);
	return NULL;
}

int manager_run(struct manager *m)
{
	const struct settings *settings = &m->store.settings;
	const struct config *config = &settings->config;
	const char *dry_run = settings->dry_run ? ", dry run" : "";
	int r;

	(void)sd_notifyf(0, "READY=1\nSTATUS=%d GPUs, period %d ms%s", m->host.n_gpus,
			 config->period_ms, dry_run);
	log_event(SD_NOTICE, &(struct log_fields){.kind = LOG_READY},
		  "ready on %s: %d GPUs, period %d ms%s", config->socket, m->host.n_gpus,
		  config->period_ms, dry_run);
	r = sd_event_loop(m->event);
	(void)sd_notify(0, "STOPPING=1");
	log_event(SD_NOTICE, &(struct log_fields){.kind = LOG_STOPPING},
		  "stopping; the caps stay in force");
	m->store.ending = true;
	save_soon(&m->store); /* saves the last ids and all unsaved changes */
	return r;
}

static int restore_vgpu(struct manager *m, struct contract *contract, struct instant now)
{
	struct host_gpu *gpu = host_find_gpu(&m->host, contract->gpu);
	struct vgpu vgpu = {.contract = *contract};
	struct err err = {""};
	int r;

	if (!gpu) {
		log_error("vGPU %s: GPU %s is not configured", contract->id, contract->gpu);
		return -ENOENT;
	}
	r = gpu_io_attach(gpu->io, contract->id, now.mono_ns, &vgpu.device, &err);
	if (r == -ENOENT) {
		log_notice("vGPU %s does not exist: nothing to restore", contract->id);
		return 0;
	}
	if (r >= 0)
		r = actuate_restore(gpu, &vgpu, now);
	gpu_io_detach(gpu->io, vgpu.device);
	if (r < 0)
		log_error("vGPU %s: the initial cap of %d %% cannot be set: %s", contract->id,
			  contract->terms.initial_cap_pct, err.msg[0] ? err.msg : strerror(-r));
	else
		log_notice("vGPU %s: the initial cap of %d %% is set", contract->id,
			   contract->terms.initial_cap_pct);
	return r;
}

int manager_restore(const struct config *config, struct err *reterr)
{
	struct manager *m = xcalloc(1, sizeof(*m));
	struct config *opened = &m->store.settings.config;
	struct loaded_contracts loaded = {.stale = false};
	struct instant now = clock_now();
	struct db_reader *reader = NULL;
	int r, failed = 0, closed = 0;

	m->lock_fd = -1;
	manager_wire(m);
	*opened = *config;
	m->host.patience.max_ns = 10 * NS_PER_S; /* no loop waits for a restore */
	/* An initial cap is written whether caps are guarantees or limits. */
	for (int i = 0; i < opened->n_gpus; i++)
		opened->gpus[i].gpu.any_sharing = true;
	r = open_journal(m, reterr);
	if (r >= 0) {
		/* the database may be missing */
		(void)db_reader_open(m->recorder.history.path, &reader, NULL);
		set_other_aside(m->store.contracts_path);
		r = load_contracts(&m->store, m->caps.actuator.journal, reader, &loaded, reterr);
		db_reader_close(reader);
	}
	if (r >= 0 && loaded.lost)
		r = err_fail(reterr, ENOENT, "%s is missing: --restore needs the contracts",
			     m->store.contracts_path);
	if (r >= 0) {
		/* If one GPU cannot be opened, the other GPUs are still restored. */
		closed = gpus_open_some(&m->host, opened, &loaded.contracts);
		for (size_t i = 0; i < loaded.contracts.n_vgpus; i++)
			failed += restore_vgpu(m, &loaded.contracts.vgpus[i].contract, now) < 0;
		if (failed || closed)
			r = err_fail(reterr, EIO,
				     "%d vGPUs could not be restored, %d GPUs could not be opened",
				     failed, closed);
	}
	contracts_fini(&loaded.contracts);
	manager_free(m);
	return r;
}
