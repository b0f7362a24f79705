/* SPDX-License-Identifier: MIT */
/*
 * Decisions, alerts, offers, settings and audit records are read back after a restart as they were
 * written. The last id of the audit log does not depend on its rows.
 */
#include "db/conn.h"
#include "db/schema.h"
#include "tests/unit/db/test-db.h"

static void fill_text(char *text, size_t size, char c)
{
	memset(text, c, size - 1);
	text[size - 1] = '\0';
}

static struct {
	struct db_decision decisions[16];
	struct db_alert alerts[16];
	struct db_offer offers[16];
	char settings[16][128];
	int n;
} got;

#define KEEP(kind)                                                     \
	static int keep_##kind(void *userdata, const void *row)        \
	{                                                              \
		(void)userdata;                                        \
		got.kind##s[got.n++] = *(const struct db_##kind *)row; \
		return 0;                                              \
	}
KEEP(decision)
KEEP(alert)
KEEP(offer)

static int keep_setting(void *userdata, const void *row)
{
	const struct db_setting *setting = row;

	(void)userdata;
	snprintf(got.settings[got.n++], sizeof(got.settings[0]), "%.60s=%.60s", setting->key,
		 setting->value);
	return 0;
}

static int stop_at_once(void *userdata, const void *row)
{
	(void)row;
	++*(int *)userdata;
	return -ECANCELED;
}

/* Begins to read what was written. */
static void read_back(void)
{
	close_db();
	open_reader();
	got.n = 0;
}

/* --- decisions --- */

FIXTURE(begin, end)

TEST(test_the_newest_decisions_are_returned_oldest_first)
{
	for (int i = 1; i <= 20; i++) {
		struct db_decision decision = {.id = i * 3, .ts_ms = START_MS + i};

		snprintf(decision.why, sizeof(decision.why), "because of %d", i);
		assert_int_equal(db_append_decision(db, &decision), 0);
	}
	read_back();
	assert_int_equal(db_query_decisions(reader, 5, keep_decision, NULL), 0);
	assert_int_equal(got.n, 5);
	for (int i = 0; i < 5; i++)
		assert_int_equal(got.decisions[i].id, (16 + i) * 3);
	assert_string_equal(got.decisions[4].why, "because of 20");
	got.n = 0;
	assert_int_equal(db_query_decisions(reader, 0, keep_decision, NULL), 0);
	assert_int_equal(db_query_decisions(reader, -1, keep_decision, NULL), 0);
	assert_int_equal(got.n, 0);
}

TEST(test_a_decision_is_read_as_it_was_written)
{
	struct db_decision full = {.id = DB_ID_MAX, .ts_ms = INT64_MAX}, empty = {.id = 1};

	fill_text(full.gpu, sizeof(full.gpu), 'g');
	fill_text(full.kind, sizeof(full.kind), 'k');
	fill_text(full.vgpu, sizeof(full.vgpu), 'v');
	fill_text(full.donor, sizeof(full.donor), 'd');
	fill_text(full.result, sizeof(full.result), 'r');
	fill_text(full.why, sizeof(full.why), 'w');
	fill_text(full.detail_json, sizeof(full.detail_json), 'j');
	memcpy(full.why, "'; DROP TABLE decision; --", 26);
	assert_int_equal(db_append_decision(db, &full), 0);
	assert_int_equal(db_append_decision(db, &empty), 0);
	read_back();
	memset(got.decisions, 0, sizeof(got.decisions));
	assert_int_equal(db_query_decisions(reader, 16, keep_decision, NULL), 0);
	assert_int_equal(got.n, 2);
	assert_memory_equal(&got.decisions[0], &empty, sizeof(empty));
	assert_memory_equal(&got.decisions[1], &full, sizeof(full));
}

/* --- alerts --- */

static struct db_alert make_alert(int64_t id, const char *text)
{
	struct db_alert alert = {.id = id,
				 .raised_ms = START_MS,
				 .name = "contract_limit",
				 .gpu = "gpu0",
				 .vgpu = "vm1",
				 .severity = "warning"};

	snprintf(alert.text, sizeof(alert.text), "%s", text);
	return alert;
}

