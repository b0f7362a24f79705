/* SPDX-License-Identifier: MIT */
/*
 * A token of OpenStack's Keystone, the addresses of the services, and requests to a service. A
 * token that a service refuses is renewed once for each request. The token is renewed before it
 * expires. Requests block for at most the time limit. Not thread-safe: each thread has its own.
 */
#ifndef GOVER_FLEET_CLOUD_KEYSTONE_H
#define GOVER_FLEET_CLOUD_KEYSTONE_H

#include <jansson.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/http/client.h"
#include "gover-fleet/config/fleet-config.h"

#define KEYSTONE_TOKEN_MAX 4096

struct keystone;

/*
 * Copies @config, the checked section [cloud]. With auth = none, the token is "admin", for
 * Placement's noauth2. The secret is read at each authentication. @timeout_ms: of one request, also
 * of requests to the other services. Returns -EINVAL if an address or the file of certificates is
 * not usable, or an error of fleet_config_secret_path().
 */
int keystone_new(const struct fleet_config_cloud *config, int timeout_ms,
		 struct keystone **ret_keystone, struct err *reterr);
struct keystone *keystone_free(struct keystone *keystone); /* accepts NULL; returns NULL */

/*
 * Returns 0 and a token that is valid for some minutes; it belongs to @keystone until the next
 * call. Authenticates if there is no token, or if it expires within 5 minutes. Otherwise:
 * -ENOTCONN, -ECONNRESET, -EAGAIN  no answer, or an error of the server: worth another try
 * -EACCES                          Keystone refused the credentials
 * other negative errno             the secret cannot be read, or the reply is not valid
 */
int keystone_token(struct keystone *keystone, struct instant now, const char **ret_token,
		   struct err *reterr);

/*
 * Returns 0 and the address of the service @type, "placement" or "compute", after keystone_token()
 * has succeeded; it belongs to @keystone until the next call. -ENOENT: no such endpoint.
 */
int keystone_endpoint(const struct keystone *keystone, const char *type, const char **ret_url,
		      struct err *reterr);

#define IDENTITY_URL_MAX 256

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

struct service_config {
	const char *type;    /* "placement" or "compute" */
	const char *name;    /* for messages: "Placement", "Nova" */
	const char *version; /* "placement 1.36": value of OpenStack-API-Version */
};

struct service;

/* @keystone and the texts in @config must stay valid. */
struct service *service_new(const struct service_config *config, struct keystone *keystone);
struct service *service_free(struct service *service); /* accepts NULL; returns NULL */

/*
 * Sends a request; @body NULL: no body. Returns 0 if the service has processed the request, also if
 * it refused it: the caller reads ret_reply->status (not 401, 403, 429 or >= 500) and frees
 * *ret_reply with reply_fini(). Otherwise @reterr has the message, and the result is:
 * -ENOTCONN    no connection was possible: nothing was changed
 * -ECONNRESET  the request was sent, but no complete reply arrived
 * -EAGAIN      the service, or Keystone, has an error or is overloaded
 * -EACCES      Keystone refused the credentials, or the service refused the token or the role
 * -EPROTO      a reply is not valid
 * other negative errno of keystone_token() and keystone_endpoint(), -EINVAL for their addresses
 */
int service_request(struct service *service, const char *method, const char *path,
		    const json_t *body, struct reply *ret_reply, struct err *reterr);

/*
 * Reads a document. Results as above, and -EPROTO also for another status than 200. The caller
 * frees *ret_reply in each case.
 */
int service_get(struct service *service, const char *path, struct reply *ret_reply,
		struct err *reterr);

#endif
