/* SPDX-License-Identifier: MIT */
/* The history over REST: ranges and steps of requests, and replies from a real database. */
#include <sched.h>

#include "gover-d/util/worker.h"
#include "tests/unit/gover-d/api/test-api.h"

#include "db/db.h"

#define BEGIN_MS INT64_C(1700000000000) /* 2023-11-14T22:13:20Z */
#define ROWS	 120

static const struct worker_limits limits = {
	.name = "test", .threads = 1, .waiting_max = 256, .client_max = 256};

static sd_event *event;
static char folder[32];

/*
 * A minute of samples of the vGPUs "a" and "gone", each with a load of 10 %. The vGPU "gone" does
 * not exist on the host.
 */
static void fill_database(void)
{
	static const char *const ids[] = {"a", "gone"};

	for (int i = 0; i < ROWS; i++) {
		for (size_t v = 0; v < ARRAY_SIZE(ids); v++) {
			struct db_sample row = {
				.ts_ms = BEGIN_MS + 500 * i,
				.gpu = "gpu0",
				.dt_s = 0.5,
				.cap_pct = 40,
				.initial_cap_pct = 50,
				.load_pct = 10,
				.util_pct = 25,
				.fps = NAN,
				.target_fps = 60,
				.frame_p99_ms = NAN,
				.broken = i % 2,
				.gap = i % 5 == 0,
			};

			strcpy(row.vgpu, ids[v]);
			assert_int_equal(db_append_sample(manager->history.db, &row), 0);
		}
	}
	db_commit(manager->history.db);
	db_flush(manager->history.db);
}

static int begin_history(void)
{
	const struct db_retention keep_all = {0};
	struct err err;

	stand_in_begin();
	strcpy(folder, "/tmp/gover-test-api-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(manager->history.path, sizeof(manager->history.path), "%s/history.db", folder);
	assert_int_equal(db_open(manager->history.path, &keep_all, &manager->history.db, &err), 0);
	assert_int_equal(sd_event_new(&event), 0);
	assert_int_equal(worker_new(event, &limits, &manager->view.queries), 0);
	fill_database();
	return 0;
}

static void remove_database(void)
{
	static const char *const ends[] = {"", "-wal", "-shm"};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		char name[96];

		snprintf(name, sizeof(name), "%.80s%s", manager->history.path, ends[i]);
		(void)remove(name);
	}
}

static int end_history(void)
{
	manager->view.queries = worker_free(manager->view.queries);
	event = sd_event_unref(event);
	manager->history.db = db_close(manager->history.db);
	remove_database();
	assert_int_equal(rmdir(folder), 0);
	return stand_in_end();
}

FIXTURE(begin_history, end_history)

static bool is_answered;

static void note_answer(struct api_request *request)
{
	(void)request;
	is_answered = true;
}

/* Sends the request and runs the loop until the worker has replied. */
static void query(struct api_request *request, const char *from, const char *to, const char *step)
{
	*request = (struct api_request){
		.method = "GET",
		.path = request->path,
		.principal = {.scope = ACCESS_READ},
		.query = {{"from", from}, {"to", to}, {"step", step}},
		.n_query = 3,
		.answered = note_answer,
	};
	is_answered = false;
	api_serve(api, request);
	assert_true(request->deferred || request->reply.status != 200);
	for (int i = 0; request->deferred && i < 300; i++)
		assert_true(sd_event_run(event, 100 * 1000) >= 0);
	assert_null(request->deferred);
}

