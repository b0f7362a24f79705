/* SPDX-License-Identifier: MIT */
/* The stand-in for the daemon (test-api.h) with a real database and a worker that reads it. */
#ifndef TESTS_UNIT_GOVER_D_API_TEST_API_DATABASE_H
#define TESTS_UNIT_GOVER_D_API_TEST_API_DATABASE_H
#include "gover-d/util/worker.h"
#include "tests/unit/gover-d/api/test-api.h"
#include "tests/unit/temp-folder.h"

static sd_event *event;
static bool is_answered;

static inline void begin_database(void)
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

static inline void note_answer(struct api_request *request)
{
	(void)request;
	is_answered = true;
}

/* A request of a client that may read. */
static inline struct api_request get(const char *path)
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
static inline void query(struct api_request *request, const char *path, const char *from,
			 const char *to, const char *step)
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
static inline json_t *query_json(const char *path, const char *from, const char *to,
				 const char *step)
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

#endif
