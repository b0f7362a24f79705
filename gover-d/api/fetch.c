/* SPDX-License-Identifier: MIT */
/*
 * A fetch is created in the event loop, reads the database in the worker thread, and replies in the
 * event loop.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "gover-d/api/fetch.h"
#include "gover-d/api/problem.h"
#include "gover-d/core/history.h"
#include "gover-d/util/worker.h"

int api_fetch_range(struct api_request *request, int64_t default_ms, int64_t *ret_from_ms,
		    int64_t *ret_to_ms)
{
	int64_t to_ms = clock_now().wall_ms, from_ms;

	if (api_query_time(request, "to", &to_ms) < 0)
		return -EINVAL;
	from_ms = to_ms > default_ms ? to_ms - default_ms : 0;
	if (api_query_time(request, "from", &from_ms) < 0)
		return -EINVAL;
	if (from_ms >= to_ms) {
		problem_reply(request, 400, "from: must be before the end of the range (to)");
		return -EINVAL;
	}
	*ret_from_ms = from_ms;
	*ret_to_ms = to_ms;
	return 0;
}

static void run(struct worker_job *job)
{
	struct api_fetch *fetch = (struct api_fetch *)job;

	fetch->read(fetch);
}

static void free_fetch(struct api_fetch *fetch)
{
	if (fetch->release)
		fetch->release(fetch);
	free(fetch->answer);
	free(fetch);
}

static void done(struct worker_job *job)
{
	struct api_fetch *fetch = (struct api_fetch *)job;
	struct api_request *request = api_deferred_end(fetch->deferred);

	if (request && fetch->result != 0) {
		problem_reply_error(request, fetch->result, &fetch->err);
	} else if (request) {
		api_request_reply_text(request, 200, API_TYPE_JSON, fetch->answer);
		fetch->answer = NULL;
	}
	if (request)
		api_request_answer(request);
	free_fetch(fetch);
}

void *api_fetch_new(struct api *api, struct api_request *request, size_t size,
		    void (*read)(struct api_fetch *fetch), int64_t from_ms, int64_t to_ms)
{
	struct api_fetch *fetch;

	if (!api->view->history->db) {
		problem_reply(request, 503, "history: not available at present");
		return NULL;
	}
	fetch = calloc(1, size);
	if (!fetch) {
		api_request_reply_no_memory(request);
		return NULL;
	}
	fetch->deferred = api_deferred_begin(request);
	if (!fetch->deferred) {
		free(fetch);
		return NULL;
	}
	fetch->job.run = run;
	fetch->job.done = done;
	fetch->db = api->view->history->db;
	fetch->from_ms = from_ms;
	fetch->to_ms = to_ms;
	fetch->read = read;
	snprintf(fetch->path, sizeof(fetch->path), "%s", api->view->history->path);
	return fetch;
}

void api_fetch_submit(struct api *api, struct api_request *request, struct api_fetch *fetch)
{
	if (worker_submit_query(api->view->worker, &fetch->job) == 0)
		return;
	api_deferred_end(fetch->deferred);
	free_fetch(fetch);
	problem_reply(request, 503, "history: too many queries are waiting; try again later");
}