TEST(test_open_alerts_are_the_alerts_that_are_not_cleared)
{
	struct db_alert alert;

	for (int i = 1; i <= 4; i++) {
		alert = make_alert(i, "raised");
		assert_int_equal(db_append_alert(db, &alert), 0);
	}
	alert = make_alert(2, "cleared");
	alert.cleared_ms = START_MS + 1000;
	assert_int_equal(db_append_alert(db, &alert), 0);
	alert = make_alert(3, "seen");
	alert.acked_ms = START_MS + 2000;
	strcpy(alert.acked_by, "uid 1000");
	assert_int_equal(db_append_alert(db, &alert), 0);
	close_db();
	assert_int_equal(get_sql("SELECT count(*) FROM alert"),
			 4); /* a row with the same id is replaced */
	open_reader();
	got.n = 0;
	assert_int_equal(db_query_alerts(reader, 0, keep_alert, NULL), 0);
	assert_int_equal(got.n, 3);
	assert_int_equal(got.alerts[0].id, 1);
	assert_int_equal(got.alerts[0].raised_ms, START_MS);
	assert_int_equal(got.alerts[0].acked_ms, 0);
	assert_string_equal(got.alerts[0].name, "contract_limit");
	assert_string_equal(got.alerts[0].gpu, "gpu0");
	assert_string_equal(got.alerts[0].vgpu, "vm1");
	assert_string_equal(got.alerts[0].severity, "warning");
	assert_int_equal(got.alerts[1].id, 3);
	assert_int_equal(got.alerts[1].acked_ms, START_MS + 2000);
	assert_string_equal(got.alerts[1].text, "seen");
	assert_string_equal(got.alerts[1].acked_by, "uid 1000");
	assert_int_equal(got.alerts[2].id, 4);
}

TEST(test_the_newest_cleared_alerts_are_read_with_the_open_ones)
{
	static const int64_t expected[] = {1, 4, 5, 6};

	for (int i = 1; i <= 6; i++) {
		struct db_alert alert = make_alert(i, "text");

		alert.cleared_ms = i == 1 || i == 5 ? 0 : START_MS + i;
		strcpy(alert.vm, "win-7");
		strcpy(alert.cause, "held");
		assert_int_equal(db_append_alert(db, &alert), 0);
	}
	read_back();
	assert_int_equal(db_query_alerts(reader, 2, keep_alert, NULL), 0);
	assert_int_equal(got.n, 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(got.alerts[i].id, expected[i]);
		assert_string_equal(got.alerts[i].vm, "win-7");
		assert_string_equal(got.alerts[i].cause, "held");
	}
	assert_int_equal(got.alerts[1].cleared_ms, START_MS + 4);
}

static int keep_tally(void *userdata, const void *row)
{
	*(struct db_tally *)userdata = *(const struct db_tally *)row;
	return 0;
}

TEST(test_a_vgpu_has_one_row_of_sums)
{
	struct db_tally got_tally, tally = {
					   .vgpu = "vm1",
					   .ts_ms = START_MS + 1,
					   .contract_ms = START_MS - 5,
					   .since_ms = START_MS,
					   .seen_s = 10,
					   .broken_s = 1.5,
					   .fps_sum_s = 600,
					   .fps_s = 10,
					   .cap_error_pct_s = 2,
					   .cap_error_s = 3,
					   .steals_in = 4,
					   .steals_out = 5,
					   .cap_writes = 6,
				   };

	assert_int_equal(db_append_tally(db, &tally), 0);
	tally.seen_s = 70;
	tally.ts_ms += 60000;
	assert_int_equal(db_append_tally(db, &tally), 0);
	tally.broken_s = NAN;
	assert_int_equal(db_append_tally(db, &tally), -EINVAL);
	tally.broken_s = 1.5;
	strcpy(tally.vgpu, "");
	assert_int_equal(db_append_tally(db, &tally), -EINVAL);
	strcpy(tally.vgpu, "vm1");
	close_db();
	assert_int_equal(get_sql("SELECT count(*) FROM tally"), 1);
	open_reader();
	assert_int_equal(db_query_tallies(reader, keep_tally, &got_tally), 0);
	assert_memory_equal(&got_tally, &tally, sizeof(tally));
}

TEST(test_the_newest_decisions_of_a_vgpu_are_read)
{
	for (int i = 1; i <= 6; i++) {
		struct db_decision decision = {.id = i, .ts_ms = START_MS, .detail_json = "{}"};

		strcpy(decision.vgpu, i % 2 ? "odd" : "even");
		strcpy(decision.donor, "odd");
		assert_int_equal(db_append_decision(db, &decision), 0);
	}
	read_back();
	assert_int_equal(db_query_decisions_of(reader, "odd", 2, keep_decision, NULL), 0);
	assert_int_equal(got.n, 2);
	assert_int_equal(got.decisions[0].id, 3);
	assert_int_equal(got.decisions[1].id, 5);
	got.n = 0;
	assert_int_equal(db_query_decisions_of(reader, "none", 2, keep_decision, NULL), 0);
	assert_int_equal(got.n, 0);
}

