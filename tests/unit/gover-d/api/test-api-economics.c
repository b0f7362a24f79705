/* SPDX-License-Identifier: MIT */
/* GET /v1/economics: sums from a real database, with and without overselling. */
#include "tests/unit/gover-d/api/test-api-database.h"

#include "db/ledger.h"

#define BEGIN_MS (INT64_C(1700000000000) / 3600000 * 3600000) /* 2023-11-14T22:00:00Z */

/*
 * Stores sums of half an hour for vGPU a (50 %) and vGPU b (80 %, flavour small). In each minute,
 * one second of vGPU a and two seconds of vGPU b are broken. Without overselling, vGPU b would run
 * only in the last ten minutes.
 */
static void fill_database(void)
{
	const struct db_price price = {
		.ts_ms = BEGIN_MS - 1,
		.flavor = "default",
		.price_per_cap_hour = 1.5,
		.penalty_per_broken_s = 0.01,
	};

	assert_int_equal(db_append_price(manager->history.db, &price), 0);
	for (int i = 0; i < 30; i++) {
		struct db_ledger a = {
			.ts_ms = BEGIN_MS + 60000 * i,
			.vgpu = "a",
			.gpu = "gpu0",
			.flavor = "default",
			.sold = {30, 1, 0.0125, 0.01},
			.kept = {30, 1, 0.0125, 0.01},
		};
		struct db_ledger b = {
			.ts_ms = BEGIN_MS + 60000 * i,
			.vgpu = "b",
			.gpu = "gpu0",
			.flavor = "small",
			.sold = {48, 2, 0.04, 0.1},
		};
		struct db_ledger_gpu gpu = {.ts_ms = a.ts_ms, .gpu = "gpu0", .watched_s = 60};

		if (i >= 20)
			b.kept = (struct db_money){48, 0, 0.04, 0};
		assert_int_equal(db_append_ledger(manager->history.db, &a), 0);
		assert_int_equal(db_append_ledger(manager->history.db, &b), 0);
		assert_int_equal(db_append_ledger_gpu(manager->history.db, &gpu), 0);
	}
}

static int begin(void)
{
	begin_database();
	fill_database();
	return 0;
}

FIXTURE(begin, end_database)

static json_t *economics(const char *from, const char *to)
{
	return query_json("/v1/economics", from, to, NULL);
}

static void check(const json_t *account, double revenue, double penalty, double profit,
		  double cap_hours, double broken_s)
{
	static const char *const names[] = {"revenue", "penalty", "profit", "sold_cap_hours",
					    "broken_s"};
	const double wanted[] = {revenue, penalty, profit, cap_hours, broken_s};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		double value = json_number_value(json_object_get(account, names[i]));

		if (fabs(value - wanted[i]) > 1e-6)
			fail_msg("%s: %.9g instead of %.9g", names[i], value, wanted[i]);
	}
}

static double ratio(const json_t *account)
{
	return json_number_value(json_object_get(account, "overbooking_ratio"));
}

static const json_t *element(const json_t *account, const char *list, size_t index)
{
	return json_array_get(json_object_get(account, list), index);
}

TEST(the_reply_has_both_accounts)
{
	json_t *answer = economics("1699999200", "1700002800");
	json_t *without = json_object_get(answer, "without_overselling");

	assert_int_equal(manager->ledger_kept, 1);
	check(answer, 1.575, 3.3, -1.725, 0.65, 90);
	assert_true(fabs(ratio(answer) - 1.3) < 1e-6);
	assert_true(fabs(json_number_value(json_object_get(answer, "watched_hours")) - 0.5) < 1e-6);
	expect_json(answer, "{'from': '2023-11-14T22:00:00.000Z', 'flavors': [{}, {}],"
			    "'vgpus': [{}, {'vgpu': 'b', 'flavor': 'small'}],"
			    "'prices': [{'price_per_cap_hour': 1.5}]}");
	check(element(answer, "flavors", 0), 0.375, 0.3, 0.075, 0.25, 30);
	check(element(answer, "flavors", 1), 1.2, 3, -1.8, 0.4, 60);
	check(element(answer, "vgpus", 1), 1.2, 3, -1.8, 0.4, 60);

	check(without, 0.775, 0.3, 0.475, 0.25 + 0.4 / 3, 30);
	assert_true(fabs(ratio(without) - 0.767) < 1e-6);
	check(element(without, "vgpus", 1), 0.4, 0, 0.4, 0.4 / 3, 0);
	json_decref(answer);
}

