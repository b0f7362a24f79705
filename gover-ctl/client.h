/* SPDX-License-Identifier: MIT */
/*
 * HTTP to the daemon, over its unix socket or a URL. Knows no route and prints nothing: what went
 * wrong comes back as a sentence.
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

/* @url NULL: over the unix socket @socket. -EINVAL with a sentence: an address of no use. Does not
 * connect. */
int client_new(const char *socket, const char *url, struct client **ret_client, struct err *reterr);
struct client *client_free(struct client *client); /* NULL is fine; returns NULL */

/*
 * Over a URL each request carries the token that stands in @path, alone on its first line. -EINVAL
 * with a sentence: there is none in it, or the URL would send it in the clear over a network. Over
 * the unix socket nothing is read: the kernel says who asks.
 */
int client_load_token(struct client *client, const char *path, struct err *reterr);

/* Certificates (PEM) that an https URL is checked with, instead of the system's. */
int client_load_cacert(struct client *client, const char *path, struct err *reterr);

/* The daemon's address for people. */
const char *client_address(const struct client *client);

/* How long one request may take; 30 s unless told. */
void client_set_timeout(struct client *client, long timeout_ms);

/* Is given an answer that does not end, piece by piece. False: that is enough. */
typedef bool (*client_chunk_fn)(void *userdata, const char *data, size_t size);

struct client_call {
	const char *method, *path;
	const json_t *body;   /* NULL: none */
	const char *key;      /* Idempotency-Key; NULL: none */
	bool any_text;	      /* the answer need be no JSON */
	client_chunk_fn take; /* NULL: the answer is a reply; else it takes as long as it takes, and
				has ended when not even a sign of life has come for a while */
	void *userdata;
};

struct reply {
	long status;
	char *text; /* as it came, NUL-terminated */
	size_t length;
	json_t *json; /* an object, or NULL where the answer has no body */
};
void reply_fini(struct reply *reply);
#define CLEANUP_REPLY __attribute__((cleanup(reply_fini)))

/*
 * 0: done, *ret_reply is the caller's. CLIENT_REFUSED: the daemon answered with a problem, @reterr
 * is its detail, ret_reply->status its number. -ENOTCONN: nobody there, -ECONNRESET: asked and no
 * answer; @reterr says where was asked and what to try. -EPROTO: answered, but not as gover-d does.
 */
#define CLIENT_REFUSED 1
int client_request(struct client *client, const struct client_call *call, struct reply *ret_reply,
		   struct err *reterr);

#endif
