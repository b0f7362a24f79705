/* SPDX-License-Identifier: MIT */
/* HTTP to the daemon, over its unix socket or a URL. Errors are returned, not printed. */
#ifndef GOVER_CTL_CLIENT_H
#define GOVER_CTL_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <jansson.h>

#include "base/err.h"

#define CLIENT_SOCKET_DEFAULT "/run/gover/gover.sock"
#define CLIENT_PATH_MAX	      512

struct client;

/* @url NULL: use the unix socket @socket. Does not connect yet. -EINVAL: the address is not usable.
 */
int client_new(const char *socket, const char *url, struct client **ret_client, struct err *reterr);
struct client *client_free(struct client *client); /* NULL is fine; returns NULL */

/*
 * Loads the token that requests to a URL carry: the only line of the file @path. -EINVAL: the file
 * has no token, or the URL would send it unencrypted over a network. Does nothing on a unix socket,
 * where the daemon knows the caller's uid.
 */
int client_load_token(struct client *client, const char *path, struct err *reterr);

/* Trusts the certificates (PEM) in @path for https instead of those of the system. */
int client_load_cacert(struct client *client, const char *path, struct err *reterr);

/* The address as given, for messages. */
const char *client_address(const struct client *client);

/* The time limit of one request. Default: 30 s. */
void client_set_timeout(struct client *client, long timeout_ms);

/* Receives a chunk of a reply that does not end. Returns false to stop. */
typedef bool (*client_chunk_fn)(void *userdata, const char *data, size_t size);

struct client_call {
	const char *method, *path;
	const json_t *body;    /* NULL: none */
	const char *key;       /* Idempotency-Key; NULL: none */
	bool any_text;	       /* the reply need not be JSON */
	client_chunk_fn chunk; /* NULL: collect the reply; else there is no time limit, and the
				  reply ends after 45 s of silence */
	void *userdata;
};

struct reply {
	long status;
	char *text; /* the body, NUL-terminated */
	size_t length;
	json_t *json; /* an object; NULL: the reply has no body */
};
void reply_fini(struct reply *reply);
#define CLEANUP_REPLY __attribute__((cleanup(reply_fini)))

/*
 * 0: success, *ret_reply is the caller's. CLIENT_REFUSED: the daemon replied with a problem;
 * @reterr has its detail, ret_reply->status its HTTP status. -ENOTCONN: no connection. -ECONNRESET:
 * request sent, no complete reply. -EPROTO: the reply is not one of gover-d.
 */
#define CLIENT_REFUSED 1
int client_request(struct client *client, const struct client_call *call, struct reply *ret_reply,
		   struct err *reterr);

#endif
