/* SPDX-License-Identifier: MIT */
/*
 * The struct of the api and functions shared by the handlers. A handler replies to the requests of
 * one route, or defers the reply.
 */
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

#define API_ROUTES_MAX 64

struct api_parked;
struct change_subject;
struct events;
struct follower;

struct api {
	struct changes *changes; /* for requests that change something */
	const struct view *view;
	struct events *events;
	int64_t sent_decision;	    /* id of the last decision that was added to events */
	struct follower *followers; /* open event streams, newest first */
	int n_followers;
	struct authn *authn;
	bool saving_tokens;	   /* tokens.json is being written */
	struct api_parked *parked; /* requests that wait for the end of a change, oldest first */
	bool resuming;		   /* api_resume() is running */
	struct metrics_tally tally;
	/* One counter for each route; the last counter is for requests that match no route. */
	struct api_counter counters[API_ROUTES_MAX + 1];
	struct metrics_route routes[API_ROUTES_MAX + 1];
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
	struct api_keys *keys; /* idempotency keys; NULL: no key was used yet */
};

typedef void (*api_handler)(struct api *api, struct api_request *request);

void api_get_host(struct api *api, struct api_request *request);
void api_get_gpus(struct api *api, struct api_request *request);
void api_get_gpu(struct api *api, struct api_request *request);
void api_patch_gpu(struct api *api, struct api_request *request);
void api_get_samples(struct api *api, struct api_request *request);
void api_get_gpu_load(struct api *api, struct api_request *request);
void api_get_health(struct api *api, struct api_request *request);
void api_get_ready(struct api *api, struct api_request *request);
void api_get_metrics(struct api *api, struct api_request *request);
void api_get_openapi(struct api *api, struct api_request *request);

void api_get_vgpus(struct api *api, struct api_request *request);
void api_post_vgpu(struct api *api, struct api_request *request);
void api_get_vgpu(struct api *api, struct api_request *request);
void api_patch_vgpu(struct api *api, struct api_request *request);
void api_get_contract(struct api *api, struct api_request *request);
void api_patch_contract(struct api *api, struct api_request *request);
void api_delete_vgpu(struct api *api, struct api_request *request);
void api_get_diagnosis(struct api *api, struct api_request *request);
void api_get_history(struct api *api, struct api_request *request);

void api_get_alerts(struct api *api, struct api_request *request);
void api_ack_alert(struct api *api, struct api_request *request);
void api_get_silences(struct api *api, struct api_request *request);
void api_get_silence(struct api *api, struct api_request *request);
void api_post_silence(struct api *api, struct api_request *request);
void api_delete_silence(struct api *api, struct api_request *request);
void api_get_decisions(struct api *api, struct api_request *request);

void api_get_offers(struct api *api, struct api_request *request);
void api_claim_offer(struct api *api, struct api_request *request);
void api_hold_offer(struct api *api, struct api_request *request);
void api_delete_offer(struct api *api, struct api_request *request);

void api_get_fleet(struct api *api, struct api_request *request);
void api_put_fleet(struct api *api, struct api_request *request);
void api_post_migration(struct api *api, struct api_request *request);

void api_get_events(struct api *api, struct api_request *request);

void api_get_economics(struct api *api, struct api_request *request);

void api_get_page(struct api *api, struct api_request *request);

void api_get_policy(struct api *api, struct api_request *request);
void api_patch_policy(struct api *api, struct api_request *request);

void api_get_tokens(struct api *api, struct api_request *request);
void api_get_token(struct api *api, struct api_request *request);
void api_post_token(struct api *api, struct api_request *request);
void api_delete_token(struct api *api, struct api_request *request);
void api_get_audit(struct api *api, struct api_request *request);

/* --- for the handlers --- */

/* Makes all cached answers outdated. Call it at the end of each tick. */
void api_tick(struct api *api);
/* Passes an event to the readers of GET /v1/events. Takes over @object. */
void api_events_add(struct api *api, enum events_kind kind, json_t *object);
/* Sends the tick event, and a comment to each idle stream. Call it once per period. */
void api_events_tick(struct api *api);
/* Closes the event streams that were opened with token @name. */
void api_events_revoke(struct api *api, const char *name);
/* Returns the text of GET /v1/vgpus, owned by @api. */
const struct api_text *api_vgpus_text(struct api *api);

/* Returns the cached text @which. If it is outdated, @make creates a new text with malloc(). */
struct api_text *api_cached(struct api *api, enum api_cached which, char *(*make)(struct api *api));
/* Replies with the text of api_cached(). */
void api_reply_cached(struct api *api, struct api_request *request, enum api_cached which,
		      const char *type, char *(*make)(struct api *api));

/* The change_subject.other of changes of tokens, which handlers make without change/change.h. */
#define API_TOKENS "tokens"

/*
 * Defers the request until no change that conflicts with @conflict is in progress. It is then
 * served from the beginning, so that its conditions hold for the state that it changes.
 */
void api_park(struct api *api, struct api_request *request, const struct change_subject *conflict);
/* Serves parked requests that need not wait any longer. Call it whenever a change has ended. */
void api_resume(struct api *api);

/* Replies with the object {@key: @list}, without paging. Takes over @list. */
void api_reply_list(struct api_request *request, const char *key, json_t *list);

/* Returns the parameters of [policy] and [offer] as an object. */
json_t *api_encode_params(const struct config *config);
/* Returns a token without its secret; NULL: unknown name. */
json_t *api_encode_token(struct api *api, const char *name);

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