TEST(the_worker_reads_the_requested_range)
{
	struct api_request request = {.path = "/v1/vgpus/a/history"};
	json_t *answer, *points, *point;

	query(&request, "2023-11-14T22:13:20Z", "1700000060", "10");
	assert_int_equal(request.reply.status, 200);
	assert_true(is_answered);
	answer = json_loads(request.reply.text->data, 0, NULL);
	assert_string_equal(json_string_value(json_object_get(answer, "vgpu")), "a");
	assert_string_equal(json_string_value(json_object_get(answer, "from")),
			    "2023-11-14T22:13:20.000Z");
	assert_string_equal(json_string_value(json_object_get(answer, "to")),
			    "2023-11-14T22:14:20.000Z");
	assert_int_equal(json_integer_value(json_object_get(answer, "step_s")), 10);
	points = json_object_get(answer, "points");
	assert_int_equal(json_array_size(points), 6);
	point = json_array_get(points, 0);
	assert_int_equal(json_object_size(point), 14);
	assert_true(json_real_value(json_object_get(point, "cap_pct")) == 40);
	assert_true(json_real_value(json_object_get(point, "load_pct")) == 10);
	assert_true(json_real_value(json_object_get(point, "broken_pct")) == 50);
	assert_true(json_is_null(json_object_get(point, "fps")));
	assert_int_equal(json_integer_value(json_object_get(point, "samples")), 20);
	json_decref(answer);
	api_request_fini(&request);
}

TEST(the_newest_sample_is_included)
{
	struct db_sample row = {.ts_ms = BEGIN_MS + 120000, .vgpu = "a", .gpu = "gpu0"};
	struct api_request request = {.path = "/v1/vgpus/a/history"};

	assert_int_equal(db_append_sample(manager->history.db, &row), 0);
	/* the query must wait until the writer thread has written the sample */
	db_commit(manager->history.db);
	query(&request, "1700000120", "1700000130", "10");
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
		struct api_request request = {.path = cases[i].path};

		query(&request, "1700000000", "1700000060", "10");
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
		struct api_request request = {.path = "/v1/vgpus/a/history"};
		CLEANUP_FREE char *gaps = NULL;
		json_t *answer;

		query(&request, cases[i].from, cases[i].to, cases[i].step);
		answer = json_loads(request.reply.text->data, 0, NULL);
		gaps = json_dumps(json_object_get(answer, "gaps"), JSON_COMPACT);
		assert_string_equal(gaps, cases[i].gaps);
		json_decref(answer);
		api_request_fini(&request);
	}
}

TEST(each_point_counts_its_valid_samples)
{
	struct api_request request = {.path = "/v1/vgpus/a/history"};
	json_t *answer, *point, *valid;

	query(&request, "1700000000", "1700000060", "10");
	answer = json_loads(request.reply.text->data, 0, NULL);
	point = json_array_get(json_object_get(answer, "points"), 0);
	valid = json_object_get(point, "valid");
	assert_int_equal(json_integer_value(json_object_get(point, "late_samples")), 4);
	assert_int_equal(json_object_size(valid), 7);
	assert_int_equal(json_integer_value(json_object_get(valid, "load_pct")), 20);
	assert_int_equal(json_integer_value(json_object_get(valid, "fps")), 0);
	assert_int_equal(json_integer_value(json_object_get(valid, "target_fps")), 20);
	json_decref(answer);
	api_request_fini(&request);
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
		{"0", 86400},	       /* since 1970: rejected, because there are too many points */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char line[96], words[32];

		snprintf(line, sizeof(line), "GET /v1/vgpus/a/history?from=%s&to=1700000000",
			 cases[i].from);
		snprintf(words, sizeof(words), "\"step_s\":%d", cases[i].step_s);
		if (strcmp(cases[i].from, "0") == 0) {
			assert_problem(line, NULL, 400, "at most 5000");
			continue;
		}

		struct api_request request = {
			.method = "GET",
			.path = "/v1/vgpus/a/history",
			.principal = {.scope = ACCESS_READ},
			.query = {{"from", cases[i].from}, {"to", "1700000000"}},
			.n_query = 2,
		};

		api_serve(api, &request);
		while (request.deferred)
			assert_true(sd_event_run(event, 100 * 1000) >= 0);
		assert_int_equal(request.reply.status, 200);
		assert_non_null(strstr(request.reply.text->data, words));
		api_request_fini(&request);
	}
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
	struct api_request request = {.path = "/v1/vgpus/a/history"};

	snprintf(manager->history.path, sizeof(manager->history.path), "%s",
		 "/tmp/gover-no-such-folder/x");
	query(&request, "1700000000", "1700000060", "10");
	assert_int_equal(request.reply.status, 500);
	assert_string_equal(request.reply.type, "application/problem+json");
	api_request_fini(&request);
	snprintf(manager->history.path, sizeof(manager->history.path), "%s/history.db", folder);
}

