/* SPDX-License-Identifier: MIT */
/*
 * The history and the load of a GPU over REST: ranges and steps of requests, and replies from a
 * real database.
 */
#include <sched.h>

#include "tests/unit/gover-d/api/test-api-database.h"

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
	row.fps = row.frame_p99_ms = NAN;
	row.target_fps = 60;
	for (size_t v = 0; v < ARRAY_SIZE(ids); v++) {
		strcpy(row.vgpu, ids[v]);
		assert_int_equal(db_append_sample(manager->history.db, &row), 0);
	}
}

/* A minute of samples, each with a load of 10 %. */
static void fill_database(void)
{
	for (int i = 0; i < ROWS; i++)
		add_samples((struct db_sample){.ts_ms = BEGIN_MS + 500 * i,
					       .dt_s = 0.5,
					       .load_pct = 10,
					       .util_pct = 25,
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
	struct api_request request;

	assert_int_equal(db_append_sample(manager->history.db, &row), 0);
	/* the query must wait until the writer thread has written the sample */
	db_commit(manager->history.db);
	query(&request, "/v1/vgpus/a/history", "1700000120", "1700000130", "10");
	assert_int_equal(request.reply.status, 200);
	assert_non_null(strstr(request.reply.text->data, "\"samples\":1"));
	api_request_fini(&request);
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
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct api_request request;

		query(&request, cases[i].path, "1700000000", "1700000060", "10");
		assert_int_equal(request.reply.status, cases[i].status);
		assert_non_null(strstr(request.reply.text->data, cases[i].words));
		api_request_fini(&request);
	}
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
		struct api_request request;
		char words[32];

		query(&request, "/v1/vgpus/a/history", cases[i].from, "1700000000", NULL);
		snprintf(words, sizeof(words), "\"step_s\":%d", cases[i].step_s);
		assert_int_equal(request.reply.status, 200);
		assert_non_null(strstr(request.reply.text->data, words));
		api_request_fini(&request);
	}
	/* since 1970 */
	assert_problem("GET /v1/vgpus/a/history?from=0&to=1700000000", NULL, 400, "at most 5000");
}

TEST(an_invalid_range_is_400)
{
	static const struct {
		const char *query, *words;
	} cases[] = {
		{"from=yesterday", "from: yesterday is invalid"},
		{"to=1e99", "to: 1e99"},
		{"from=5&to=5", "from: must be before the end of the range (to)"},
		{"from=6&to=5", "from: must be before the end of the range (to)"},
		{"step=0", "1..86400"},
		{"step=86401", "1..86400"},
		{"step=1.5", "step: 1.5"},
		{"from=0&to=5001&step=1", "5001 points"},
		{"points=5", "points"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char line[96];

		snprintf(line, sizeof(line), "GET /v1/vgpus/a/history?%s", cases[i].query);
		assert_problem(line, NULL, 400, cases[i].words);
	}
}

TEST(without_a_database_the_status_is_503)
{
	manager->history.db = db_close(manager->history.db);
	assert_problem("GET /v1/vgpus/a/history", NULL, 503, "history: not available");
}

TEST(a_database_that_cannot_be_read_is_500)
{
	struct api_request request;

	snprintf(manager->history.path, sizeof(manager->history.path), "%s",
		 "/tmp/gover-no-such-folder/x");
	query(&request, "/v1/vgpus/a/history", "1700000000", "1700000060", "10");
	assert_int_equal(request.reply.status, 500);
	assert_string_equal(request.reply.type, "application/problem+json");
	api_request_fini(&request);
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
		add_samples((struct db_sample){.ts_ms = BEGIN_MS + 1000000 + 1000 * i,
					       .dt_s = 1.001,
					       .load_pct = i == 0 ? NAN : 10.5,
					       .util_pct = i == 0 ? NAN : 25,
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

	manager->host.gpus[0].open = true;
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

TEST(an_unknown_gpu_or_invalid_range_is_rejected)
{
	assert_problem("GET /v1/gpus/nope/history", NULL, 404, "nope");
	assert_problem("GET /v1/gpus/gpu0/history?from=6&to=5", NULL, 400, "from: must be before");
	assert_problem("GET /v1/gpus/gpu0/history?step=1", NULL, 400, "step");
	manager->history.db = db_close(manager->history.db);
	assert_problem("GET /v1/gpus/gpu0/history", NULL, 503, "history: not available");
}

/* --- the load of a GPU --- */

/* Sums over "a" and "gone", and over a third vGPU that exists in half of the first step. */
TEST(the_load_of_a_gpu_is_the_sum_of_its_vgpus)
{
	json_t *answer, *points;

	for (int i = 0; i < 10; i++) {
		struct db_sample row = {.ts_ms = BEGIN_MS + 500 * i,
					.vgpu = "half",
					.gpu = "gpu0",
					.cap_pct = 20,
					.load_pct = NAN};

		assert_int_equal(db_append_sample(manager->history.db, &row), 0);
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

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct api_request request;

		query(&request, cases[i].path, "1600000000", "1600000060", cases[i].step);
		assert_int_equal(request.reply.status, cases[i].status);
		assert_non_null(strstr(request.reply.text->data, cases[i].words));
		api_request_fini(&request);
	}
}
