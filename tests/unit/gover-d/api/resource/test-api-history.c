/* SPDX-License-Identifier: MIT */
/*
 * The history, the load of a GPU and the economics over REST: ranges and steps of requests, and
 * replies from a real database.
 */
#include "tests/unit/gover-d/api/test-api.h"

#include <sched.h>

#include "db/db.h"
#include "gover-d/util/worker.h"
#include "tests/unit/temp-folder.h"

/* --- a real database and a worker that reads it --- */

static sd_event *event;
static bool is_answered;

static void begin_database(void)
{
	static const struct worker_limits limits = {
		.name = "test", .threads = 1, .waiting_max = 256, .client_max = 256};
	const struct db_retention keep_all = {0};
	struct err err;

	stand_in_begin();
	assert_int_equal(temp_folder_make(), 0);
	snprintf(manager->history.path, sizeof(manager->history.path), "%s/history.db",
		 temp_folder);
	assert_int_equal(db_open(manager->history.path, &keep_all, &manager->history.db, &err), 0);
	assert_int_equal(sd_event_new(&event), 0);
	assert_int_equal(worker_new(event, &limits, &manager->view.queries), 0);
}

static int end_database(void)
{
	manager->view.queries = worker_free(manager->view.queries);
	event = sd_event_unref(event);
	manager->history.db = db_close(manager->history.db);
	assert_int_equal(temp_folder_remove(), 0);
	return stand_in_end();
}

static void note_answer(struct api_request *request)
{
	(void)request;
	is_answered = true;
}

/* A request of a client that may read. */
static struct api_request get(const char *path)
{
	is_answered = false;
	return (struct api_request){
		.method = "GET",
		.path = path,
		.principal = {.scope = ACCESS_READ},
		.answered = note_answer,
	};
}

/*
 * Requests @path with the given parameters (@step NULL: none), and runs the loop until the worker
 * has replied. The caller calls api_request_fini().
 */
static void query(struct api_request *request, const char *path, const char *from, const char *to,
		  const char *step)
{
	*request = get(path);
	request->query[0].name = "from";
	request->query[0].value = from;
	request->query[1].name = "to";
	request->query[1].value = to;
	request->query[2].name = "step";
	request->query[2].value = step;
	request->n_query = step ? 3 : 2;
	api_serve(api, request);
	assert_true(request->deferred || request->reply.status != 200);
	for (int i = 0; request->deferred && i < 300; i++)
		assert_true(sd_event_run(event, 100 * 1000) >= 0);
	assert_null(request->deferred);
}

/* As query(). Returns the document of the reply with status 200; the caller frees it. */
static json_t *query_json(const char *path, const char *from, const char *to, const char *step)
{
	struct api_request request;
	json_t *answer;

	query(&request, path, from, to, step);
	assert_int_equal(request.reply.status, 200);
	answer = json_loads(request.reply.text->data, 0, NULL);
	assert_non_null(answer);
	api_request_fini(&request);
	return answer;
}

/* As query(). Checks the status of the reply, and that it contains @words. */
static void expect_answer(const char *path, const char *from, const char *to, const char *step,
			  unsigned int status, const char *words)
{
	struct api_request request;

	query(&request, path, from, to, step);
	assert_int_equal(request.reply.status, status);
	assert_non_null(strstr(request.reply.text->data, words));
	api_request_fini(&request);
}

/* --- the history --- */

#define BEGIN_MS INT64_C(1700000000000) /* 2023-11-14T22:13:20Z */
#define ROWS	 120

/*
 * Adds a sample of each of the vGPUs "a" and "gone". The vGPU "gone" does not exist on the host.
 */
static void add_samples(struct db_sample row)
{
	static const char *const ids[] = {"a", "gone"};

	strcpy(row.gpu, "gpu0");
	row.cap_pct = 40;
	row.initial_cap_pct = 50;
	row.target_fps = 60;
	for (size_t v = 0; v < ARRAY_SIZE(ids); v++) {
		strcpy(row.vgpu, ids[v]);
		assert_int_equal(db_append_samples(manager->history.db, NULL, &row, 1), 0);
	}
}