TEST(a_request_can_be_closed_before_its_query_ends)
{
	struct api_request request = {
		.method = "GET",
		.path = "/v1/vgpus/a/history",
		.principal = {.scope = ACCESS_READ},
		.answered = note_answer,
	};

	is_answered = false;
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
	struct api_request request = {
		.method = "GET",
		.path = "/v1/vgpus/a/history",
		.principal = {.scope = ACCESS_READ},
		.answered = note_answer,
	};

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
	static const char *const ids[] = {"a", "gone"};

	for (int i = 0; i < MANY; i++) {
		for (size_t v = 0; v < ARRAY_SIZE(ids); v++) {
			struct db_sample row = {
				.ts_ms = BEGIN_MS + 1000000 + 1000 * i,
				.gpu = "gpu0",
				.dt_s = 1.001,
				.cap_pct = 40,
				.initial_cap_pct = 50,
				.load_pct = i == 0 ? NAN : 10.5,
				.util_pct = i == 0 ? NAN : 25,
				.fps = NAN,
				.target_fps = 60,
				.frame_p99_ms = NAN,
				.broken = i % 2,
			};

			strcpy(row.vgpu, ids[v]);
			assert_int_equal(db_append_sample(manager->history.db, &row), 0);
		}
		if (i % 500 == 0)
			db_flush(manager->history.db);
	}
	db_commit(manager->history.db);
	db_flush(manager->history.db);
}

/* Returns the page that begins at @from; the caller frees it. */
static json_t *get_page(const char *from, const char *to)
{
	struct api_request request = {
		.method = "GET",
		.path = "/v1/gpus/gpu0/history",
		.principal = {.scope = ACCESS_READ},
		.query = {{"from", from}, {"to", to}},
		.n_query = 2,
		.answered = note_answer,
	};
	json_t *answer;

	api_serve(api, &request);
	for (int i = 0; request.deferred && i < 300; i++)
		assert_true(sd_event_run(event, 100 * 1000) >= 0);
	assert_int_equal(request.reply.status, 200);
	answer = json_loads(request.reply.text->data, 0, NULL);
	api_request_fini(&request);
	return answer;
}

TEST(numbers_have_the_names_of_the_unit_of_the_gpu)
{
	static const char *const ids[] = {"/v1/vgpus/a/history", "/v1/vgpus/gone/history"};
	json_t *answer, *point;

	manager->host.gpus[0].open = true;
	manager->host.gpus[0].traits.unit = GPU_WORK;
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		struct api_request request = {.path = ids[i]};

		query(&request, "1700000000", "1700000060", "10");
		answer = json_loads(request.reply.text->data, 0, NULL);
		point = json_array_get(json_object_get(answer, "points"), 0);
		assert_true(json_is_null(json_object_get(point, "target_fps")));
		assert_true(json_real_value(json_object_get(point, "target_rate")) == 60);
		point = json_object_get(point, "valid");
		assert_int_equal(json_integer_value(json_object_get(point, "target_fps")), 0);
		assert_int_equal(json_integer_value(json_object_get(point, "target_rate")), 20);
		json_decref(answer);
		api_request_fini(&request);
	}
}

TEST(pages_of_a_gpu_contain_whole_periods)
{
	char from[64] = "1700001000";
	size_t rows = 0;
	int pages = 0;

	add_many();
	while (from[0] != '\0') {
		json_t *page = get_page(from, "1700010000");
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
	page = get_page("1700001000", "1700001002");
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
	assert_true(json_is_null(json_object_get(page, "next_from")));
	assert_true(json_is_null(json_object_get(page, "kept_from")));
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