/* --- offers --- */

TEST(test_offers_that_are_not_closed_are_returned)
{
	static const char *const states[] = {"open", "claimed", "probation", "failed",
					     "kept", "expired", "closed"};
	struct db_offer offer = {.created_ms = START_MS,
				 .changed_ms = START_MS + 1,
				 .gpu = "gpu0",
				 .vgpu = "vm4",
				 .cap_pct = 50,
				 .funded_pct = 33,
				 .target_fps = NAN,
				 .reason = "calm for 3 periods",
				 .flavor = "half"};

	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		offer.id = (int64_t)i + 1;
		strcpy(offer.state, "open");
		assert_int_equal(db_append_offer(db, &offer), 0);
		strcpy(offer.state, states[i]);
		assert_int_equal(db_append_offer(db, &offer), 0);
	}
	read_back();
	assert_int_equal(db_query_offers(reader, 0, keep_offer, NULL), 0);
	assert_int_equal(got.n, 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(got.offers[i].id, i + 1);
		assert_string_equal(got.offers[i].state, states[i]);
	}
	assert_int_equal(got.offers[0].created_ms, START_MS);
	assert_int_equal(got.offers[0].changed_ms, START_MS + 1);
	assert_string_equal(got.offers[0].gpu, "gpu0");
	assert_string_equal(got.offers[0].vgpu, "vm4");
	assert_string_equal(got.offers[0].reason, "calm for 3 periods");
	assert_string_equal(got.offers[0].flavor, "half");
	assert_int_equal(got.offers[0].cap_pct, 50);
	assert_int_equal(got.offers[0].funded_pct, 33);
	assert_true(isnan(got.offers[0].target_fps));
}

TEST(test_the_newest_claimed_offers_are_returned)
{
	for (int i = 1; i <= 12; i++) {
		struct db_offer offer = {.id = i, .state = "kept"};

		if (i == 1)
			strcpy(offer.state, "failed");
		if (i % 2 == 0)
			strcpy(offer.vgpu, "vm4");
		assert_int_equal(db_append_offer(db, &offer), 0);
	}
	read_back();
	assert_int_equal(db_query_offers(reader, 3, keep_offer, NULL), 0);
	assert_int_equal(got.n, 4);
	/* expected: the failed offer, and the newest three offers with a vGPU */
	assert_int_equal(got.offers[0].id, 1);
	for (int i = 1; i < 4; i++)
		assert_int_equal(got.offers[i].id, 6 + 2 * i);
	got.n = 0;
	assert_int_equal(db_query_offers(reader, -1, keep_offer, NULL), 0);
	assert_int_equal(got.n, 1);
}

/* --- contracts --- */

TEST(test_the_newest_contracts_are_kept)
{
	int64_t revision = 7;
	char *text = NULL;

	open_reader();
	assert_int_equal(db_query_contracts(reader, &revision, &text), -ENOENT);
	assert_int_equal(revision, 7);
	assert_null(text);
	close_reader();
	db_save_contracts(db, 1763664596123, "{\"it's\": \"one\"}");
	/* writes the contracts although neither a record nor a tick was appended */
	db_flush(db);
	expect_contracts(1763664596123, "{\"it's\": \"one\"}");
	for (int i = 0; i < 100; i++) {
		char next[16];

		snprintf(next, sizeof(next), "text %d", i);
		db_save_contracts(db, 1000 + i, next);
	}
	close_db();
	expect_contracts(1099, "text 99");
	assert_int_equal(get_sql("SELECT count(*) FROM contracts"), 1);
}

TEST(test_contracts_larger_than_the_queue_are_saved_without_losing_records)
{
	const size_t size = 5 * 1024 * 1024;
	char *text = malloc(size + 1);

	assert_non_null(text);
	memset(text, 'x', size);
	text[size] = '\0';
	for (int i = 0; i < 20; i++) {
		db_save_contracts(db, i, text);
		put_sample(START_MS + i, "vm1");
	}
	db_flush(db);
	assert_int_equal(stats_of().written, 20);
	assert_int_equal(stats_of().dropped, 0);
	close_db();
	expect_contracts(19, text);
	free(text);
}

/* --- ids and settings --- */

