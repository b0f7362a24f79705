/* SPDX-License-Identifier: MIT */
/*
 * Tokens, the addresses in the catalog, and requests. A token is dropped only if it has expired or
 * was refused: if its renewal fails because Keystone does not answer, the old token is used until
 * it expires.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/http/client.h"
#include "base/rfc3339.h"
#include "base/xalloc.h"
#include "gover-fleet/cloud/keystone.h"
#include "gover-fleet/config/fleet-config.h"

#define LIFETIME_MAX_S (366 * 86400LL)

static int wrong(struct err *reterr, const char *what)
{
	return err_fail(reterr, EPROTO, "reply of Keystone: %s: missing or not valid", what);
}

static bool parse_time(const json_t *json, int64_t *ret_ms)
{
	const char *text = json_string_value(json);

	return text && rfc3339_parse(text, ret_ms) == 0;
}

/* Copies a URL without a trailing slash. */
static bool take_url(const json_t *json, char ret_url[IDENTITY_URL_MAX])
{
	const char *url = json_string_value(json);
	size_t n = url ? strlen(url) : 0;

	while (n > 0 && url[n - 1] == '/')
		n--;
	if (!url || n == 0 || n >= IDENTITY_URL_MAX ||
	    (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0))
		return false;
	for (size_t i = 0; i < n; i++)
		if (url[i] <= ' ' || url[i] > '~')
			return false;
	memcpy(ret_url, url, n);
	ret_url[n] = '\0';
	return true;
}

static bool is_text(const json_t *object, const char *member, const char *text)
{
	const char *value = json_string_value(json_object_get(object, member));

	return value && strcmp(value, text) == 0;
}

static bool endpoint_fits(const json_t *endpoint, const char *region)
{
	return is_text(endpoint, "interface", "public") &&
	       (!region[0] || is_text(endpoint, "region_id", region) ||
		is_text(endpoint, "region", region));
}

/* Takes the URL of an endpoint if it is the first that fits. */
static int parse_endpoint(const json_t *service, const json_t *endpoint, const char *region,
			  struct identity_token *token, struct err *reterr)
{
	char *url = NULL;

	if (is_text(service, "type", "placement"))
		url = token->placement;
	else if (is_text(service, "type", "compute"))
		url = token->compute;
	if (!url || url[0] || !endpoint_fits(endpoint, region))
		return 0;
	return take_url(json_object_get(endpoint, "url"), url) ? 0 : wrong(reterr, "url");
}

static int parse_catalog(const json_t *catalog, const char *region, struct identity_token *token,
			 struct err *reterr)
{
	const json_t *service, *endpoint;
	size_t i, j;
	int r = 0;

