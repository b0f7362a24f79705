/* SPDX-License-Identifier: MIT */
/*
 * An HTTP client for the daemon, over the daemon's unix socket or a URL. Errors are returned, not
 * printed.
 */
#ifndef GOVER_CTL_CLIENT_H
#define GOVER_CTL_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <jansson.h>

#include "base/err.h"

#define CLIENT_SOCKET_DEFAULT "/run/gover/gover.sock"
#define CLIENT_PATH_MAX	      512

struct client;

/*
 * If @url is NULL, requests use the unix socket @socket. Does not connect yet. Returns -EINVAL if
 * the address is not usable.
 */
int client_new(const char *socket, const char *url, struct client **ret_client, struct err *reterr);
struct client *client_free(struct client *client); /* NULL is fine; returns NULL */

/*
 * Loads the token for requests to a URL from the file @path, which contains only one line. Returns
 * -EINVAL if the file has no token, or if the token would be sent unencrypted over a network. Does
 * nothing on a unix socket, where the daemon knows the caller's uid.
 */
int client_load_token(struct client *client, const char *path, struct err *reterr);

/* Trusts the certificates (PEM) in @path for https instead of the certificates of the system. */
int client_load_cacert(struct client *client, const char *path, struct err *reterr);

/* Returns the address as given, for messages. */
const char *client_address(const struct client *client);

/* Sets the time limit of one request. Default: 30 s. */
void client_set_timeout(struct client *client, long timeout_ms);

/* Receives a chunk of a reply that does not end. Returns false to stop. */
typedef bool (*client_chunk_fn)(void *userdata, const char *data, size_t size);

struct client_call {
	const char *method, *path;
	const json_t *body;    /* NULL: none */
	const char *key;       /* value of Idempotency-Key; NULL: no such header */
	bool any_text;	       /* the reply need not be JSON */
	client_chunk_fn chunk; /* NULL: collect the reply; else there is no time limit, and the
				  reply ends after 45 s of silence */
	void *userdata;
};

struct reply {
	long status;
	char *text; /* the body, NUL-terminated */
	size_t length;
	json_t *json; /* the body as an object; NULL: the reply has no body */
};
void reply_fini(struct reply *reply);
#define CLEANUP_REPLY __attribute__((cleanup(reply_fini)))

/*
 * Returns 0 on success; the caller frees *ret_reply. Returns CLIENT_REFUSED if the daemon replied
 * with a problem: @reterr has the detail, ret_reply->status the HTTP status. Returns -ENOTCONN: no
 * connection; -ECONNRESET: the request was sent, but no complete reply arrived; -EPROTO: the reply
 * does not come from gover-d.
 */
#define CLIENT_REFUSED 1
int client_request(struct client *client, const struct client_call *call, struct reply *ret_reply,
		   struct err *reterr);

#endif
