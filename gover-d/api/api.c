/* SPDX-License-Identifier: MIT */
/* The table of routes, and checks common to all routes. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <systemd/sd-id128.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "gover-d/api/api.h"
#include "gover-d/api/change.h"
#include "gover-d/api/events.h"
#include "gover-d/api/handler.h"
#include "gover-d/auth/access.h"
#include "gover-d/change/change.h"
#include "gover-d/config/config.h"
#include "gover-d/model/decisions.h"
#include "gover-d/record/encode.h"
#include "gover-d/util/json.h"

/* Short names of the scopes, for the table of routes. */
#define OPEN	ACCESS_OPEN
#define READ	ACCESS_READ
#define OPERATE ACCESS_OPERATE
#define ADMIN	ACCESS_ADMIN

static const struct route {
	const char *method, *pattern;
	api_handler handler;
	enum access_scope scope;
	bool takes_object; /* true: the body must be a JSON object; false: a body is ignored */
	const char *query[4];
} routes[] = {
	{"GET", "/v1/host", api_get_host, READ, false, {NULL}},
	{"GET", "/v1/gpus", api_get_gpus, READ, false, {"limit", "after"}},
	{"GET", "/v1/gpus/{name}", api_get_gpu, READ, false, {NULL}},
	{"PATCH", "/v1/gpus/{name}", api_patch_gpu, OPERATE, true, {NULL}},
	{"GET", "/v1/gpus/{name}/history", api_get_samples, READ, false, {"from", "to"}},
	{"GET", "/v1/gpus/{name}/load", api_get_gpu_load, READ, false, {"from", "to", "step"}},
	{"GET", "/v1/vgpus", api_get_vgpus, READ, false, {"gpu", "limit", "after"}},
	{"POST", "/v1/vgpus", api_post_vgpu, OPERATE, true, {NULL}},
	{"GET", "/v1/vgpus/{id}", api_get_vgpu, READ, false, {NULL}},
	{"PATCH", "/v1/vgpus/{id}", api_patch_vgpu, OPERATE, true, {NULL}},
	{"DELETE", "/v1/vgpus/{id}", api_delete_vgpu, OPERATE, false, {NULL}},
	{"GET", "/v1/vgpus/{id}/contract", api_get_contract, READ, false, {NULL}},
	{"PATCH", "/v1/vgpus/{id}/contract", api_patch_contract, OPERATE, true, {NULL}},
	{"GET", "/v1/vgpus/{id}/history", api_get_history, READ, false, {"from", "to", "step"}},
	{"GET", "/v1/vgpus/{id}/diagnosis", api_get_diagnosis, READ, false, {NULL}},
	{"GET", "/v1/alerts", api_get_alerts, READ, false, {"all", "limit", "after"}},
	{"POST", "/v1/alerts/{id}/ack", api_ack_alert, OPERATE, false, {NULL}},
	{"GET", "/v1/silences", api_get_silences, READ, false, {NULL}},
	{"POST", "/v1/silences", api_post_silence, OPERATE, true, {NULL}},
	{"GET", "/v1/silences/{id}", api_get_silence, READ, false, {NULL}},
	{"DELETE", "/v1/silences/{id}", api_delete_silence, OPERATE, false, {NULL}},
	{"GET", "/v1/decisions", api_get_decisions, READ, false, {"after", "limit", "vgpu"}},
	{"GET", "/v1/offers", api_get_offers, READ, false, {"all", "limit", "after"}},
	{"POST", "/v1/offers/{id}/claim", api_claim_offer, OPERATE, true, {NULL}},
	{"POST", "/v1/offers/{id}/hold", api_hold_offer, OPERATE, true, {NULL}},
	{"DELETE", "/v1/offers/{id}", api_delete_offer, OPERATE, false, {NULL}},
	{"GET", "/v1/fleet", api_get_fleet, READ, false, {NULL}},
	{"PUT", "/v1/fleet", api_put_fleet, OPERATE, true, {NULL}},
	{"POST", "/v1/vgpus/{id}/migration", api_post_migration, OPERATE, true, {NULL}},
	{"GET", "/v1/events", api_get_events, READ, false, {"kinds", "after"}},
	{"GET", "/v1/economics", api_get_economics, READ, false, {"from", "to"}},
	{"GET", "/v1/policy", api_get_policy, READ, false, {NULL}},
	{"PATCH", "/v1/policy", api_patch_policy, OPERATE, true, {NULL}},
	{"GET", "/v1/tokens", api_get_tokens, ADMIN, false, {NULL}},
	{"POST", "/v1/tokens", api_post_token, ADMIN, true, {NULL}},
	{"GET", "/v1/tokens/{name}", api_get_token, ADMIN, false, {NULL}},
	{"DELETE", "/v1/tokens/{name}", api_delete_token, ADMIN, false, {NULL}},
	{"GET", "/v1/audit", api_get_audit, ADMIN, false, {"after", "limit"}},
	{"GET", "/healthz", api_get_health, OPEN, false, {NULL}},
	{"GET", "/readyz", api_get_ready, OPEN, false, {NULL}},
	{"GET", "/metrics", api_get_metrics, READ, false, {NULL}},
	{"GET", "/openapi.json", api_get_openapi, READ, false, {NULL}},
	{"GET", "/", api_get_page, OPEN, false, {NULL}},
	{"GET", "/web/{file}", api_get_page, OPEN, false, {NULL}},
};

