/* SPDX-License-Identifier: MIT */
/* The documents of Keystone (Identity API v3) for a token: the request and the reply. Pure. */
#ifndef GOVER_FLEET_CLOUD_IDENTITY_H
#define GOVER_FLEET_CLOUD_IDENTITY_H

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"

#define IDENTITY_URL_MAX 256

struct identity_password {
	const char *username, *user_domain; /* names */
	const char *project, *project_domain;
	const char *password;
};

/* Return the body of POST /v3/auth/tokens as a new reference; NULL: a text is not UTF-8. */
json_t *identity_encode_password(const struct identity_password *password);
json_t *identity_encode_application_credential(const char *id, const char *secret);

struct identity_token {
	int64_t lifetime_s; /* time from issue to expiry, > 0 */
	/* URLs without a trailing slash; "": the catalog has no such endpoint */
	char placement[IDENTITY_URL_MAX], compute[IDENTITY_URL_MAX];
};

/*
 * Parses the reply to POST /v3/auth/tokens. @region: "" accepts any region. Returns -EPROTO if the
 * document has another form.
 */
int identity_parse_token(const json_t *json, const char *region, struct identity_token *ret_token,
			 struct err *reterr);

#endif