TEST(a_shorter_range_sums_its_minutes)
{
	json_t *answer = economics("2023-11-14T22:10:30Z", "2023-11-14T22:11:10Z");

	/* the requested range of 40 s is extended to two whole minutes */
	check(answer, 0.105, 0.22, -0.115, 156.0 / 3600, 6);
	json_decref(answer);
}

static void append_price(int64_t ts_ms, const char *flavor, double price, double penalty)
{
	struct db_price row = {
		.ts_ms = ts_ms, .price_per_cap_hour = price, .penalty_per_broken_s = penalty};

	strcpy(row.flavor, flavor);
	assert_int_equal(db_append_price(manager->history.db, &row), 0);
}

static void append_second(const char *vgpu, const char *flavor, double revenue, double penalty)
{
	struct db_ledger row = {.ts_ms = BEGIN_MS + 7200000, .gpu = "gpu0"};

	row.sold = row.kept = (struct db_money){36, 2, revenue, penalty};
	strcpy(row.vgpu, vgpu);
	strcpy(row.flavor, flavor);
	assert_int_equal(db_append_ledger(manager->history.db, &row), 0);
}

/* Two hours after the other rows: no price, then a price of one flavour, then a penalty too. */
TEST(amounts_without_a_price_are_null)
{
	const char *from = "2023-11-15T00:00:00Z", *to = "2023-11-15T00:02:00Z";
	json_t *answer;

	append_price(BEGIN_MS + 3600000, "default", -1, -1);
	append_price(BEGIN_MS + 3600000, "none", -1, -1);
	append_second("c", "none", 0, 0);
	answer = economics(from, to);
	expect_json(answer, "{'prices_set': false, 'revenue': null, 'penalty': null,"
			    "'profit': null, 'without_overselling': {'revenue': null}}");
	expect_json(element(answer, "vgpus", 0), "{'profit': null}");
	expect_json(element(answer, "flavors", 0), "{'revenue': null}");
	expect_json(element(answer, "prices", 0), "{'price_per_cap_hour': null}");
	assert_true(fabs(json_number_value(json_object_get(answer, "sold_cap_hours")) - 0.01) <
		    1e-6);
	assert_true(fabs(json_number_value(json_object_get(answer, "broken_s")) - 2) < 1e-6);
	json_decref(answer);

	append_price(BEGIN_MS + 7200001, "default", 1, -1);
	append_second("d", "default", 0.01, 0);
	answer = economics(from, to);
	expect_json(answer, "{'prices_set': true, 'penalty': null}");
	check(answer, 0.01, 0, 0.01, 0.02, 4);
	expect_json(element(answer, "vgpus", 0), "{'revenue': null}");
	check(element(answer, "vgpus", 1), 0.01, 0, 0.01, 0.01, 2);
	json_decref(answer);

	append_price(BEGIN_MS + 7200002, "none", -1, 0);
	answer = economics(from, to);
	assert_true(json_is_number(json_object_get(answer, "penalty")));
	assert_true(json_is_number(json_object_get(element(answer, "vgpus", 0), "penalty")));
	expect_json(element(answer, "vgpus", 0), "{'profit': null}");
	expect_json(element(answer, "vgpus", 1), "{'penalty': null}");
	json_decref(answer);
}

TEST(without_records_the_ratio_is_null)
{
	json_t *answer = economics("5", "6");

	check(answer, 0, 0, 0, 0, 0);
	expect_json(answer, "{'overbooking_ratio': null, 'prices_set': false, 'revenue': null,"
			    "'vgpus': [], 'prices': []}");
	json_decref(answer);
}

TEST(an_invalid_range_is_400)
{
	static const struct {
		const char *query, *words;
	} cases[] = {
		{"from=yesterday", "from: yesterday is invalid"},
		{"to=1e99", "to: 1e99"},
		{"from=5&to=5", "from: must be before the end of the range (to)"},
		{"step=5", "step"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char line[96];

		snprintf(line, sizeof(line), "GET /v1/economics?%s", cases[i].query);
		assert_problem(line, NULL, 400, cases[i].words);
	}
}

TEST(without_a_database_the_status_is_503)
{
	manager->history.db = db_close(manager->history.db);
	assert_problem("GET /v1/economics", NULL, 503, "history: not available");
}