_Static_assert(ARRAY_SIZE(routes) <= API_ROUTES_MAX, "each route has a counter");

/* A request that waits for the end of a change. */
struct api_parked {
	struct api_deferred *deferred;
	struct change_subject conflict;
	struct api_parked *next;
};

/*
 * Creates the ring of events. Each event id begins with a random text that identifies this run of
 * the daemon. NULL: the kernel has no random numbers.
 */
static struct events *make_events(void)
{
	char boot[17];
	sd_id128_t id;

	if (sd_id128_randomize(&id) < 0)
		return NULL;
	snprintf(boot, sizeof(boot), "%016" PRIx64, id.qwords[0]);
	return events_new(boot);
}

struct api *api_new(struct changes *changes, const struct view *view, struct authn *authn)
{
	struct api *api = xcalloc(1, sizeof(*api));

	api->changes = changes;
	api->view = view;
	api->authn = authn;
	api->events = make_events();
	if (!api->events)
		return api_free(api);
	api->sent_decision = decisions_last_id(view->decisions);
	for (size_t i = 0; i <= ARRAY_SIZE(routes); i++) {
		bool none = i == ARRAY_SIZE(routes);

		api->routes[i] = (struct metrics_route){
			.method = none ? "other" : routes[i].method,
			.route = none ? "none" : routes[i].pattern,
			.counter = &api->counters[i],
		};
	}
	api->n_routes = ARRAY_SIZE(routes) + 1;
	metrics_tally_begin(&api->tally, view->decisions);
	return api;
}

static void free_parked(struct api *api)
{
	struct api_parked *parked;

	while ((parked = api->parked)) {
		api->parked = parked->next;
		(void)api_deferred_end(parked->deferred);
		free(parked);
	}
}

struct api *api_free(struct api *api)
{
	if (!api)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(api->cached); i++)
		api_text_unref(api->cached[i].text);
	free_parked(api);
	events_free(api->events);
	api_keys_free(api->keys);
	free(api);
	return NULL;
}

void api_tick(struct api *api)
{
	metrics_tally_decisions(&api->tally, api->view->decisions);
	api->version++;
	api_events_tick(api);
}

static void observe_alert(void *userdata, const struct alert *alert, enum alert_event event)
{
	struct api *api = userdata;

	(void)event;
	api_events_add(api, EVENTS_ALERT, encode_alert(alert, api->view->config->runbook_url));
}

static void observe_offer(void *userdata, const struct offer *offer, const char *vm)
{
	(void)vm;
	api_events_add(userdata, EVENTS_OFFER, encode_offer(offer, clock_now()));
}

static void observe_change(void *userdata, const char *what, const char *id)
{
	api_events_add(userdata, EVENTS_CHANGE,
		       json_pack("{s:s, s:o}", "what", what, "id", json_encode_name(id)));
}

static void observe_tick(void *userdata, const struct host *host, bool gap, struct instant now)
{
	(void)host, (void)gap, (void)now;
	api_tick(userdata);
}

