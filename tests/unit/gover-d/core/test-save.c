/* SPDX-License-Identifier: MIT */
/* Contracts reach the disk: one save after another, at the end of the daemon too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/db.h"
#include "gover-d/core/control.h"
#include "gover-d/core/save.h"
#include "gover-d/core/state.h"
#include "gover-d/store/contracts.h"

static struct manager m;
static struct vgpu vgpu;
static char folder[] = "/tmp/gover-save.XXXXXX";
static int answers, last_result;

static void count_answer(void *userdata, int result)
{
	(void)userdata;
	answers++;
	last_result = result;
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	memset(&m, 0, sizeof(m));
	memset(&vgpu, 0, sizeof(vgpu));
	snprintf(m.contracts_path, sizeof(m.contracts_path), "%s/contracts.json", folder);
	strcpy(vgpu.contract.id, "a");
	strcpy(vgpu.contract.gpu, "gpu0");
	vgpu.contract.terms = (struct policy_terms){.initial_cap_pct = 50, .weight = 1};
	vgpu.contract.created_ms = 1700000000000;
	vgpu.contract.labels = json_object();
	strcpy(m.host.gpus[0].config.name, "gpu0");
	host_gpu_insert(&m.host.gpus[0], &vgpu);
	m.host.n_gpus = 1;
	m.decisions = decisions_new(70);
	m.alerts = alerts_new(80, NULL, NULL);
	m.offers = offers_new(90, NULL, NULL);
	answers = 0;
	last_result = 1;
	if (sd_event_new(&m.event) < 0)
		return -1;
	return worker_new(m.event, &m.worker);
}

static int tear_down(void **state)
{
	(void)state;
	worker_free(m.worker);
	sd_event_unref(m.event);
	decisions_free(m.decisions);
	alerts_free(m.alerts);
	offers_free(m.offers);
	contract_fini(&vgpu.contract);
	(void)unlink(m.contracts_path);
	if (rmdir(folder) < 0)
		return -1;
	strcpy(strrchr(folder, '.') + 1, "XXXXXX");
	return 0;
}

/* The cap that the file says was sold; -1: there is no file. */
static int sold(void)
{
	struct contracts contracts = {0};
	int pct = -1;

	if (contracts_load(m.contracts_path, &contracts, NULL) == 0)
		pct = contracts.vgpus[0].contract.terms.initial_cap_pct;
	contracts_fini(&contracts);
	return pct;
}

/* The file as it stands. */
static struct contracts read_file(void)
{
	struct contracts contracts;

	assert_int_equal(contracts_load(m.contracts_path, &contracts, NULL), 0);
	contracts_fini(&contracts); /* its numbers are enough */
	return contracts;
}

static void run_loop_until(int wanted)
{
	while (answers < wanted)
		assert_true(sd_event_run(m.event, UINT64_C(10000000)) > 0);
}

static void a_save_is_answered_when_it_is_on_disk(void **state)
{
	(void)state;
	assert_int_equal(save_contracts(&m, count_answer, NULL), 0);
	assert_int_equal(answers, 0);
	run_loop_until(1);
	assert_int_equal(last_result, 0);
	assert_int_equal(sold(), 50);
}

static void what_changes_meanwhile_is_saved_by_the_next(void **state)
{
	(void)state;
	assert_int_equal(save_contracts(&m, count_answer, NULL), 0);
	vgpu.contract.terms.initial_cap_pct = 40;
	assert_int_equal(save_contracts(&m, count_answer, NULL), 0);
	vgpu.contract.terms.initial_cap_pct = 30;
	assert_int_equal(save_contracts(&m, count_answer, NULL), 0);
	run_loop_until(3);
	assert_int_equal(last_result, 0);
	assert_int_equal(sold(), 30);
}

static void who_waits_when_the_daemon_ends_is_saved_and_answered(void **state)
{
	(void)state;
	assert_int_equal(save_contracts(&m, count_answer, NULL), 0);
	vgpu.contract.terms.initial_cap_pct = 40;
	assert_int_equal(save_contracts(&m, count_answer, NULL), 0);
	m.worker = worker_free(m.worker);
	assert_int_equal(answers, 2);
	assert_int_equal(last_result, 0);
	assert_int_equal(sold(), 40);
}

/* A foreign write is put on hold by the tick, and the daemon is told to stop in the same instant.
 */
static void so_is_what_nobody_waits_for(void **state)
{
	(void)state;
	save_soon(&m);
	vgpu.contract.terms.initial_cap_pct = 40;
	save_soon(&m);
	m.worker = worker_free(m.worker);
	assert_int_equal(sold(), 40);
	assert_int_equal(m.save_result, 0);
}

static void a_disk_that_refuses_is_told_to_all(void **state)
{
	(void)state;
	strcat(m.contracts_path, "/is/no/folder");
	assert_int_equal(save_contracts(&m, count_answer, NULL), 0);
	assert_int_equal(save_contracts(&m, count_answer, NULL), 0);
	m.worker = worker_free(m.worker);
	assert_int_equal(answers, 2);
	assert_int_equal(last_result, -ENOENT);
	assert_int_equal(m.save_result, -ENOENT);
}

/* --- the numbers at its head --- */

