/* SPDX-License-Identifier: MIT */
/* Saving of contracts: one save at a time, also when the daemon exits. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/db.h"
#include "gover-d/change/control.h"
#include "gover-d/manager/parts.h"
#include "gover-d/store/contracts.h"
#include "gover-d/store/save.h"
#include "tests/unit/unit.h"

static struct manager m;
static struct vgpu vgpu;
static char folder[] = "/tmp/gover-save.XXXXXX";
static int replies, last_result;

static void count_reply(void *userdata, int result)
{
	(void)userdata;
	replies++;
	last_result = result;
}

static const struct worker_limits limits = {
	.name = "test", .threads = 1, .waiting_max = 256, .client_max = 256};

static int set_up(void)
{
	if (!mkdtemp(folder))
		return -1;
	memset(&m, 0, sizeof(m));
	manager_wire(&m);
	memset(&vgpu, 0, sizeof(vgpu));
	snprintf(m.store.contracts_path, sizeof(m.store.contracts_path), "%s/contracts.json",
		 folder);
	strcpy(vgpu.contract.id, "a");
	strcpy(vgpu.contract.gpu, "gpu0");
	vgpu.contract.terms = (struct policy_terms){.initial_cap_pct = 50, .weight = 1};
	vgpu.contract.created_ms = 1700000000000;
	vgpu.contract.labels = json_object();
	strcpy(m.host.gpus[0].config.name, "gpu0");
	host_gpu_insert(&m.host.gpus[0], &vgpu);
	m.host.n_gpus = 1;
	m.recorder.decisions = decisions_new(70);
	m.recorder.alerts = alerts_new(80, NULL, NULL);
	m.sales.offers = offers_new(90, NULL, NULL);
	if (observers_add(&m.recorder.observers, &save_observer, &m.store) < 0)
		return -1;
	replies = 0;
	last_result = 1;
	if (sd_event_new(&m.event) < 0)
		return -1;
	return worker_new(m.event, &limits, &m.store.saver);
}

static int tear_down(void)
{
	worker_free(m.store.saver);
	sd_event_unref(m.event);
	decisions_free(m.recorder.decisions);
	alerts_free(m.recorder.alerts);
	offers_free(m.sales.offers);
	contract_fini(&vgpu.contract);
	(void)unlink(m.store.contracts_path);
	if (rmdir(folder) < 0)
		return -1;
	strcpy(strrchr(folder, '.') + 1, "XXXXXX");
	return 0;
}

FIXTURE(set_up, tear_down)

/* Returns the initial cap in the contracts file; -1: no valid file. */
static int read_initial_cap(void)
{
	struct contracts contracts = {0};
	int pct = -1;

	if (contracts_load(m.store.contracts_path, &contracts, NULL) == 0)
		pct = contracts.vgpus[0].contract.terms.initial_cap_pct;
	contracts_fini(&contracts);
	return pct;
}

/* Only the numbers of the result are valid: its strings are freed. */
static struct contracts read_file(void)
{
	struct contracts contracts;

	assert_int_equal(contracts_load(m.store.contracts_path, &contracts, NULL), 0);
	contracts_fini(&contracts);
	return contracts;
}

static void run_loop_until(int wanted)
{
	while (replies < wanted)
		assert_true(sd_event_run(m.event, UINT64_C(10000000)) > 0);
}

TEST(a_save_replies_once_the_file_is_on_disk)
{
	save_contracts(&m.store, &(struct save_request){.done = count_reply});
	assert_int_equal(replies, 0);
	run_loop_until(1);
	assert_int_equal(last_result, 0);
	assert_int_equal(read_initial_cap(), 50);
}

TEST(changes_during_a_save_are_written_by_the_next_save)
{
	save_contracts(&m.store, &(struct save_request){.done = count_reply});
	vgpu.contract.terms.initial_cap_pct = 40;
	save_contracts(&m.store, &(struct save_request){.done = count_reply});
	vgpu.contract.terms.initial_cap_pct = 30;
	save_contracts(&m.store, &(struct save_request){.done = count_reply});
	run_loop_until(3);
	assert_int_equal(last_result, 0);
	assert_int_equal(read_initial_cap(), 30);
}

TEST(pending_saves_are_written_and_replied_to_at_exit)
{
	save_contracts(&m.store, &(struct save_request){.done = count_reply});
	vgpu.contract.terms.initial_cap_pct = 40;
	save_contracts(&m.store, &(struct save_request){.done = count_reply});
	m.store.saver = worker_free(m.store.saver);
	assert_int_equal(replies, 2);
	assert_int_equal(last_result, 0);
	assert_int_equal(read_initial_cap(), 40);
}

static int find_no_room(const void *userdata, struct contracts *contracts)
{
	(void)userdata, (void)contracts;
	return -ENOSPC;
}

static void save_once_more(void *userdata, int result)
{
	assert_int_equal(result, -ENOSPC);
	count_reply(userdata, result);
	save_contracts(&m.store, &(struct save_request){.done = count_reply});
}

TEST(a_save_that_cannot_start_loses_no_request)
{
	save_contracts(&m.store,
		       &(struct save_request){.amend = find_no_room, .done = save_once_more});
	assert_int_equal(replies, 1);
	save_contracts(&m.store, &(struct save_request){.done = count_reply});
	run_loop_until(3);
	assert_int_equal(replies, 3);
	assert_int_equal(last_result, 0);
	assert_int_equal(read_initial_cap(), 50);
}

