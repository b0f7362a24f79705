/* SPDX-License-Identifier: MIT */
/* The struct of the api, the type of a route, and the functions that the handlers share. */
#ifndef GOVER_D_API_HANDLER_H
#define GOVER_D_API_HANDLER_H

#include <stdint.h>

#include "base/err.h"
#include "gover-d/api/events.h"
#include "gover-d/api/metrics.h"
#include "gover-d/api/request.h"
#include "gover-d/auth/authn.h"
#include "gover-d/manager/view.h"
#include "gover-d/model/error.h"
#include "gover-d/model/host.h"

/* Cached answers. */
enum api_cached {
	API_CACHED_HOST,
	API_CACHED_VGPUS,
	API_CACHED_METRICS,
	API_CACHED_OPENMETRICS,
	API_CACHED_COUNT
};

struct api_parked;
struct follower;

struct api {
	struct changes *changes; /* for requests that change something, and to store the ledger */
	const struct view *view;
	struct events *events;
	int64_t sent_decision;	    /* id of the last decision that was added to events */
	bool has_decisions;	    /* decisions were recorded after it */
	struct follower *followers; /* open event streams, newest first */
	int n_followers;
	struct authn *authn;
	bool saving_tokens;	/* tokens.json is being written */
	uint64_t expiry_due_ns; /* next write of the marks of expired tokens; 0: all are on disk */
	struct api_parked *parked; /* requests that wait for the end of a change, oldest first */
	bool resuming;		   /* api_resume() is running */
	/* numbers of decisions by kind since the start of the daemon */
	uint64_t decision_counts[DECISION_KINDS];
	struct metrics_route *routes; /* the last one counts requests that match no route */
	size_t n_routes;
	/*
	 * A cached answer is outdated if its @version differs from this one, or its @generation
	 * from view->generation.
	 */
	uint64_t version;
	struct api_cache {
		struct api_text *text; /* text of the answer; NULL: not yet encoded */
		uint64_t generation, version;
	} cached[API_CACHED_COUNT];
};

enum {
	API_OBJECT = 1 << 0, /* the body must be a JSON object; without this flag it is ignored */
	/* no audit row: the report of gover-fleet comes each minute and changes nothing that a
	 * client has set */
	API_UNAUDITED = 1 << 1,
};

/* A route, in the table of a file in resource/. The handler sets or defers the reply. */
struct api_route {
	const char *method, *pattern;
	void (*handler)(struct api *api, struct api_request *request);
	enum access_scope scope;
	unsigned int flags;
	const char *query[4]; /* names of the parameters */
};

/* Returns the text of GET /v1/vgpus, owned by @api. */
struct api_text *api_vgpus_text(struct api *api);

/* Returns the cached text @which. If it is outdated, @make creates a new text with malloc(). */
struct api_text *api_cached(struct api *api, enum api_cached which, char *(*make)(struct api *api));

/* Look up a GPU or a vGPU; if it is unknown, set the reply 404 and return NULL. */
const struct host_gpu *api_find_gpu(struct api *api, struct api_request *request, const char *name);
const struct vgpu *api_find_vgpu(struct api *api, struct api_request *request, const char *id,
				 const struct host_gpu **ret_gpu);

/*
 * Parse a query parameter or {id}. -EINVAL: the value is invalid; the reply is set and states the
 * allowed values.
 */
int api_query_whole(struct api_request *request, const char *name, int64_t min, int64_t max,
		    int64_t *value);
int api_query_switch(struct api_request *request, const char *name, bool *value);
int api_query_time(struct api_request *request, const char *name, int64_t *time_ms);
int api_param_number(struct api_request *request, int64_t *ret_id);

struct json_decode_field;
/*
 * Decodes the body into @target. Only the @required fields must be present. -EINVAL: the body is
 * invalid; the reply is set.
 */
int api_decode(struct api_request *request, const struct json_decode_field *fields,
	       unsigned int required, void *target, unsigned int *ret_bits);
/* Decodes the body with contract_decode(). -EINVAL: the body is invalid; the reply is set. */
int api_decode_contract(struct api_request *request, unsigned int allowed, unsigned int required,
			struct contract *contract, unsigned int *ret_fields);

/* --- errors: RFC 9457 problem documents --- */

/* Replies with a problem document whose detail is the formatted text. */
void problem_reply(struct api_request *request, unsigned int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Replies with the status for @r, an error code from a function of core (model/error.h). A negative
 * errno gives status 500, because it is a failure of the host and not an error in the request.
 */
void problem_reply_error(struct api_request *request, int r, const struct err *err);

/*
 * Parses a time up to the year 9999: RFC 3339 with any offset, or decimal seconds since 1970.
 * -EINVAL: another form or a later time.
 */
int api_time_parse(const char *text, int64_t *ret_wall_ms);

/*
 * Lists in pages. The query parameter "limit" is the size of a page. "next" in the answer is the
 * value of "after" for the next page. A page continues after an element even if that element was
 * removed. Without "limit", the reply is the whole list.
 */

/*
 * Replies with an object of two members: @key with the requested page of @list, and "next". Takes
 * over @list, whose elements must be sorted by "id".
 */
void api_list_reply_ids(struct api_request *request, const char *key, json_t *list);

/* Reply with a page of the GPUs, or of the vGPUs of @gpu (NULL: of all GPUs). */
void api_list_reply_gpus(struct api *api, struct api_request *request);
void api_list_reply_vgpus(struct api *api, struct api_request *request, const struct host_gpu *gpu);

#endif
