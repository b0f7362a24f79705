/* SPDX-License-Identifier: MIT */
/* The load of a GPU over REST: sums over vGPUs in a real database, and invalid requests. */
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

static void note_answer(struct api_request *request)
{
	(void)request;
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
	api_serve(api, request);
	assert_true(request->deferred || request->reply.status != 200);
	for (int i = 0; request->deferred && i < 300; i++)
		assert_true(sd_event_run(event, 100 * 1000) >= 0);
	assert_null(request->deferred);
}

/* Sums over "a" and "gone", and over a third vGPU that exists in half of the first step. */
TEST(the_load_of_a_gpu_is_the_sum_of_its_vgpus)
{
	struct api_request request = {.path = "/v1/gpus/gpu0/load"};
	json_t *answer, *points, *first, *second;

	for (int i = 0; i < 10; i++) {
		struct db_sample row = {.ts_ms = BEGIN_MS + 500 * i,
					.vgpu = "half",
					.gpu = "gpu0",
					.cap_pct = 20,
					.load_pct = NAN};

		assert_int_equal(db_append_sample(manager->history.db, &row), 0);
	}
	db_commit(manager->history.db);
	query(&request, "2023-11-14T22:13:20Z", "1700000060", "10");
	assert_int_equal(request.reply.status, 200);
	answer = json_loads(request.reply.text->data, 0, NULL);
	assert_int_equal(json_integer_value(json_object_get(answer, "step_s")), 10);
	points = json_object_get(answer, "points");
	assert_int_equal(json_array_size(points), 6);
	first = json_array_get(points, 0);
	second = json_array_get(points, 1);
	assert_true(json_number_value(json_object_get(first, "sum_cap_pct")) == 90);
	assert_true(json_number_value(json_object_get(second, "sum_cap_pct")) == 80);
	assert_true(json_number_value(json_object_get(first, "load_pct")) == 20);
	assert_true(json_number_value(json_object_get(first, "vgpus")) == 2.5);
	assert_true(json_number_value(json_object_get(first, "broken_pct")) == 40);
	assert_true(json_number_value(json_object_get(second, "broken_pct")) == 50);
	json_decref(answer);
	api_request_fini(&request);
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
		struct api_request request = {.path = cases[i].path};

		query(&request, "1600000000", "1600000060", cases[i].step);
		assert_int_equal(request.reply.status, cases[i].status);
		assert_non_null(strstr(request.reply.text->data, cases[i].words));
		api_request_fini(&request);
	}
}
