/* SPDX-License-Identifier: MIT */
/*
 * Requests to a service of OpenStack, with a token of Keystone. A token that is refused is renewed
 * once for each request. Requests block. Not thread-safe.
 */
#ifndef GOVER_FLEET_CLOUD_SERVICE_H
#define GOVER_FLEET_CLOUD_SERVICE_H

#include "client/client.h"
#include "gover-fleet/cloud/keystone.h"

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
