/* SPDX-License-Identifier: MIT */
/*
 * A token of OpenStack's Keystone and the addresses of the services. The token is renewed before it
 * expires. Requests block for at most the time limit. Not thread-safe: each thread has its own.
 */
#ifndef GOVER_FLEET_CLOUD_KEYSTONE_H
#define GOVER_FLEET_CLOUD_KEYSTONE_H

#include "base/clock.h"
#include "base/err.h"
#include "client/client.h"
#include "gover-fleet/cloud/identity.h"

#define KEYSTONE_TEXT_MAX  256
#define KEYSTONE_TOKEN_MAX 4096

enum keystone_auth {
	KEYSTONE_NONE, /* the token "admin" and the addresses below, for Placement's noauth2 */
	KEYSTONE_PASSWORD,
	KEYSTONE_APPLICATION_CREDENTIAL,
};

struct keystone_config {
	enum keystone_auth auth;
	char auth_url[IDENTITY_URL_MAX]; /* with or without /v3 */
	char region[KEYSTONE_TEXT_MAX];	 /* "": any */
	char interface[16];		 /* of endpoints: public, internal, admin; "": public */
	/* names; with KEYSTONE_PASSWORD */
	char username[KEYSTONE_TEXT_MAX], user_domain[KEYSTONE_TEXT_MAX];
	char project[KEYSTONE_TEXT_MAX], project_domain[KEYSTONE_TEXT_MAX];
	char application_credential_id[KEYSTONE_TEXT_MAX];
	/* file with one line: the password or the secret; read at each authentication */
	char secret_file[CLIENT_PATH_MAX];
	char cacert[CLIENT_PATH_MAX]; /* for all services; "": certificates of the system */
	/* with KEYSTONE_NONE; "": no such service */
	char placement_url[IDENTITY_URL_MAX], compute_url[IDENTITY_URL_MAX];
	int timeout_ms; /* of one request, also of requests to the other services */
};

struct keystone;

/* Copies @config. Returns -EINVAL if an address or the file of certificates is not usable. */
int keystone_new(const struct keystone_config *config, struct keystone **ret_keystone,
		 struct err *reterr);
struct keystone *keystone_free(struct keystone *keystone); /* accepts NULL; returns NULL */

const struct keystone_config *keystone_config(const struct keystone *keystone);

/*
 * Returns 0 and a token that is valid for some minutes; it belongs to @keystone until the next
 * call. Authenticates if there is no token, or if it expires within 5 minutes. Otherwise:
 * -ENOTCONN, -ECONNRESET, -EAGAIN  no answer, or an error of the server: worth another try
 * -EACCES                          Keystone refused the credentials
 * other negative errno             the secret cannot be read, or the reply is not valid
 */
int keystone_token(struct keystone *keystone, struct instant now, const char **ret_token,
		   struct err *reterr);

/* Drops the token, after a service has refused it. */
void keystone_forget(struct keystone *keystone);

/*
 * Returns 0 and the address of the service @type, "placement" or "compute", after keystone_token()
 * has succeeded; it belongs to @keystone until the next call. -ENOENT: no such endpoint.
 */
int keystone_endpoint(const struct keystone *keystone, const char *type, const char **ret_url,
		      struct err *reterr);

#endif
