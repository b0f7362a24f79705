/* SPDX-License-Identifier: MIT */
/* Checks common to all routes, the call of the handler, and parked requests. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "gover-d/api/audit.h"
#include "gover-d/api/serve.h"

/* A request that waits for the end of a change. */
struct api_parked {
	struct api_deferred *deferred;
	struct change_subject conflict;
	struct api_parked *next;
};

static bool knows_query(const struct api_route *route, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(route->query) && route->query[i]; i++)
		if (strcmp(route->query[i], name) == 0)
			return true;
	return false;
}

/* Checks that every query parameter is known and occurs once. */
static int check_query(struct api_request *request)
{
	size_t kept = request->n_query < API_QUERY_MAX ? request->n_query : API_QUERY_MAX;

	for (size_t i = 0; i < kept; i++) {
		const char *name = request->query[i].name;

		if (!knows_query(request->route, name)) {
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

bool api_check_access(struct api_request *request)
{
	struct err err = {""};
	char text[160];
	unsigned int status;

	snprintf(text, sizeof(text), "%s %.128s", request->method, request->path);
	status = access_check(&request->principal, request->route->scope, text, &err);
	if (status == 0)
		return true;
	problem_reply(request, status, "%s", err.msg);
	if (status == 401)
		request->reply.authenticate = "Bearer realm=\"gover\"";
	request->reply.retry_after_s = request->principal.retry_after_s;
	return false;
}

void api_serve_route(struct api *api, struct api_request *request)
{
	const struct api_route *route = request->route;
	const bool changes = strcmp(route->method, "GET") != 0;

	if (!api_check_access(request) || check_query(request) < 0)
		return;
	if ((route->flags & API_OBJECT) && read_object(request) < 0)
		return;
	if (changes && !(route->flags & API_UNAUDITED))
		api_audit_begin(api, request);
	request->in_handler = true;
	route->handler(api, request);
	request->in_handler = false;
	api_audit_end(api_audit_take(request), request->reply.status,
		      request->reply.status >= 200 && request->reply.status < 300);
	json_decref(request->object);
	request->object = NULL;
	api->version += changes;
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
		api_serve_route(api, request);
		if (!request->deferred)
			api_request_answer(request);
	}
	api->resuming = false;
}

void api_free_parked(struct api *api)
{
	struct api_parked *parked;

	while ((parked = api->parked)) {
		api->parked = parked->next;
		(void)api_deferred_end(parked->deferred);
		free(parked);
	}
}