TEST(test_last_ids_are_the_largest)
{
	const int64_t now_s = clock_now().wall_ms / 1000;
	struct db_last_ids ids = {7, 7, 7, 7};
	struct db_decision decision = {0};
	struct db_alert alert = make_alert(12, "");
	struct db_offer offer = {.id = 3};

	open_reader();
	assert_int_equal(db_query_last_ids(reader, &ids), 0);
	assert_int_equal(ids.decision, 0);
	assert_int_equal(ids.alert, 0);
	assert_int_equal(ids.offer, 0);
	assert_in_range(ids.audit, now_s - 60, now_s + 1);
	for (decision.id = 900; decision.id > 890; decision.id--)
		assert_int_equal(db_append_decision(db, &decision), 0);
	assert_int_equal(db_append_alert(db, &alert), 0);
	assert_int_equal(db_append_offer(db, &offer), 0);
	close_db();
	assert_int_equal(db_query_last_ids(reader, &ids), 0);
	assert_int_equal(ids.decision, 900);
	assert_int_equal(ids.alert, 12);
	assert_int_equal(ids.offer, 3);
}

static int keep_silence(void *userdata, const void *row)
{
	const struct db_silence *silence = row;

	*(int64_t *)userdata = silence->id;
	got.n++;
	return 0;
}

/* A start continues after the largest id, and the contracts file contains ids up to 2^53 only. */
TEST(test_rows_with_ids_that_gover_cannot_have_written_are_ignored)
{
	static const int64_t ids[] = {INT64_MIN, -1, 0, 7, DB_ID_MAX + 1, INT64_MAX};
	struct db_last_ids last = {0};
	int64_t silence = 0;

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		struct db_decision decision = {.id = ids[i]};
		struct db_alert alert = make_alert(ids[i], "raised");
		struct db_offer offer = {.id = ids[i], .state = "open"};
		struct db_silence row = {.id = ids[i], .alert = "contract_limit"};

		assert_int_equal(db_append_decision(db, &decision), 0);
		assert_int_equal(db_append_alert(db, &alert), 0);
		assert_int_equal(db_append_offer(db, &offer), 0);
		assert_int_equal(db_append_silence(db, &row), 0);
	}
	close_db();
	assert_int_equal(get_sql("SELECT count(*) FROM offer"), ARRAY_SIZE(ids));
	open_reader();
	got.n = 0;
	assert_int_equal(db_query_last_ids(reader, &last), 0);
	assert_int_equal(last.decision, 7);
	assert_int_equal(last.alert, 7);
	assert_int_equal(last.offer, 7);
	assert_int_equal(db_query_decisions(reader, 10, keep_decision, NULL), 0);
	assert_int_equal(got.decisions[0].id, 7);
	assert_int_equal(db_query_alerts(reader, 0, keep_alert, NULL), 0);
	assert_int_equal(got.alerts[1].id, 7);
	assert_int_equal(db_query_offers(reader, 10, keep_offer, NULL), 0);
	assert_int_equal(got.offers[2].id, 7);
	assert_int_equal(db_query_silences(reader, keep_silence, &silence), 0);
	assert_int_equal(silence, 7);
	assert_int_equal(got.n, 4);
}

TEST(test_settings_are_set_replaced_and_removed)
{
	int n = 0;

	open_reader();
	assert_int_equal(db_append_setting(db, "overload_pct", "90"), 0);
	assert_int_equal(db_append_setting(db, "name", "gover"), 0);
	assert_int_equal(db_append_setting(db, "quiet_periods", "5"), 0);
	assert_int_equal(db_append_setting(db, "overload_pct", "92.5"), 0);
	assert_int_equal(db_append_setting(db, "name", NULL), 0);
	assert_int_equal(db_append_setting(db, "never_set", NULL), 0);
	assert_int_equal(db_append_setting(db, "empty", ""), 0);
	db_flush(db);
	got.n = 0;
	assert_int_equal(db_query_settings(reader, keep_setting, NULL), 0);
	assert_int_equal(got.n, 3);
	assert_string_equal(got.settings[0], "empty=");
	assert_string_equal(got.settings[1], "overload_pct=92.5");
	assert_string_equal(got.settings[2], "quiet_periods=5");
	assert_int_equal(db_query_settings(reader, stop_at_once, &n), -ECANCELED);
	assert_int_equal(n, 1);
}

/* --- audit records --- */

static struct {
	struct db_audit rows[64];
	int n;
} audit;

static int keep_row(void *userdata, const void *data)
{
	const struct db_audit *row = data;

	(void)userdata;
	audit.rows[audit.n++] = *row;
	return 0;
}