static void revisions_grow_also_when_the_clock_goes_back(void **state)
{
	const int64_t tomorrow = clock_now().wall_ms + 86400000;

	(void)state;
	save_soon(&m);
	m.worker = worker_free(m.worker);
	assert_true(read_file().head.revision > 0);
	assert_int_equal(read_file().head.revision, m.revision);
	m.revision = tomorrow; /* a file of a clock that was ahead */
	assert_int_equal(worker_new(m.event, &m.worker), 0);
	save_soon(&m);
	m.worker = worker_free(m.worker);
	assert_int_equal(read_file().head.revision, tomorrow + 1);
}

static void note(void)
{
	(void)decisions_add(m.decisions, &(struct decision){.kind = DECISION_SET,
							    .numbers = json_object(),
							    .moves = json_array()});
}

static void ids_are_noted_before_they_are_given(void **state)
{
	(void)state;
	for (int i = 0; i < 5000; i++) {
		save_tick(&m);
		while (m.save_running)
			assert_true(sd_event_run(m.event, UINT64_C(10000000)) > 0);
		note();
		if (decisions_last_id(m.decisions) > read_file().head.ids.decision)
			fail_msg("decision %lld was given and is not noted",
				 (long long)decisions_last_id(m.decisions));
	}
	assert_true(read_file().head.ids.alert > 80);
	assert_true(read_file().head.ids.offer > 90);
}

static void a_period_without_need_writes_nothing(void **state)
{
	int64_t revision;

	(void)state;
	save_tick(&m);
	while (m.save_running)
		assert_true(sd_event_run(m.event, UINT64_C(10000000)) > 0);
	revision = m.revision;
	for (int i = 0; i < 100; i++) {
		note();
		save_tick(&m);
		assert_false(m.save_running);
	}
	assert_int_equal(m.revision, revision);
}

static void at_the_end_the_ids_are_noted_as_they_are(void **state)
{
	(void)state;
	m.ending = true;
	save_soon(&m);
	m.worker = worker_free(m.worker);
	assert_int_equal(read_file().head.ids.decision, 70);
	assert_int_equal(read_file().head.ids.alert, 80);
	assert_int_equal(read_file().head.ids.offer, 90);
}

/* --- the database --- */

/* Saves with a database beside the file; returns the revision that is in it, -ENOENT: none. */
static int64_t save_beside_database(int *ret_sold)
{
	const struct db_retention retention = {0};
	struct contracts contracts = {0};
	struct db_reader *reader;
	char path[64], *text = NULL;
	int64_t revision = -ENOENT;

	snprintf(path, sizeof(path), "%s/history.db", folder);
	assert_int_equal(db_open(path, &retention, &m.history.db, NULL), 0);
	assert_int_equal(save_contracts(&m, count_answer, NULL), 0);
	m.worker = worker_free(m.worker);
	m.history.db = db_close(m.history.db);
	assert_int_equal(db_reader_open(path, &reader, NULL), 0);
	if (db_query_contracts(reader, &revision, &text) == 0) {
		assert_int_equal(contracts_parse(text, strlen(text), path, &contracts, NULL), 0);
		assert_int_equal(contracts.head.revision, revision);
		*ret_sold = contracts.vgpus[0].contract.terms.initial_cap_pct;
	}
	contracts_fini(&contracts);
	free(text);
	db_reader_close(reader);
	assert_int_equal(unlink(path), 0);
	strcat(path, "-wal");
	(void)unlink(path);
	memcpy(strrchr(path, '-'), "-shm", sizeof("-shm"));
	(void)unlink(path);
	return revision;
}

static void the_database_gets_the_same_text(void **state)
{
	int pct = -1;
	int64_t revision = save_beside_database(&pct);

	(void)state;
	assert_int_equal(revision, m.revision);
	assert_int_equal(read_file().head.revision, m.revision);
	assert_int_equal(pct, 50);
}

static void also_where_the_file_cannot_be_written(void **state)
{
	int64_t revision;
	int pct = -1;

	(void)state;
	strcat(m.contracts_path, "/is/no/folder");
	revision = save_beside_database(&pct);
	assert_int_equal(revision, m.revision);
	assert_int_equal(last_result, -ENOENT);
	assert_int_equal(pct, 50);
}

static void a_dry_run_answers_and_writes_nothing(void **state)
{
	(void)state;
	m.actuator.dry_run = true;
	assert_int_equal(save_contracts(&m, count_answer, NULL), 0);
	assert_int_equal(answers, 1);
	assert_int_equal(last_result, 0);
	save_soon(&m);
	m.worker = worker_free(m.worker);
	assert_int_equal(sold(), -1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_save_is_answered_when_it_is_on_disk),
		TEST(what_changes_meanwhile_is_saved_by_the_next),
		TEST(who_waits_when_the_daemon_ends_is_saved_and_answered),
		TEST(so_is_what_nobody_waits_for),
		TEST(a_disk_that_refuses_is_told_to_all),
		TEST(revisions_grow_also_when_the_clock_goes_back),
		TEST(ids_are_noted_before_they_are_given),
		TEST(a_period_without_need_writes_nothing),
		TEST(at_the_end_the_ids_are_noted_as_they_are),
		TEST(the_database_gets_the_same_text),
		TEST(also_where_the_file_cannot_be_written),
		TEST(a_dry_run_answers_and_writes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
