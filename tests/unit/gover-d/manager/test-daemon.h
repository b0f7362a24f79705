/* SPDX-License-Identifier: MIT */
/*
 * Runs the whole daemon in a temporary folder: start, stop, requests, and what it decided and
 * saved. The test calls each tick and sets its time.
 */
#ifndef TESTS_UNIT_GOVER_D_MANAGER_TEST_DAEMON_H
#define TESTS_UNIT_GOVER_D_MANAGER_TEST_DAEMON_H
#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "gover-d/change/control.h"
#include "gover-d/manager/manager.h"
#include "gover-d/manager/parts.h"
#include "gover-d/store/save.h"
#include "gover-d/tick/period.h"
#include "tests/unit/gover-d/change/test-change.h"
#include "tests/unit/temp-folder.h"
#include "tests/unit/unit.h"

static struct config config;
static struct instant now; /* the time never goes back, also when the daemon restarts */
static struct manager *m;
static struct host_gpu *gpu;
static struct err err;

/* Makes the folder of the test, and a configuration with one GPU of backend "sim". */
static inline int prepare_daemon(void)
{
	if (temp_folder_make() < 0)
		return -1;
	config_default(&config);
	snprintf(config.state_dir, sizeof(config.state_dir), "%s/state", temp_folder);
	snprintf(config.socket, sizeof(config.socket), "%s/gover.sock", temp_folder);
	snprintf(config.fps_socket, sizeof(config.fps_socket), "%s/fps.sock", temp_folder);
	strcpy(config.gpus[0].gpu.backend, "sim");
	now = clock_now();
	return 0;
}

static inline void start_daemon(bool dry_run)
{
	err.msg[0] = '\0';
	assert_int_equal(manager_new(&config, dry_run, &m, &err), 0);
	assert_int_equal(manager_start(m, &err), 0);
	/* Only the test runs ticks. */
	assert_true(sd_event_source_set_enabled(m->timer, SD_EVENT_OFF) >= 0);
	gpu = &m->host.gpus[0];
	change_event = m->event;
}

static inline void start(void)
{
	start_daemon(false);
}

static inline void start_dry_run(void)
{
	start_daemon(true);
}

static inline void stop_daemon(void)
{
	m = manager_free(m);
	gpu = NULL;
}

static inline void restart(void)
{
	stop_daemon();
	start();
}

static inline int tear_down(void)
{
	stop_daemon();
	return temp_folder_remove();
}

static inline void wait_for_saves(void)
{
	while (m->store.running)
		assert_true(sd_event_run(m->event, UINT64_MAX) >= 0);
}

static inline void save_now(void)
{
	save_soon(&m->store);
	wait_for_saves();
}

static inline struct vgpu *vgpu(const char *id)
{
	struct vgpu *found = host_find_vgpu(&m->host, id, NULL);

	assert_non_null(found);
	return found;
}

static inline struct contract contract_of(const char *id, int initial_cap_pct)
{
	struct contract contract = {
		.gpu = "gpu0",
		.terms = {.initial_cap_pct = initial_cap_pct, .weight = 1},
		.labels = json_object(),
	};

	assert_int_equal(id_copy(contract.id, id), 0);
	return contract;
}

/* Each of these functions waits for the end of the change and returns its result. */

static inline int add(struct contract contract)
{
	int r = await_change(control_vgpu_add(&m->changes, &no_key, 0, &contract, at_end, &err));

	if (r != 0)
		contract_fini(&contract);
	return r;
}

static inline int change(const char *id, unsigned int fields, struct contract values)
{
	return await_change(control_vgpu_change(&m->changes, id, fields, &values, at_end, &err));
}

static inline int set_initial_cap(const char *id, int initial_cap_pct)
{
	return change(id, CONTRACT_INITIAL_CAP,
		      (struct contract){.terms = {.initial_cap_pct = initial_cap_pct}});
}

static inline int release(const char *id)
{
	return change(id, CONTRACT_HELD, (struct contract){.held = false});
}

/* Takes ownership of @values. */
static inline int change_policy(json_t *values)
{
	int r = await_change(control_policy_change(&m->changes, values, at_end, &err));

	json_decref(values);
	return r;
}

static inline int remove_vgpu(const char *id)
{
	return await_change(control_vgpu_remove(&m->changes, id, at_end, &err));
}

static inline int change_mode(enum gpu_mode mode)
{
	return await_change(control_gpu_change(&m->changes, "gpu0", &mode, NULL, at_end, &err));
}