	if (!json_is_array(catalog))
		return wrong(reterr, "catalog");
	json_array_foreach (catalog, i, service) {
		json_array_foreach (json_object_get(service, "endpoints"), j, endpoint) {
			r = parse_endpoint(service, endpoint, region, token, reterr);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

int identity_parse_token(const json_t *json, const char *region, struct identity_token *ret_token,
			 struct err *reterr)
{
	const json_t *body = json_object_get(json, "token");
	struct identity_token token = {0};
	int64_t issued_ms, expires_ms;
	int r;

	if (!parse_time(json_object_get(body, "issued_at"), &issued_ms))
		return wrong(reterr, "issued_at");
	if (!parse_time(json_object_get(body, "expires_at"), &expires_ms) ||
	    expires_ms <= issued_ms || expires_ms - issued_ms > LIFETIME_MAX_S * 1000)
		return wrong(reterr, "expires_at");
	token.lifetime_s = (expires_ms - issued_ms + 999) / 1000;
	r = parse_catalog(json_object_get(body, "catalog"), region, &token, reterr);
	if (r == 0)
		*ret_token = token;
	return r;
}

#define RENEW_S	   300 /* before the expiry, but at most half of the lifetime */
#define RETRY_S	   30  /* between two tries to renew a token that is still valid */
#define SECRET_MAX 4096

struct keystone {
	struct fleet_config_cloud config;
	char secret_file[CLIENT_PATH_MAX];
	int timeout_ms;
	struct client *client;		/* NULL with auth = none */
	char path[16];			/* of the request for a token: with or without /v3 */
	char token[KEYSTONE_TOKEN_MAX]; /* "": none */
	/* CLOCK_BOOTTIME, because a token also expires while this host is suspended */
	uint64_t renew_ns, expires_ns;
	struct identity_token identity;
};

static bool has_auth(const struct fleet_config_cloud *config)
{
	return strcmp(config->auth, "none") != 0;
}

/*
 * Creates a client for the service @name at @url, with the time limit and the certificates of
 * @keystone. Errors are those of client_new() and client_load_cacert().
 */
static int new_client(const struct keystone *k, const char *url, const char *name,
		      struct client **ret_client, struct err *reterr)
{
	struct client *client = NULL;
	int r = client_new(NULL, url, &client, reterr);

	if (r < 0)
		return r;
	client_set_service(client, name);
	client_set_timeout(client, k->timeout_ms);
	if (k->config.cacert[0])
		r = client_load_cacert(client, k->config.cacert, reterr);
	if (r < 0)
		client_free(client);
	else
		*ret_client = client;
	return r;
}

int keystone_new(const struct fleet_config_cloud *config, int timeout_ms,
		 struct keystone **ret_keystone, struct err *reterr)
{
	struct keystone *k = xcalloc(1, sizeof(*k));
	size_t n = strlen(config->auth_url);
	int r = 0;

	k->config = *config;
	k->timeout_ms = timeout_ms;
	snprintf(k->path, sizeof(k->path), "%s/auth/tokens",
		 n >= 3 && strcmp(config->auth_url + n - 3, "/v3") == 0 ? "" : "/v3");
	if (has_auth(config))
		r = fleet_config_secret_path(config, k->secret_file, sizeof(k->secret_file),
					     reterr);
	if (r == 0 && has_auth(config))
		r = new_client(k, config->auth_url, "Keystone", &k->client, reterr);
	if (r < 0) {
		keystone_free(k);
		return r;
	}
	*ret_keystone = k;
	return 0;
}

struct keystone *keystone_free(struct keystone *k)
{
	if (!k)
		return NULL;
	client_free(k->client);
	explicit_bzero(k->token, sizeof(k->token));
	free(k);
	return NULL;
}

/* --- authentication --- */

/* Reads the one line of the file. The message does not contain the secret. */
static int read_secret(const char *path, char ret_secret[SECRET_MAX], struct err *reterr)
{
	CLEANUP_FREE char *text = NULL;
	int r = file_read(path, SECRET_MAX, &text, NULL);
	size_t n;

	if (r < 0)
		return err_fail(reterr, -r, "secret_file '%s': %s", path, file_error(r));
	n = strcspn(text, "\r\n");
	if (n == 0 || n >= SECRET_MAX || text[n + strspn(text + n, "\r\n")] != '\0')
		r = err_fail(reterr, EINVAL,
			     "secret_file '%s': must have one line of 1 to %d "
			     "characters",
			     path, SECRET_MAX - 1);
	else
		snprintf(ret_secret, SECRET_MAX, "%.*s", (int)n, text);
	explicit_bzero(text, strlen(text));
	return r;
}

/* Returns the body of POST /v3/auth/tokens as a new reference; NULL: a text is not UTF-8. */
static json_t *encode_request(const struct fleet_config_cloud *config, const char *secret)
{
	if (strcmp(config->auth, "application_credential") == 0)
		return json_pack("{s:{s:{s:[s], s:{s:s, s:s}}}}", "auth", "identity", "methods",
				 "application_credential", "application_credential", "id",
				 config->application_credential_id, "secret", secret);
	return json_pack("{s:{s:{s:[s], s:{s:{s:s, s:{s:s}, s:s}}}, s:{s:{s:s, s:{s:s}}}}}", "auth",
			 "identity", "methods", "password", "password", "user", "name",
			 config->username, "domain", "name", config->user_domain, "password",
			 secret, "scope", "project", "name", config->project, "domain", "name",
			 config->project_domain);
}

static int judge_status(const struct keystone *k, const struct reply *reply, struct err *reterr)
{
	if (reply->status == 201)
		return 0;
	if (reply->status == 401 || reply->status == 403)
		return err_fail(reterr, EACCES,
				"Keystone at %s refused the credentials (HTTP status %ld); check "
				"user, project and secret_file",
				k->config.auth_url, reply->status);
	if (reply->status >= 500 || reply->status == 429)
		return err_fail(reterr, EAGAIN, "Keystone at %s: HTTP status %ld",
				k->config.auth_url, reply->status);
	return err_fail(reterr, EPROTO, "Keystone at %s: HTTP status %ld for %s",
			k->config.auth_url, reply->status, k->path);
}

static int take_token(struct keystone *k, const struct reply *reply, struct instant now,
		      struct err *reterr)
{
	struct identity_token identity;
	int64_t margin_s;
	int r = judge_status(k, reply, reterr);

	if (r < 0)
		return r;
	if (!reply->header || !reply->header[0] || strlen(reply->header) >= KEYSTONE_TOKEN_MAX)
		return err_fail(reterr, EPROTO,
				"reply of Keystone: X-Subject-Token: missing or not valid");
	r = identity_parse_token(reply->json, k->config.region, &identity, reterr);
	if (r < 0)
		return r;
	k->identity = identity;
	strcpy(k->token, reply->header);
	margin_s = identity.lifetime_s / 2 < RENEW_S ? identity.lifetime_s / 2 : RENEW_S;
	k->expires_ns = now.boot_ns + (uint64_t)identity.lifetime_s * NS_PER_S;
	k->renew_ns = k->expires_ns - (uint64_t)margin_s * NS_PER_S;
	return 0;
}

static int authenticate(struct keystone *k, struct instant now, struct err *reterr)
{
	struct client_call call = {
		.method = "POST", .path = k->path, .wanted = "X-Subject-Token", .any_status = true};
	CLEANUP_REPLY struct reply reply = {0};
	char secret[SECRET_MAX];
	json_t *body;
	int r = read_secret(k->secret_file, secret, reterr);

	if (r < 0)
		return r;
	body = encode_request(&k->config, secret);
	explicit_bzero(secret, sizeof(secret));
	if (!body)
		return err_fail(reterr, EILSEQ, "keystone: a credential is not UTF-8");
	call.body = body;
	r = client_request(k->client, &call, &reply, reterr);
	json_decref(body);
	return r < 0 ? r : take_token(k, &reply, now, reterr);
}

/* Drops the token, after a service has refused it. */
static void forget_token(struct keystone *k)
{
	explicit_bzero(k->token, sizeof(k->token));
}

int keystone_token(struct keystone *k, struct instant now, const char **ret_token,
		   struct err *reterr)
{
	int r = 0;

	if (!has_auth(&k->config)) {
		*ret_token = "admin";
		return 0;
	}
	if (!k->token[0] || now.boot_ns >= k->renew_ns)
		r = authenticate(k, now, reterr);
	if (r < 0 && k->token[0] && now.boot_ns < k->expires_ns) {
		k->renew_ns = now.boot_ns + RETRY_S * NS_PER_S;
		r = 0;
	}
	if (r < 0) {
		forget_token(k);
		return r;
	}
	*ret_token = k->token;
	return 0;
}

int keystone_endpoint(const struct keystone *k, const char *type, const char **ret_url,
		      struct err *reterr)
{
	bool none = !has_auth(&k->config);
	const char *url = "";

	if (strcmp(type, "placement") == 0)
		url = none ? k->config.placement_url : k->identity.placement;
	else if (strcmp(type, "compute") == 0)
		url = none ? k->config.compute_url : k->identity.compute;
	if (!url[0] && none)
		return err_fail(reterr, ENOENT, "%s_url: required with auth = none", type);
	if (!url[0])
		return err_fail(reterr, ENOENT,
				"Keystone at %s: the catalog has no public endpoint of type %s%s%s",
				k->config.auth_url, type, k->config.region[0] ? " in region " : "",
				k->config.region);
	*ret_url = url;
	return 0;
}

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
	r = new_client(s->keystone, url, s->config.name, &s->client, reterr);
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

static int judge_answer(const struct service *s, const struct client_call *call, long status,
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
		forget_token(s->keystone);
		r = send_request(s, &call, &reply, reterr);
	}
	if (r == 0)
		r = judge_answer(s, &call, reply.status, reterr);
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