/* A minute of samples, each with a load of 10 %. */
static void fill_database(void)
{
	for (int i = 0; i < ROWS; i++)
		add_samples((struct db_sample){
			.ts_ms = BEGIN_MS + 500 * i,
			.sample = {.dt_s = 0.5, .busy_valid = true, .load = 0.1, .util = 0.25},
			.broken = i % 2,
			.gap = i % 5 == 0});
	db_commit(manager->history.db);
	db_flush(manager->history.db);
}

static int begin(void)
{
	begin_database();
	fill_database();
	return 0;
}

FIXTURE(begin, end_database)

TEST(the_worker_reads_the_requested_range)
{
	json_t *answer =
		query_json("/v1/vgpus/a/history", "2023-11-14T22:13:20Z", "1700000060", "10");
	json_t *points = json_object_get(answer, "points");

	assert_true(is_answered);
	expect_json(answer, "{'vgpu': 'a', 'from': '2023-11-14T22:13:20.000Z',"
			    "'to': '2023-11-14T22:14:20.000Z', 'step_s': 10}");
	assert_int_equal(json_array_size(points), 6);
	assert_int_equal(json_object_size(json_array_get(points, 0)), 14);
	expect_json(json_array_get(points, 0), "{'cap_pct': 40.0, 'load_pct': 10.0, 'fps': null,"
					       "'broken_pct': 50.0, 'samples': 20}");
	json_decref(answer);
}

TEST(the_newest_sample_is_included)
{
	struct db_sample row = {.ts_ms = BEGIN_MS + 120000, .vgpu = "a", .gpu = "gpu0"};

	assert_int_equal(db_append_samples(manager->history.db, NULL, &row, 1), 0);
	/* the query must wait until the writer thread has written the sample */
	db_commit(manager->history.db);
	expect_answer("/v1/vgpus/a/history", "1700000120", "1700000130", "10", 200,
		      "\"samples\":1");
}

TEST(a_vgpu_without_samples_or_contract_has_a_history)
{
	static const struct {
		const char *path;
		unsigned int status;
		const char *words;
	} cases[] = {
		{"/v1/vgpus/gone/history", 200, "\"samples\""},
		{"/v1/vgpus/new/history", 200, "\"points\":[]"},
		{"/v1/vgpus/never/history", 404, "never"},
		{"/v1/vgpus/.no/history", 404, ".no"},
	};
	struct contract contract = {.id = "new", .gpu = "gpu0"};

	(void)stand_in_vgpu(&contract);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect_answer(cases[i].path, "1700000000", "1700000060", "10", cases[i].status,
			      cases[i].words);
}

