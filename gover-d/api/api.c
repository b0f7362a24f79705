/* SPDX-License-Identifier: MIT */
/* The list of the tables of routes, the route of a request, and the observer of the host. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-id128.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "gover-d/api/api.h"
#include "gover-d/api/resource/events-stream.h"
#include "gover-d/api/resource/routes.h"
#include "gover-d/api/serve.h"
#include "gover-d/config/config.h"
#include "gover-d/model/decisions.h"
#include "gover-d/record/encode.h"
#include "gover-d/util/json.h"

#define ROUTES(resource) resource##_routes,
static const struct api_route *const tables[] = {API_RESOURCES(ROUTES)};

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

static void add_route(struct api *api, const char *method, const char *pattern)
{
	api->routes = xreallocarray(api->routes, api->n_routes + 1, sizeof(*api->routes));
	api->routes[api->n_routes++] = (struct metrics_route){.method = method, .route = pattern};
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
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		for (const struct api_route *r = tables[i]; r->method; r++)
			add_route(api, r->method, r->pattern);
	add_route(api, "other", "none");
	return api;
}

struct api *api_free(struct api *api)
{
	if (!api)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(api->cached); i++)
		api_text_unref(api->cached[i].text);
	api_free_parked(api);
	events_free(api->events);
	free(api->routes);
	free(api);
	return NULL;
}

static void observe_decision(void *userdata, const struct decision *decision)
{
	struct api *api = userdata;

	api->decision_counts[decision->kind]++;
	api->has_decisions = true;
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
	struct api *api = userdata;

	(void)host, (void)gap, (void)now;
	api->version++;
	if (api->followers || api->has_decisions)
		api_events_tick(api);
}

/*
 * This observer does not encode a decision at once, because its caps would be written later.
 * add_decisions() encodes new decisions before the next event or at the end of the tick.
 */
const struct observer api_observer = {
	.decision = observe_decision,
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

/* Sets the route and the counter of the request. If no route matches, sets the reply. */
static bool find_route(struct api *api, struct api_request *request)
{
	const char *method = strcmp(request->method, "HEAD") == 0 ? "GET" : request->method;
	struct metrics_route *counted = api->routes;
	char allow[sizeof(request->reply.allow)] = "";
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		for (const struct api_route *r = tables[i]; r->method; r++, counted++) {
			const char *list = strcmp(r->method, "GET") == 0 ? "GET, HEAD" : r->method;

			if (!path_matches(r->pattern, request->path, request->param))
				continue;
			if (strcmp(r->method, method) == 0) {
				request->route = r;
				request->counter = &counted->counter;
				return true;
			}
			n += (size_t)snprintf(allow + n, sizeof(allow) - n, "%s%s", n ? ", " : "",
					      list);
		}
	}
	request->counter = &counted->counter;
	reply_no_route(request, allow);
	return false;
}

bool api_admit(struct api *api, struct api_request *request)
{
	if (!find_route(api, request) || !api_check_access(request))
		return false;
	request->takes_body = request->route->flags & API_OBJECT;
	return true;
}

void api_reject(struct api *api, struct api_request *request, unsigned int status, const char *text)
{
	request->counter = &api->routes[api->n_routes - 1].counter;
	problem_reply(request, status, "%s", text);
}

void api_serve(struct api *api, struct api_request *request)
{
	if (find_route(api, request))
		api_serve_route(api, request);
}
