/* SPDX-License-Identifier: MIT */
/* Answers from the database. The worker thread reads them with its own connection; the loop sends
 * them. A fetch holds copies of everything it needs, because the worker must not access the host.
 */
#ifndef GOVER_D_API_FETCH_H
#define GOVER_D_API_FETCH_H

#include <limits.h>

#include "gover-d/api/handler.h"
#include "gover-d/util/worker.h"

#define API_FETCH_FLUSH_MS 250 /* how long the newest rows are waited for at most */

/* The common part of a fetch; first member of a handler's struct. */
struct api_fetch {
	struct worker_job job; /* first */
	struct api_deferred *deferred;
	struct db *db;	     /* open as long as the worker exists */
	char path[PATH_MAX]; /* of the database */
	int64_t from_ms, to_ms;
	/* Runs in the worker: sets result, and answer (from malloc) or err. */
	void (*read)(struct api_fetch *fetch);
	/* Frees other members of the handler's struct; may be NULL. */
	void (*release)(struct api_fetch *fetch);
	char *answer;
	int result;
	struct err err;
};

/* The range "from" to "to" of the request; default: the last @default_ms. -EINVAL: the reply is
 * set. */
int api_fetch_range(struct api_request *request, int64_t default_ms, int64_t *ret_from_ms,
		    int64_t *ret_to_ms);

/* Allocates a fetch of @size bytes, zero after the common part. NULL: no database or no memory; the
 * reply is set. */
void *api_fetch_new(struct api *api, struct api_request *request, size_t size,
		    void (*read)(struct api_fetch *fetch), int64_t from_ms, int64_t to_ms);

/* Passes @fetch to the worker. If too many wait, frees it and sets the reply. */
void api_fetch_submit(struct api *api, struct api_request *request, struct api_fetch *fetch);

#endif
