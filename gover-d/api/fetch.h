/* SPDX-License-Identifier: MIT */
/*
 * A fetch is a request that is answered from the database. The worker thread reads the database
 * with its own connection; the event loop sends the reply. A fetch contains copies of all values
 * that it needs, because the worker thread must not access struct host.
 */
#ifndef GOVER_D_API_FETCH_H
#define GOVER_D_API_FETCH_H

#include <limits.h>

#include "gover-d/api/handler.h"
#include "gover-d/util/worker.h"

#define API_FETCH_FLUSH_MS 250 /* time limit for writing the newest rows before a query */

/*
 * The part that is common to all fetches. It must be the first member of the struct of a handler.
 */
struct api_fetch {
	struct worker_job job; /* must be the first member */
	struct api_deferred *deferred;
	struct db *db;	     /* the database; stays open until the worker is freed */
	char path[PATH_MAX]; /* path of the database */
	int64_t from_ms, to_ms;
	/* Runs in the worker thread: sets @result, and either @answer (from malloc) or @err. */
	void (*read)(struct api_fetch *fetch);
	/* Frees the members that the struct of the handler adds; may be NULL. */
	void (*release)(struct api_fetch *fetch);
	char *answer;
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
 * Returns a new fetch of @size bytes, whose bytes after the common part are zero. NULL: no database
 * or out of memory; the reply is set.
 */
void *api_fetch_new(struct api *api, struct api_request *request, size_t size,
		    void (*read)(struct api_fetch *fetch), int64_t from_ms, int64_t to_ms);

/* Passes @fetch to the worker. If too many fetches are waiting, frees @fetch and sets the reply. */
void api_fetch_submit(struct api *api, struct api_request *request, struct api_fetch *fetch);

#endif
