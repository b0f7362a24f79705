/* SPDX-License-Identifier: MIT */
/*
 * An answer that is read from the database: put together in the worker's thread with a connection
 * of its own, sent in the loop when it is there. Must never touch the host in the worker: the fetch
 * holds copies of all it needs.
 */
#ifndef GOVER_D_API_FETCH_H
#define GOVER_D_API_FETCH_H

#include <limits.h>

#include "gover-d/api/internal.h"
#include "gover-d/util/worker.h"

#define API_FETCH_FLUSH_MS 250 /* how long the newest rows are waited for at most */

/* What every fetch has; the first member of a handler's own struct. */
struct api_fetch {
	struct worker_job job; /* first */
	struct api_later *later;
	struct db *db;	     /* open as long as the worker lives */
	char path[PATH_MAX]; /* of the database */
	int64_t from_ms, to_ms;
	/* In the worker: sets result, and answer (text from malloc) or err. */
	void (*read)(struct api_fetch *fetch);
	/* Lets go what the handler's struct owns beyond this one; NULL: nothing. */
	void (*release)(struct api_fetch *fetch);
	char *answer;
	int result;
	struct err err;
};

/* "from" and "to" of the request; without them the last @default_ms. -EINVAL: the reply says why.
 */
int api_fetch_range(struct api_request *request, int64_t default_ms, int64_t *ret_from_ms,
		    int64_t *ret_to_ms);

/* A fetch of @size bytes, zero beyond the common part. NULL: there is no database or no memory, and
 * the reply says so. */
void *api_fetch_new(struct api *api, struct api_request *request, size_t size,
		    void (*read)(struct api_fetch *fetch), int64_t from_ms, int64_t to_ms);

/* Hands @fetch over to the worker; where too many wait, frees it and the reply says so. */
void api_fetch_submit(struct api *api, struct api_request *request, struct api_fetch *fetch);

#endif
