/* SPDX-License-Identifier: MIT */
/* The client is made anew if the catalog of a new token has another address. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "gover-fleet/cloud/service.h"

struct service {
	struct service_config config;
	struct keystone *keystone;
	struct client *client; /* NULL before the first request */
	char url[IDENTITY_URL_MAX];
};

struct service *service_new(const struct service_config *config, struct keystone *keystone)
{
	struct service *s = xcalloc(1, sizeof(*s));

	s->config = *config;
	s->keystone = keystone;
	return s;
}

struct service *service_free(struct service *s)
{
	if (s)
		client_free(s->client);
	free(s);
	return NULL;
}

static int prepare_client(struct service *s, struct err *reterr)
{
	const char *url = NULL;
	int r = keystone_endpoint(s->keystone, s->config.type, &url, reterr);

	if (r < 0 || (s->client && strcmp(url, s->url) == 0))
		return r;
	s->client = client_free(s->client);
	r = keystone_new_client(s->keystone, url, s->config.name, &s->client, reterr);
	if (r < 0)
		return r;
	snprintf(s->url, sizeof(s->url), "%s", url);
	return 0;
}

/* Sends the request once. */
static int send_request(struct service *s, struct client_call *call, struct reply *ret_reply,
			struct err *reterr)
{
	char token_line[KEYSTONE_TOKEN_MAX + 32], version_line[128];
	const char *const headers[] = {token_line, version_line};
	const char *token = NULL;
	int r = keystone_token(s->keystone, clock_now(), &token, reterr);

	if (r < 0)
		return r;
	snprintf(token_line, sizeof(token_line), "X-Auth-Token: %s", token);
	snprintf(version_line, sizeof(version_line), "OpenStack-API-Version: %s",
		 s->config.version);
	call->headers = headers;
	call->n_headers = ARRAY_SIZE(headers);
	r = prepare_client(s, reterr);
	if (r == 0)
		r = client_request(s->client, call, ret_reply, reterr);
	call->headers = NULL;
	call->n_headers = 0;
	explicit_bzero(token_line, sizeof(token_line));
	return r;
}

static int judge_status(const struct service *s, const struct client_call *call, long status,
			struct err *reterr)
{
	int errnum = 0;

	if (status == 401 || status == 403)
		errnum = EACCES;
	else if (status == 429 || status >= 500)
		errnum = EAGAIN;
	else if (status < 200)
		errnum = EPROTO;
	if (!errnum)
		return 0;
	return err_fail(reterr, errnum, "%s at %s: HTTP status %ld for %s %s%s", s->config.name,
			s->url, status, call->method, call->path,
			errnum == EACCES ? "; check the role of the user in the project" : "");
}

int service_request(struct service *s, const char *method, const char *path, const json_t *body,
		    struct reply *ret_reply, struct err *reterr)
{
	struct client_call call = {
		.method = method, .path = path, .body = body, .any_status = true};
	struct reply reply = {0};
	int r = send_request(s, &call, &reply, reterr);

	if (r == 0 && reply.status == 401) {
		reply_fini(&reply);
		keystone_forget(s->keystone);
		r = send_request(s, &call, &reply, reterr);
	}
	if (r == 0)
		r = judge_status(s, &call, reply.status, reterr);
	if (r < 0) {
		reply_fini(&reply);
		return r;
	}
	*ret_reply = reply;
	return 0;
}

int service_get(struct service *s, const char *path, struct reply *ret_reply, struct err *reterr)
{
	int r = service_request(s, "GET", path, NULL, ret_reply, reterr);

	if (r < 0 || ret_reply->status == 200)
		return r;
	return err_fail(reterr, EPROTO, "%s: HTTP status %ld for GET %s", s->config.name,
			ret_reply->status, path);
}
