/* SPDX-License-Identifier: MIT */
/*
 * A fetch is created in the event loop, reads the database in a thread, and replies in the event
 * loop.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "gover-d/api/fetch.h"
#include "gover-d/api/handler.h"
#include "gover-d/config/config.h"
#include "gover-d/record/history.h"
#include "gover-d/util/json.h"
#include "gover-d/util/worker.h"

#define FLUSH_MS 250 /* time limit for writing the newest rows before a query */

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

/* Replaces the result of an interrupted query by an error that the client can act on. */
static int explain(struct api_fetch *fetch, int r)
{
	if (r == -ETIME)
		return err_condition(&fetch->err, CONTROL_E_TIMED_OUT,
				     "%s: the query was not answered within %d s (query_limit_s of "
				     "[history]); ask for a shorter range or a larger step",
				     fetch->name, fetch->limit_s);
	if (r == -ECANCELED)
		return err_condition(&fetch->err, CONTROL_E_STOPPING, "%s: gover-d is stopping",
				     fetch->name);
	if (r < 0 && !fetch->err.msg[0])
		/* not 404: the rows may exist even if the database cannot be read */
		return err_fail(&fetch->err, EIO, "%s cannot be read: %s", fetch->name,
				strerror(-r));
	return r;
}

static int read_database(struct api_fetch *fetch)
{
	struct db_reader *reader;
	int r;

	if (atomic_load(fetch->limit.cancelled))
		return -ECANCELED;
	/* If the flush times out, the newest rows are missing in the answer. */
	if (fetch->db && !fetch->old_only)
		(void)db_flush_within(fetch->db, FLUSH_MS);
	if (clock_now().mono_ns >= fetch->limit.end_ns)
		return -ETIME;
	r = db_reader_open(fetch->path, &reader, &fetch->err);
	if (r == -EBUSY)
		return err_condition(&fetch->err, CONTROL_E_NO_ANSWER,
				     "%s: the database is locked by another program; try again "
				     "later",
				     fetch->name);
	if (r < 0 && !fetch->db)
		return err_condition(&fetch->err, CONTROL_E_NO_ANSWER,
				     "history: not available at present");
	if (r < 0) {
		/* the writer could open the file, so the file may be damaged since */
		db_check(fetch->db);
		return -EIO;
	}
	db_reader_limit(reader, &fetch->limit);
	r = fetch->read(fetch, reader);
	db_reader_close(reader);
	if (r == -EUCLEAN && fetch->db)
		db_check(fetch->db);
	return r;
}

static void run(struct worker_job *job)
{
	struct api_fetch *fetch = (struct api_fetch *)job;

	fetch->result = explain(fetch, read_database(fetch));
	if (fetch->result != 0)
		return;
	fetch->answer = api_text_new(json_encode_dump(fetch->document));
	fetch->document = NULL;
}

static void free_fetch(struct api_fetch *fetch)
{
	json_decref(fetch->document);
	api_text_unref(fetch->answer);
	free(fetch);
}

static void done(struct worker_job *job)
{
	struct api_fetch *fetch = (struct api_fetch *)job;
	struct api_request *request = api_deferred_end(fetch->deferred);

	if (request && fetch->result != 0)
		problem_reply_error(request, fetch->result, &fetch->err);
	else if (request)
		api_request_reply_shared(request, 200, API_TYPE_JSON, fetch->answer);
	if (request)
		api_request_answer(request);
	free_fetch(fetch);
}

void *api_fetch_new(struct api *api, struct api_request *request, const char *name, size_t size,
		    api_fetch_read read)
{
	const struct view *view = api->view;
	struct api_fetch *fetch;

	fetch = xcalloc(1, size);
	fetch->deferred = api_deferred_begin(request);
	memcpy(fetch->client, request->principal.name, sizeof(fetch->client));
	fetch->job.run = run;
	fetch->job.done = done;
	fetch->job.client = fetch->client;
	fetch->db = view->history->db;
	fetch->name = name;
	fetch->read = read;
	fetch->document = json_object();
	fetch->limit_s = view->config->query_limit_s;
	fetch->limit.end_ns = clock_now().mono_ns + (uint64_t)fetch->limit_s * NS_PER_S;
	fetch->limit.cancelled = worker_stopping(view->queries);
	snprintf(fetch->path, sizeof(fetch->path), "%s", view->history->path);
	return fetch;
}

void api_fetch_submit(struct api *api, struct api_request *request, struct api_fetch *fetch)
{
	int r = worker_submit(api->view->queries, &fetch->job);

	if (r == 0)
		return;
	api_deferred_end(fetch->deferred);
	free_fetch(fetch);
	if (r == -EDQUOT) {
		problem_reply(request, 429,
			      "history: too many queries of this caller are waiting; try again "
			      "later");
		request->reply.retry_after_s = 1;
	} else {
		problem_reply(request, 503,
			      "history: too many queries are waiting; try again later");
	}
}