TEST(ranges_without_samples_are_listed_as_gaps)
{
	static const struct {
		const char *from, *to, *step, *gaps;
	} cases[] = {
		{"1700000000", "1700000060", "10", "[]"},
		{"1699999970", "1700000000", "10",
		 "[{\"from\":\"2023-11-14T22:12:50.000Z\",\"to\":\"2023-11-14T22:13:20.000Z\"}]"},
		/* Gaps before and after the samples. An incomplete step is not a gap. */
		{"1699999985", "1700000095", "10",
		 "[{\"from\":\"2023-11-14T22:13:10.000Z\",\"to\":\"2023-11-14T22:13:20.000Z\"},"
		 "{\"from\":\"2023-11-14T22:14:20.000Z\",\"to\":\"2023-11-14T22:14:50.000Z\"}]"},
		{"1700000001", "1700000009", "10", "[]"},
		{"1700000065", "1700000069", "10", "[]"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		json_t *answer = query_json("/v1/vgpus/a/history", cases[i].from, cases[i].to,
					    cases[i].step);
		CLEANUP_FREE char *gaps = json_dumps(json_object_get(answer, "gaps"), JSON_COMPACT);

		assert_string_equal(gaps, cases[i].gaps);
		json_decref(answer);
	}
}

TEST(each_point_counts_its_valid_samples)
{
	json_t *answer = query_json("/v1/vgpus/a/history", "1700000000", "1700000060", "10");
	json_t *point = json_array_get(json_object_get(answer, "points"), 0);

	assert_int_equal(json_object_size(json_object_get(point, "valid")), 7);
	expect_json(point, "{'late_samples': 4,"
			   "'valid': {'load_pct': 20, 'fps': 0, 'target_fps': 20}}");
	json_decref(answer);
}

TEST(the_default_step_depends_on_the_range)
{
	static const struct {
		const char *from;
		int step_s;
	} cases[] = {
		{"1699999990", 1},     /* 10 s */
		{"1699999400", 1},     /* 600 s */
		{"1699999399", 2},     /* 601 s */
		{"1699996400", 10},    /* an hour gives 360 points */
		{"1699913600", 300},   /* a day gives 288 points */
		{"1697408000", 7200},  /* 30 days give 360 points */
		{"1668464000", 86400}, /* a year */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char words[32];

		snprintf(words, sizeof(words), "\"step_s\":%d", cases[i].step_s);
		expect_answer("/v1/vgpus/a/history", cases[i].from, "1700000000", NULL, 200, words);
	}
	/* since 1970 */
	assert_problem("GET /v1/vgpus/a/history?from=0&to=1700000000", NULL, 400, "at most 5000");
}

TEST(an_invalid_range_is_400)
{
	static const struct {
		const char *line, *words;
	} cases[] = {
		{"GET /v1/vgpus/a/history?from=yesterday", "from: yesterday is invalid"},
		{"GET /v1/vgpus/a/history?to=1e99", "to: 1e99"},
		{"GET /v1/vgpus/a/history?from=5&to=5", "from: must be before the end of the range "
							"(to)"},
		{"GET /v1/vgpus/a/history?from=6&to=5", "from: must be before the end of the range "
							"(to)"},
		{"GET /v1/vgpus/a/history?step=0", "1..86400"},
		{"GET /v1/vgpus/a/history?step=86401", "1..86400"},
		{"GET /v1/vgpus/a/history?step=1.5", "step: 1.5"},
		{"GET /v1/vgpus/a/history?from=0&to=5001&step=1", "5001 points"},
		{"GET /v1/vgpus/a/history?points=5", "points"},
		{"GET /v1/gpus/gpu0/history?from=6&to=5", "from: must be before"},
		{"GET /v1/gpus/gpu0/history?step=1", "step"},
		{"GET /v1/economics?from=yesterday", "from: yesterday is invalid"},
		{"GET /v1/economics?to=1e99", "to: 1e99"},
		{"GET /v1/economics?from=5&to=5", "from: must be before the end of the range (to)"},
		{"GET /v1/economics?step=5", "step"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_problem(cases[i].line, NULL, 400, cases[i].words);
}

static void assert_query(unsigned int status, const char *text)
{
	struct api_request request;

	query(&request, "/v1/vgpus/a/history", "1700000000", "1700000060", "10");
	assert_int_equal(request.reply.status, status);
	if (!strstr(request.reply.text->data, text))
		fail_msg("no \"%s\" in %s", text, request.reply.text->data);
	api_request_fini(&request);
}

static void lose_file(void)
{
	snprintf(manager->history.path, sizeof(manager->history.path), "%s",
		 "/tmp/gover-no-such-folder/x");
}

TEST(a_file_that_cannot_be_written_is_still_read)
{
	manager->history.db = db_close(manager->history.db);
	assert_query(200, "\"points\"");
}

TEST(without_a_database_the_status_is_503)
{
	manager->history.db = db_close(manager->history.db);
	lose_file();
	assert_query(503, "history: not available at present");
}

TEST(a_database_that_cannot_be_read_is_500)
{
	lose_file();
	assert_query(500, "/tmp/gover-no-such-folder/x");
}

TEST(a_request_can_be_closed_before_its_query_ends)
{
	struct api_request request = get("/v1/vgpus/a/history");

	api_serve(api, &request);
	assert_non_null(request.deferred);
	api_request_fini(&request);
	memset(&request, 0xff, sizeof(request));
	/* wait until the job of the closed request has ended */
	manager->view.queries = worker_free(manager->view.queries);
	assert_false(is_answered);
}

static const atomic_bool *stopping;

static void run_until_stopping(struct worker_job *job)
{
	(void)job;
	while (!atomic_load(stopping))
		sched_yield();
}

static void do_nothing(struct worker_job *job)
{
	(void)job;
}

TEST(a_query_at_the_stop_is_503)
{
	struct worker_job first = {.run = run_until_stopping, .done = do_nothing};
	struct api_request request = get("/v1/vgpus/a/history");

	stopping = worker_stopping(manager->view.queries);
	assert_int_equal(worker_submit(manager->view.queries, &first), 0);
	api_serve(api, &request);
	assert_non_null(request.deferred);
	manager->view.queries = worker_free(manager->view.queries);
	assert_int_equal(request.reply.status, 503);
	assert_non_null(strstr(request.reply.text->data, "history: gover-d is stopping"));
	api_request_fini(&request);
}

/* --- the history of a whole GPU --- */

#define MANY 3000 /* number of periods; with two vGPUs, the samples need more than one page */

static void add_many(void)
{
	for (int i = 0; i < MANY; i++) {
		add_samples((struct db_sample){
			.ts_ms = BEGIN_MS + 1000000 + 1000 * i,
			.sample = {.dt_s = 1.001, .busy_valid = i > 0, .load = 0.105, .util = 0.25},
			.broken = i % 2});
		if (i % 500 == 0)
			db_flush(manager->history.db);
	}
	db_commit(manager->history.db);
	db_flush(manager->history.db);
}

TEST(numbers_have_the_names_of_the_unit_of_the_gpu)
{
	static const char *const ids[] = {"/v1/vgpus/a/history", "/v1/vgpus/gone/history"};

	manager->host.gpus[0].state = GPU_OPEN;
	manager->host.gpus[0].traits.unit = GPU_WORK;
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		json_t *answer = query_json(ids[i], "1700000000", "1700000060", "10");

		expect_json(json_array_get(json_object_get(answer, "points"), 0),
			    "{'target_fps': null, 'target_rate': 60.0,"
			    "'valid': {'target_fps': 0, 'target_rate': 20}}");
		json_decref(answer);
	}
}

TEST(pages_of_a_gpu_contain_whole_periods)
{
	char from[64] = "1700001000";
	size_t rows = 0;
	int pages = 0;

	add_many();
	while (from[0] != '\0') {
		json_t *page = query_json("/v1/gpus/gpu0/history", from, "1700010000", NULL);
		const char *next = json_string_value(json_object_get(page, "next_from"));

		snprintf(from, sizeof(from), "%s", next ? next : "");
		assert_int_equal(json_array_size(json_object_get(page, "vgpus")), 2);
		assert_int_equal(json_array_size(json_object_get(page, "rows")) % 2, 0);
		rows += json_array_size(json_object_get(page, "rows"));
		assert_true(++pages < 5);
		json_decref(page);
	}
	assert_int_equal(pages, 2);
	assert_int_equal(rows, 2 * MANY);
}

TEST(an_invalid_value_of_a_row_is_null)
{
	json_t *page, *row;
	char *text;

	add_many();
	page = query_json("/v1/gpus/gpu0/history", "1700001000", "1700001002", NULL);
	row = json_array_get(json_object_get(page, "rows"), 0);
	assert_int_equal(json_array_size(row), json_array_size(json_object_get(page, "columns")));
	text = json_dumps(row, JSON_COMPACT | JSON_REAL_PRECISION(15));
	assert_string_equal(text,
			    "[1700001000000,0,1.001,40,50,null,null,null,60.0,0,0,null,null]");
	free(text);
	text = json_dumps(json_array_get(json_object_get(page, "rows"), 3),
			  JSON_COMPACT | JSON_REAL_PRECISION(15));
	assert_string_equal(text,
			    "[1700001001000,1,1.001,40,50,10.5,25.0,null,60.0,1,0,null,null]");
	free(text);
	expect_json(page, "{'next_from': null, 'kept_from': null}");
	json_decref(page);
}

TEST(the_history_of_an_unknown_gpu_is_404)
{
	assert_problem("GET /v1/gpus/nope/history", NULL, 404, "nope");
}

/* --- the load of a GPU --- */

/* Sums over "a" and "gone", and over a third vGPU that exists in half of the first step. */
TEST(the_load_of_a_gpu_is_the_sum_of_its_vgpus)
{
	json_t *answer, *points;

	for (int i = 0; i < 10; i++) {
		struct db_sample row = {
			.ts_ms = BEGIN_MS + 500 * i, .vgpu = "half", .gpu = "gpu0", .cap_pct = 20};

		assert_int_equal(db_append_samples(manager->history.db, NULL, &row, 1), 0);
	}
	db_commit(manager->history.db);
	answer = query_json("/v1/gpus/gpu0/load", "2023-11-14T22:13:20Z", "1700000060", "10");
	points = json_object_get(answer, "points");
	expect_json(answer, "{'step_s': 10}");
	assert_int_equal(json_array_size(points), 6);
	expect_json(json_array_get(points, 0), "{'sum_cap_pct': 90.0, 'load_pct': 20.0,"
					       "'vgpus': 2.5, 'broken_pct': 40.0}");
	expect_json(json_array_get(points, 1), "{'sum_cap_pct': 80.0, 'broken_pct': 50.0}");
	json_decref(answer);
}

/*
 * Adds 60 ticks of a second to GPU gpu0, of which vGPU "first" has the first 36 and "second" the
 * others, each with the whole GPU.
 */
static void add_successors(int64_t begin_ms, bool ticks)
{
	for (int i = 0; i < 60; i++) {
		struct db_gpu_sample tick = {.ts_ms = begin_ms + 1000 * i, .gpu = "gpu0"};
		struct db_sample row = {
			.ts_ms = tick.ts_ms,
			.gpu = "gpu0",
			.cap_pct = 100,
			.sample = {.dt_s = 1, .busy_valid = true, .load = 0.5, .util = 0.5},
		};

		strcpy(row.vgpu, i < 36 ? "first" : "second");
		assert_int_equal(
			db_append_samples(manager->history.db, ticks ? &tick : NULL, &row, 1), 0);
	}
	db_commit(manager->history.db);
}

TEST(vgpus_that_follow_each_other_count_for_their_parts_of_a_step)
{
	static const char point[] = "{'sum_cap_pct': 100.0, 'load_pct': 50.0, 'vgpus': 1.0}";

	for (int ticks = 0; ticks < 2; ticks++) {
		const char *from = ticks ? "1700000220" : "1700000160";
		json_t *answer;

		add_successors(1000 * strtoll(from, NULL, 10), ticks);
		answer = query_json("/v1/gpus/gpu0/load", from, ticks ? "1700000280" : "1700000220",
				    "60");
		expect_json(json_array_get(json_object_get(answer, "points"), 0), point);
		json_decref(answer);
	}
}

TEST(a_vgpu_that_existed_for_a_part_of_a_step_counts_for_this_part)
{
	json_t *answer;

	for (int i = 0; i < 60; i++) {
		struct db_gpu_sample tick = {.ts_ms = 1700000160000 + 1000 * i, .gpu = "gpu0"};
		struct db_sample row = {
			.ts_ms = tick.ts_ms, .vgpu = "late", .gpu = "gpu0", .cap_pct = 40};

		assert_int_equal(db_append_samples(manager->history.db, &tick, &row, i >= 45), 0);
	}
	db_commit(manager->history.db);
	answer = query_json("/v1/gpus/gpu0/load", "1700000160", "1700000220", "60");
	expect_json(json_array_get(json_object_get(answer, "points"), 0),
		    "{'sum_cap_pct': 10.0, 'vgpus': 0.25}");
	json_decref(answer);
}

TEST(a_load_request_is_checked)
{
	static const struct {
		const char *path, *step;
		unsigned int status;
		const char *words;
	} cases[] = {
		{"/v1/gpus/gpu0/load", "10", 200, "\"points\":[]"},
		{"/v1/gpus/gpu0/load", "0", 400, "step"},
		{"/v1/gpus/gpu9/load", "10", 404, "gpu9"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect_answer(cases[i].path, "1600000000", "1600000060", cases[i].step,
			      cases[i].status, cases[i].words);
}

/* --- GET /v1/economics: sums from a real database, with and without overselling --- */

#define HOUR_MS (INT64_C(1700000000000) / 3600000 * 3600000) /* 2023-11-14T22:00:00Z */

/*
 * Stores sums of half an hour for vGPU a (50 %) and vGPU b (80 %, flavour small). In each minute,
 * one second of vGPU a and two seconds of vGPU b are broken. Without overselling, vGPU b would run
 * only in the last ten minutes.
 */
static void fill_ledger(void)
{
	const struct db_price price = {
		.ts_ms = HOUR_MS - 1,
		.flavor = "default",
		.price_per_cap_hour = 1.5,
		.penalty_per_broken_s = 0.01,
	};

	assert_int_equal(db_append_price(manager->history.db, &price), 0);
	for (int i = 0; i < 30; i++) {
		struct db_ledger a = {
			.ts_ms = HOUR_MS + 60000 * i,
			.vgpu = "a",
			.gpu = "gpu0",
			.flavor = "default",
			.sold = {30, 1, 0.0125, 0.01},
			.kept = {30, 1, 0.0125, 0.01},
		};
		struct db_ledger b = {
			.ts_ms = HOUR_MS + 60000 * i,
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

static int begin_accounts(void)
{
	begin_database();
	fill_ledger();
	return 0;
}

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

TEST_WITH(the_reply_has_both_accounts, begin_accounts, end_database)
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

TEST_WITH(a_shorter_range_sums_its_minutes, begin_accounts, end_database)
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
	struct db_ledger row = {.ts_ms = HOUR_MS + 7200000, .gpu = "gpu0"};

	row.sold = row.kept = (struct db_money){36, 2, revenue, penalty};
	strcpy(row.vgpu, vgpu);
	strcpy(row.flavor, flavor);
	assert_int_equal(db_append_ledger(manager->history.db, &row), 0);
}

/* Two hours after the other rows: no price, then a price of one flavour, then a penalty too. */
TEST_WITH(amounts_without_a_price_are_null, begin_accounts, end_database)
{
	const char *from = "2023-11-15T00:00:00Z", *to = "2023-11-15T00:02:00Z";
	json_t *answer;

	append_price(HOUR_MS + 3600000, "default", -1, -1);
	append_price(HOUR_MS + 3600000, "none", -1, -1);
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

	append_price(HOUR_MS + 7200001, "default", 1, -1);
	append_second("d", "default", 0.01, 0);
	answer = economics(from, to);
	expect_json(answer, "{'prices_set': true, 'penalty': null}");
	check(answer, 0.01, 0, 0.01, 0.02, 4);
	expect_json(element(answer, "vgpus", 0), "{'revenue': null}");
	check(element(answer, "vgpus", 1), 0.01, 0, 0.01, 0.01, 2);
	json_decref(answer);

	append_price(HOUR_MS + 7200002, "none", -1, 0);
	answer = economics(from, to);
	assert_true(json_is_number(json_object_get(answer, "penalty")));
	assert_true(json_is_number(json_object_get(element(answer, "vgpus", 0), "penalty")));
	expect_json(element(answer, "vgpus", 0), "{'profit': null}");
	expect_json(element(answer, "vgpus", 1), "{'penalty': null}");
	json_decref(answer);
}

TEST_WITH(without_records_the_ratio_is_null, begin_accounts, end_database)
{
	json_t *answer = economics("5", "6");

	check(answer, 0, 0, 0, 0, 0);
	expect_json(answer, "{'overbooking_ratio': null, 'prices_set': false, 'revenue': null,"
			    "'vgpus': [], 'prices': []}");
	json_decref(answer);
}
