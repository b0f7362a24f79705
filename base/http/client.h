/* SPDX-License-Identifier: MIT */
/*
 * An HTTP client for the daemon, over the daemon's unix socket or a URL, and for other services
 * over a URL. Errors are returned, not printed.
 */
#ifndef BASE_HTTP_CLIENT_H
#define BASE_HTTP_CLIENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <jansson.h>

#include "base/err.h"

#define CLIENT_SOCKET_DEFAULT "/run/gover/gover.sock"
#define CLIENT_PATH_MAX	      512
#define CLIENT_HEADER_MAX     8191

struct client;

/*
 * Creates a client for @url, or for the unix socket @socket if @url is NULL. The client connects
 * with its first request. Returns -EINVAL if the address is not usable.
 */
int client_new(const char *socket, const char *url, struct client **ret_client, struct err *reterr);
struct client *client_free(struct client *client); /* accepts NULL; returns NULL */

/*
 * Loads the token from the file @path, which must contain one line. Does nothing if the client uses
 * a unix socket, which needs no token. Returns -EINVAL if the file has no valid token, or if the
 * token would be sent unencrypted over a network.
 */
int client_load_token(struct client *client, const char *path, struct err *reterr);

/*
 * Trusts the certificates (PEM) in @path for https instead of the certificates of the system. After
 * client_set_service(), messages name the setting "cacert", otherwise the option "--cacert".
 */
int client_load_cacert(struct client *client, const char *path, struct err *reterr);

/*
 * Identifies this client over https by the certificate (PEM) in @path. @key_path: its private key;
 * NULL: the key is in @path. Returns -EINVAL if a file cannot be read; the files are parsed when
 * the client connects.
 */
int client_load_certificate(struct client *client, const char *path, const char *key_path,
			    struct err *reterr);

/* Returns the socket path or the URL, for messages. */
const char *client_address(const struct client *client);

/* Sets the time limit of one request. Default: 30 s. */
void client_set_timeout(struct client *client, long timeout_ms);

/*
 * States that the address is that of @service ("Placement") and not of gover-d: messages name this
 * service, and contain no advice about gover-d. @service must stay valid.
 */
void client_set_service(struct client *client, const char *service);

/* Called for each chunk of an event stream. Returns false to end the request. */
typedef bool (*client_chunk_fn)(void *userdata, const char *data, size_t size);

struct client_call {
	const char *method, *path;
	const json_t *body; /* NULL: no body */
	const char *key;    /* value of the header Idempotency-Key; NULL: no such header */
	/* further lines "Name: value" of the header, at most CLIENT_HEADER_MAX characters each */
	const char *const *headers;
	size_t n_headers;
	const char *wanted; /* name of a header of the reply for reply.header; NULL: none */
	bool any_text;	    /* true: a reply that is not JSON is accepted */
	bool any_status;    /* true: a reply of any status and any text is accepted */
	/*
	 * Called for each chunk of an event stream. Such a request has no time limit, but fails
	 * after 45 s without data. NULL: struct reply gets the whole reply.
	 */
	client_chunk_fn chunk;
	void *userdata;
	/* An event stream ends within about a second after *@stop becomes true. NULL: never. */
	const atomic_bool *stop;
};

struct reply {
	long status;
	char *text; /* the body, NUL-terminated */
	size_t length;
	json_t *json; /* the body as JSON; NULL: no body, or not JSON */
	/* value of the header client_call.wanted; NULL: the reply has no such header */
	char *header;
};
void reply_fini(struct reply *reply);
#define CLEANUP_REPLY __attribute__((cleanup(reply_fini)))

/*
 * Returns 0 on success; the caller frees *ret_reply with reply_fini(). Otherwise @reterr has the
 * message, and the result is:
 * CLIENT_REFUSED  the daemon replied with an error; ret_reply->status is the HTTP status, and
 *                 ret_reply->json is the problem document, if any. The caller frees *ret_reply
 * -ENOTCONN       no connection was possible
 * -ECONNRESET     the request was sent, but no complete reply arrived
 * -EPROTO         the reply is too large or not from gover-d
 * -EINVAL         a header is too long, or contains a control character
 */
#define CLIENT_REFUSED 1
int client_request(struct client *client, const struct client_call *call, struct reply *ret_reply,
		   struct err *reterr);

#endif
