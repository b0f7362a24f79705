/* SPDX-License-Identifier: MIT */
/*
 * Times are taken as a difference of two times of Keystone, so that a wrong clock of this host does
 * not matter.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/rfc3339.h"
#include "gover-fleet/cloud/identity.h"

#define LIFETIME_MAX_S (366 * 86400LL)

json_t *identity_encode_password(const struct identity_password *password)
{
	return json_pack("{s:{s:{s:[s], s:{s:{s:s, s:{s:s}, s:s}}}, s:{s:{s:s, s:{s:s}}}}}", "auth",
			 "identity", "methods", "password", "password", "user", "name",
			 password->username, "domain", "name", password->user_domain, "password",
			 password->password, "scope", "project", "name", password->project,
			 "domain", "name", password->project_domain);
}

json_t *identity_encode_application_credential(const char *id, const char *secret)
{
	return json_pack("{s:{s:{s:[s], s:{s:s, s:s}}}}", "auth", "identity", "methods",
			 "application_credential", "application_credential", "id", id, "secret",
			 secret);
}

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