/* @key: "": none */
static inline int claim(int64_t offer, const char *key, const char *id)
{
	json_t *body = json_pack("{s:s}", "id", id);
	const struct control_claim claim = {
		.offer = offer,
		.key = {"root", key[0] ? key : NULL, body},
	};
	struct contract contract = {.labels = json_object()};
	int r;

	strcpy(contract.id, id);
	r = await_change(control_offer_claim(&m->changes, &claim, &contract, at_end, &err));
	json_decref(body);
	return r;
}

static inline int hold(const char *id, int cap_pct)
{
	int r = change(id, CONTRACT_HELD | CONTRACT_HELD_CAP,
		       (struct contract){.held = true, .held_cap_pct = cap_pct});

	save_now();
	return r;
}

/*
 * Returns the active alert; NULL: none. @id: id of the vGPU; "": the alert is about the GPU or the
 * host; NULL: any subject.
 */
static inline const struct alert *find_active_alert(enum alert_kind kind, const char *id)
{
	for (size_t i = 0; i < alerts_count(m->recorder.alerts); i++) {
		const struct alert *alert = alerts_at(m->recorder.alerts, i);

		if (alert->kind == kind && !alert->cleared_ms &&
		    (!id || strcmp(alert->vgpu, id) == 0))
			return alert;
	}
	return NULL;
}

/* Checks that the alert is active and its text contains @words. */
static inline const struct alert *expect_alert(enum alert_kind kind, const char *id,
					       const char *words)
{
	const struct alert *alert = find_active_alert(kind, id);

	assert_non_null(alert);
	if (!strstr(alert->text, words))
		fail_msg("the alert is '%s'", alert->text);
	return alert;
}

/* Returns the live offer of the GPU, which must exist. */
static inline struct offer *live_offer(void)
{
	struct offer *offer = offers_live(m->sales.offers, "gpu0");

	assert_non_null(offer);
	return offer;
}

static inline void expect_closed(const struct offer *offer, const char *reason)
{
	assert_int_equal(offer->life.state, OFFER_CLOSED);
	assert_non_null(strstr(offer->reason, reason));
}

/* Counts the decisions of @kind with @result. @result NULL: any result. */
static inline int count_decisions(const char *kind, const char *result)
{
	int n = 0;

	for (const struct decision *d = decisions_after(m->recorder.decisions, 0); d;
	     d = decisions_after(m->recorder.decisions, d->id))
		n += strcmp(decision_kind_name(d->kind), kind) == 0 &&
		     (!result || strcmp(decision_result_name(d->result), result) == 0);
	return n;
}

/* --- state files --- */

static inline const char *state_path(const char *name)
{
	static char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", config.state_dir, name);
	return path;
}

/* Checks that the last and the intended cap in the cap journal on disk are @cap_pct. */
static inline void expect_journal(const char *id, int cap_pct)
{
	struct cap_journal *journal;
	int last_pct, intent_pct;

	if (m)
		assert_int_equal(cap_journal_flush(m->caps.actuator.journal), 0);
	assert_int_equal(cap_journal_open(state_path("caps"), &journal, &err), 0);
	assert_true(cap_journal_get(journal, id, &last_pct, &intent_pct));
	assert_int_equal(last_pct, cap_pct);
	assert_int_equal(intent_pct, cap_pct);
	cap_journal_close(journal);
}

static inline void delete_contracts_file(void)
{
	assert_int_equal(unlink(state_path("contracts.json")), 0);
}

static inline void delete_database(void)
{
	assert_int_equal(unlink(state_path("history.db")), 0);
}

static inline void change_database(const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(state_path("history.db"), &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static inline char *read_state(const char *name)
{
	char *text = NULL;

	assert_int_equal(file_read(state_path(name), 1 << 20, &text, NULL), 0);
	return text;
}

/* Checks whether the contracts file contains @text, without running the event loop. */
static inline bool contracts_file_contains(const char *text)
{
	CLEANUP_FREE char *file = NULL;

	return file_read(state_path("contracts.json"), 1 << 20, &file, NULL) == 0 &&
	       strstr(file, text);
}

static inline void write_contracts(const char *text)
{
	assert_int_equal(file_replace(state_path("contracts.json"), text, strlen(text)), 0);
}

static inline bool state_file_exists(const char *name)
{
	return access(state_path(name), F_OK) == 0;
}

/*
 * Stops the daemon as SIGTERM does, with a last save. stop_daemon() alone leaves the files as after
 * a crash.
 */
static inline void stop_by_sigterm(void)
{
	assert_int_equal(kill(getpid(), SIGTERM), 0);
	assert_int_equal(manager_run(m), 0);
	stop_daemon();
}

#endif