/*
 * This observer has no callback for decisions: if a decision were encoded at once, its caps would
 * be written later. add_decisions() encodes new decisions before the next event or at the end of
 * the tick.
 */
const struct observer api_observer = {
	.alert = observe_alert,
	.offer = observe_offer,
	.change = observe_change,
	.tick = observe_tick,
};

static bool path_matches(const char *pattern, const char *path, char param[API_PARAM_MAX])
{
	while (*pattern) {
		if (*pattern == '{') {
			size_t n = strcspn(path, "/");

			if (n == 0 || n >= API_PARAM_MAX)
				return false;
			memcpy(param, path, n);
			param[n] = '\0';
			path += n;
			pattern = strchr(pattern, '}') + 1;
		} else if (*pattern++ != *path++) {
			return false;
		}
	}
	return *path == '\0';
}

static void reply_no_route(struct api_request *request, const char *allow)
{
	if (!allow[0]) {
		problem_reply(request, 404, "%s: not found", request->path);
		return;
	}
	problem_reply(request, 405, "%s: method %s is not allowed (allowed: %s)", request->path,
		      request->method, allow);
	snprintf(request->reply.allow, sizeof(request->reply.allow), "%s", allow);
}

static const struct route *find_route(struct api_request *request)
{
	const char *method = strcmp(request->method, "HEAD") == 0 ? "GET" : request->method;
	char allow[sizeof(request->reply.allow)] = "";
	size_t n = 0;

	for (const struct route *r = routes; r < routes + ARRAY_SIZE(routes); r++) {
		const char *list = strcmp(r->method, "GET") == 0 ? "GET, HEAD" : r->method;

		if (!path_matches(r->pattern, request->path, request->param))
			continue;
		if (strcmp(r->method, method) == 0)
			return r;
		n += (size_t)snprintf(allow + n, sizeof(allow) - n, "%s%s", n ? ", " : "", list);
	}
	reply_no_route(request, allow);
	return NULL;
}

static bool knows_query(const struct route *route, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(route->query) && route->query[i]; i++)
		if (strcmp(route->query[i], name) == 0)
			return true;
	return false;
}

/* Checks that every query parameter is known and occurs once. */
static int check_query(const struct route *route, struct api_request *request)
{
	size_t kept = request->n_query < API_QUERY_MAX ? request->n_query : API_QUERY_MAX;

	for (size_t i = 0; i < kept; i++) {
		const char *name = request->query[i].name;

		if (!knows_query(route, name)) {
			problem_reply(request, 400, "%.100s: unknown parameter", name);
			return -EINVAL;
		}
		if (api_request_query(request, name) != request->query[i].value) {
			problem_reply(request, 400, "%s: given twice", name);
			return -EINVAL;
		}
	}
	return 0;
}

static bool is_type(const char *content_type, const char *type)
{
	size_t n = strlen(type);

	return content_type && strncasecmp(content_type, type, n) == 0 &&
	       (content_type[n] == '\0' || content_type[n] == ';' || content_type[n] == ' ');
}

/* Checks the type and the coding of the body. The headers of the reply name the allowed ones. */
static int check_content(struct api_request *request)
{
	static const struct api_header coding[] = {{"Accept-Encoding", "identity"}, {0}},
				       type[] = {{"Accept", API_TYPE_JSON}, {0}},
				       patch[] = {
					       {"Accept", API_TYPE_JSON ", " API_TYPE_MERGE},
					       {"Accept-Patch", API_TYPE_JSON ", " API_TYPE_MERGE},
					       {0}};
	const bool patches = strcmp(request->method, "PATCH") == 0;
	const struct api_header *allowed = patches ? patch : type;

	request->merges = patches && is_type(request->content_type, API_TYPE_MERGE);
	if (request->content_encoding && strcasecmp(request->content_encoding, "identity") != 0) {
		problem_reply(request, 415,
			      "Content-Encoding: %.100s is not supported (allowed: identity)",
			      request->content_encoding);
		request->reply.headers = coding;
		return -EINVAL;
	}
	if (request->merges || is_type(request->content_type, API_TYPE_JSON))
		return 0;
	problem_reply(request, 415, "Content-Type: %.100s is not supported (allowed: %s)",
		      request->content_type ? request->content_type : "(none)", allowed->value);
	request->reply.headers = allowed;
	return -EINVAL;
}