/* Example: the daemon stops right after a tick that put an external change on hold. */
TEST(saves_without_a_callback_are_written_at_exit)
{
	save_soon(&m.store);
	vgpu.contract.terms.initial_cap_pct = 40;
	save_soon(&m.store);
	m.store.saver = worker_free(m.store.saver);
	assert_int_equal(read_initial_cap(), 40);
	assert_int_equal(m.store.result, 0);
}

TEST(a_write_error_is_reported_to_every_caller)
{
	strcat(m.store.contracts_path, "/is/no/folder");
	save_contracts(&m.store, &(struct save_request){.done = count_reply});
	save_contracts(&m.store, &(struct save_request){.done = count_reply});
	m.store.saver = worker_free(m.store.saver);
	assert_int_equal(replies, 2);
	assert_int_equal(last_result, -ENOENT);
	assert_int_equal(m.store.result, -ENOENT);
}

/* --- revision and ids in the file's head --- */

TEST(revisions_grow_even_if_the_clock_goes_back)
{
	const int64_t tomorrow = clock_now().wall_ms + 86400000;

	save_soon(&m.store);
	m.store.saver = worker_free(m.store.saver);
	assert_true(read_file().head.revision > 0);
	assert_int_equal(read_file().head.revision, m.store.revision);
	m.store.revision = tomorrow; /* as if the contracts were saved while the clock was ahead */
	assert_int_equal(worker_new(m.event, &limits, &m.store.saver), 0);
	save_soon(&m.store);
	m.store.saver = worker_free(m.store.saver);
	assert_int_equal(read_file().head.revision, tomorrow + 1);
}

static void add_decision(void)
{
	(void)record_add(&m.recorder, &(struct decision){.kind = DECISION_SET}, NULL, 0);
}

TEST(ids_are_saved_before_they_are_assigned)
{
	for (int i = 0; i < 5000; i++) {
		if (save_is_due(&m.store))
			save_tick(&m.store);
		while (m.store.running)
			assert_true(sd_event_run(m.event, UINT64_C(10000000)) > 0);
		add_decision();
		if (decisions_last_id(m.recorder.decisions) > read_file().head.ids.decision)
			fail_msg("decision id %lld was assigned before it was saved",
				 (long long)decisions_last_id(m.recorder.decisions));
	}
	assert_true(read_file().head.ids.alert > 80);
	assert_true(read_file().head.ids.offer > 90);
}

TEST(the_file_is_not_written_while_saved_ids_suffice)
{
	int64_t revision;

	save_tick(&m.store);
	while (m.store.running)
		assert_true(sd_event_run(m.event, UINT64_C(10000000)) > 0);
	revision = m.store.revision;
	for (int i = 0; i < 100; i++) {
		add_decision();
		assert_true(save_is_due(&m.store));
		save_tick(&m.store);
		assert_false(save_is_due(&m.store));
		assert_false(m.store.running);
	}
	assert_int_equal(m.store.revision, revision);
}

TEST(the_last_save_contains_the_exact_ids)
{
	m.store.ending = true;
	save_soon(&m.store);
	m.store.saver = worker_free(m.store.saver);
	assert_int_equal(read_file().head.ids.decision, 70);
	assert_int_equal(read_file().head.ids.alert, 80);
	assert_int_equal(read_file().head.ids.offer, 90);
}

/* --- the database --- */

/* Saves to file and database. Returns the revision in the database, or -ENOENT. */
static int64_t save_beside_database(int *ret_sold)
{
	const struct db_retention retention = {0};
	struct contracts contracts = {0};
	struct db_reader *reader;
	char path[64], *text = NULL;
	int64_t revision = -ENOENT;

	snprintf(path, sizeof(path), "%s/history.db", folder);
	assert_int_equal(db_open(path, &retention, &m.recorder.history.db, NULL), 0);
	save_contracts(&m.store, &(struct save_request){.done = count_reply});
	m.store.saver = worker_free(m.store.saver);
	m.recorder.history.db = db_close(m.recorder.history.db);
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

TEST(the_database_stores_the_same_contracts)
{
	int pct = -1;
	int64_t revision = save_beside_database(&pct);

	assert_int_equal(revision, m.store.revision);
	assert_int_equal(read_file().head.revision, m.store.revision);
	assert_int_equal(pct, 50);
}

TEST(the_database_stores_contracts_if_the_file_cannot_be_written)
{
	int64_t revision;
	int pct = -1;

	strcat(m.store.contracts_path, "/is/no/folder");
	revision = save_beside_database(&pct);
	assert_int_equal(revision, m.store.revision);
	assert_int_equal(last_result, -ENOENT);
	assert_int_equal(pct, 50);
}

TEST(a_dry_run_replies_without_writing)
{
	m.store.settings.dry_run = true;
	save_contracts(&m.store, &(struct save_request){.done = count_reply});
	assert_int_equal(replies, 1);
	assert_int_equal(last_result, 0);
	save_soon(&m.store);
	m.store.saver = worker_free(m.store.saver);
	assert_int_equal(read_initial_cap(), -1);
}