static void append(int64_t id, const char *path_asked, const char *before)
{
	struct db_audit row = {.id = id, .ts_ms = START_MS, .status = 200};
	uint64_t number = 0;

	strcpy(row.who, "token robot");
	strcpy(row.origin, "192.0.2.7");
	strcpy(row.method, "PATCH");
	strcpy(row.path, path_asked);
	strcpy(row.before_json, before);
	strcpy(row.after_json, "{\"cap\":2}");
	assert_int_equal(db_add_audit(db, &row, &number), 0);
	assert_true(number > 0);
}

static int64_t last_id(void)
{
	struct db_last_ids ids = {0};

	open_reader();
	assert_int_equal(db_query_last_ids(reader, &ids), 0);
	close_reader();
	return ids.audit;
}

static void query(int64_t after, int64_t end_id, int limit)
{
	open_reader();
	memset(&audit, 0, sizeof(audit));
	assert_int_equal(db_query_audit(reader, after, end_id, limit, keep_row, NULL), 0);
	close_reader();
}

TEST(rows_are_read_as_they_were_written)
{
	append(77, "/v1/vgpus/a", "");
	db_flush(db);
	query(-1, INT64_MAX, 10);
	assert_int_equal(audit.n, 1);
	assert_int_equal(audit.rows[0].id, 77);
	assert_int_equal(audit.rows[0].ts_ms, START_MS);
	assert_string_equal(audit.rows[0].who, "token robot");
	assert_string_equal(audit.rows[0].origin, "192.0.2.7");
	assert_string_equal(audit.rows[0].method, "PATCH");
	assert_string_equal(audit.rows[0].path, "/v1/vgpus/a");
	assert_int_equal(audit.rows[0].status, 200);
	assert_string_equal(audit.rows[0].before_json, "");
	assert_string_equal(audit.rows[0].after_json, "{\"cap\":2}");
}

TEST(a_row_is_never_overwritten)
{
	append(77, "/first", "");
	append(77, "/second", "");
	close_db();
	open_db(&keep_all);
	append(77, "/third", "");
	append(78, "/fourth", "");
	close_db();
	query(-1, INT64_MAX, 10);
	assert_int_equal(audit.n, 2);
	assert_string_equal(audit.rows[0].path, "/first");
	assert_string_equal(audit.rows[1].path, "/fourth");
}

TEST(a_reader_continues_after_its_last_id)
{
	static const struct {
		int64_t after, end;
		int limit, n, first;
	} rows[] = {
		{-1, INT64_MAX, 3, 3, 107},    {-1, 105, 3, 3, 102},	{0, INT64_MAX, 4, 4, 100},
		{103, INT64_MAX, 100, 6, 104}, {103, 106, 100, 2, 104}, {109, INT64_MAX, 100, 0, 0},
	};

	for (int i = 0; i < 10; i++)
		append(100 + i, "/p", "{}");
	close_db();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		query(rows[i].after, rows[i].end, rows[i].limit);
		assert_int_equal(audit.n, rows[i].n);
		for (int j = 0; j < audit.n; j++)
			assert_int_equal(audit.rows[j].id, rows[i].first + j);
	}
}

TEST(the_last_id_does_not_depend_on_the_rows)
{
	int64_t id = last_id() + 10;

	append(id, "/p", "{}");
	append(id - 5, "/p", "{}");
	close_db();
	assert_int_equal(last_id(), id);
	run_sql("DELETE FROM audit");
	assert_int_equal(last_id(), id);
	run_sql("UPDATE sqlite_sequence SET seq = -1 WHERE name = 'audit'");
	assert_int_equal(last_id(), 0);
}

#define BEFORE_AUDIT_IDS 6 /* version of the schema without a first id of audit records */

/* Runs with a new database and with a database of an earlier version of gover. */
TEST_WITH(the_last_id_grows_after_a_loss_of_the_database, make_folder, end)
{
	const int64_t now_s = clock_now().wall_ms / 1000;
	sqlite3 *plain = NULL;

	open_db(&keep_all);
	close_db();
	assert_in_range(last_id(), now_s - 1, now_s + 60);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(
		conn_open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, 1000, &plain, NULL), 0);
	assert_int_equal(schema_migrate(plain, path, schema_steps, BEFORE_AUDIT_IDS, NULL), 0);
	sqlite3_close(plain);
	run_sql("INSERT INTO audit (ts_ms, status) VALUES (1, 200), (2, 200)");
	open_db(&keep_all);
	close_db();
	assert_int_equal(last_id(), 2);
}
