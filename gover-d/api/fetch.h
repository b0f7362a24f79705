/* SPDX-License-Identifier: MIT */
/*
 * A fetch is a request that is answered from the database. A thread of view->queries reads the
 * database with its own connection; the event loop sends the reply. A fetch contains copies of all
 * values that it needs, because the thread must not access struct host.
 *
 * Each fetch is answered within the time limit of a query, which includes the time in the queue.
 */
#ifndef GOVER_D_API_FETCH_H
#define GOVER_D_API_FETCH_H

#include <limits.h>
#include <stdint.h>

#include "db/db.h"
#include "gover-d/api/handler.h"
#include "gover-d/util/worker.h"

struct api_fetch;

/*
 * Runs in the thread, reads the data and adds the members of fetch->document. Returns 0, a negative
 * errno, or a code of model/error.h after it has set fetch->err. Frees all memory that
 * the struct of the handler owns.
 */
typedef int (*api_fetch_read)(struct api_fetch *fetch, struct db_reader *reader);

/*
 * The part that is common to all fetches. It must be the first member of the struct of a handler.
 */
struct api_fetch {
	struct worker_job job; /* must be the first member */
	char client[ACCESS_NAME_MAX];
	struct api_deferred *deferred;
	struct db *db; /* stays open until the threads have ended; NULL: nothing can be written */
	char path[PATH_MAX];	/* path of the database */
	int64_t from_ms, to_ms; /* range of the answer, if it has one; set by the handler */
	bool old_only; /* the newest rows, which may still be in the queue of @db, are not needed */
	const char *name; /* of the data, for messages */
	api_fetch_read read;
	int limit_s;
	struct db_limit limit;
	json_t *document;	 /* the answer */
	struct api_text *answer; /* its text */
	int result;
	struct err err;
};

/*
 * Reads the range from the query parameters "from" and "to". The default range is the last
 * @default_ms. -EINVAL: a parameter is invalid; the reply is set.
 */
int api_fetch_range(struct api_request *request, int64_t default_ms, int64_t *ret_from_ms,
		    int64_t *ret_to_ms);

/*
 * Returns a new fetch of the data @name, a struct of @size bytes that are zero after the common
 * part.
 */
void *api_fetch_new(struct api *api, struct api_request *request, const char *name, size_t size,
		    api_fetch_read read);

/* Starts @fetch. If too many fetches are waiting, frees @fetch and sets the reply. */
void api_fetch_submit(struct api *api, struct api_request *request, struct api_fetch *fetch);

#endif