static int read_object(struct api_request *request)
{
	json_error_t error;
	json_t *body;

	if (check_content(request) < 0)
		return -EINVAL;
	body = json_loadb(request->body ? request->body : "", request->body_length,
			  JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	if (!body) {
		bool big = json_error_code(&error) == json_error_numeric_overflow;

		problem_reply(request, big ? 422 : 400,
			      "the body is not JSON: line %d, column %d: %s", error.line,
			      error.column, error.text);
		return -EINVAL;
	}
	if (!json_is_object(body)) {
		json_decref(body);
		problem_reply(request, 400, "the body is not a JSON object");
		return -EINVAL;
	}
	request->object = body;
	return 0;
}

static bool check_access(const struct route *route, struct api_request *request)
{
	struct err err = {""};
	char text[160];
	unsigned int status;

	snprintf(text, sizeof(text), "%s %.128s", request->method, request->path);
	status = access_check(&request->principal, route->scope, text, &err);
	if (status == 0)
		return true;
	problem_reply(request, status, "%s", err.msg);
	if (status == 401)
		request->reply.authenticate = "Bearer realm=\"gover\"";
	request->reply.retry_after_s = request->principal.retry_after_s;
	return false;
}

static void count_for(struct api *api, const struct route *route, struct api_request *request)
{
	request->counter = &api->counters[route ? (size_t)(route - routes) : ARRAY_SIZE(routes)];
}

bool api_admit(struct api *api, struct api_request *request)
{
	const struct route *route = find_route(request);

	count_for(api, route, request);
	if (!route || !check_access(route, request))
		return false;
	request->takes_body = route->takes_object;
	return true;
}

void api_reject(struct api *api, struct api_request *request, unsigned int status, const char *text)
{
	count_for(api, NULL, request);
	problem_reply(request, status, "%s", text);
}

static void serve(struct api *api, const struct route *route, struct api_request *request)
{
	if (!route || !check_access(route, request) || check_query(route, request) < 0)
		return;
	if (route->takes_object && read_object(request) < 0)
		return;
	/* The report of gover-fleet comes each minute, and changes nothing set by a client. */
	if (strcmp(route->method, "GET") != 0 && route->handler != api_put_fleet)
		api_audit_begin(api, request);
	request->in_handler = true;
	route->handler(api, request);
	request->in_handler = false;
	api_audit_end(api_audit_take(request), request->reply.status,
		      request->reply.status >= 200 && request->reply.status < 300);
	json_decref(request->object);
	request->object = NULL;
	if (strcmp(route->method, "GET") != 0)
		api->version++;
}

/* --- requests that wait for a change --- */

void api_park(struct api *api, struct api_request *request, const struct change_subject *conflict)
{
	struct api_parked *parked = xcalloc(1, sizeof(*parked)), **end = &api->parked;

	parked->deferred = api_deferred_begin(request);
	parked->conflict = *conflict;
	while (*end)
		end = &(*end)->next;
	*end = parked;
}

void api_resume(struct api *api)
{
	struct api_parked **at = &api->parked;

	if (api->resuming) /* a resumed request has ended at once: the loop below continues */
		return;
	api->resuming = true;
	while (*at) {
		struct api_parked *parked = *at;
		const struct change_subject *conflict = &parked->conflict;
		struct api_request *request;

		if (change_conflicts(api->changes, conflict) ||
		    (api->saving_tokens && conflict->other &&
		     strcmp(conflict->other, API_TOKENS) == 0)) {
			at = &parked->next;
			continue;
		}
		*at = parked->next;
		request = api_deferred_end(parked->deferred);
		free(parked);
		if (!request) /* the client has disconnected */
			continue;
		serve(api, find_route(request), request);
		if (!request->deferred)
			api_request_answer(request);
	}
	api->resuming = false;
}

void api_serve(struct api *api, struct api_request *request)
{
	const struct route *route = find_route(request);

	count_for(api, route, request);
	serve(api, route, request);
}
