/* SPDX-License-Identifier: MIT */
/* A request and its reply, between the transport (http/) and the routes. All functions run in the
 * loop.
 */
#ifndef GOVER_D_API_REQUEST_H
#define GOVER_D_API_REQUEST_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gover-d/auth/access.h"

#define API_QUERY_MAX	 8
#define API_PARAM_MAX	 128
#define API_ETAG_MAX	 20 /* 64 bits in hex, in quotes */
#define API_TYPE_JSON	 "application/json"
#define API_TYPE_TEXT	 "text/plain; charset=utf-8"
#define API_TYPE_PROBLEM "application/problem+json"

struct api;

/* The text of a reply, shared by all connections that send it. */
struct api_text {
	int refs;
	size_t length;
	char *data;
};

/* Takes over @data (from malloc), also on failure. NULL: no memory, or @data was NULL. */
struct api_text *api_text_new(char *data);
struct api_text *api_text_ref(struct api_text *text);
struct api_text *api_text_unref(struct api_text *text); /* NULL is fine; returns NULL */

/* A header common to a kind of reply. */
struct api_header {
	const char *name, *value;
};

/* A body without an end. The api creates it; the transport reads it, and sets the callbacks for new
 * data.
 */
struct api_stream {
	/* Copies the next bytes, at most @size; 0: none until wake(); negative: the stream has
	 * ended. */
	ssize_t (*read)(struct api_stream *stream, char *buffer, size_t size);
	void (*free)(struct api_stream *stream);
	/* Set by the transport, NULL before. drop() closes the stream, also in the middle of a
	 * piece. Neither frees it. */
	void (*wake)(void *userdata);
	void (*drop)(void *userdata);
	void *userdata;
};

struct api_reply {
	unsigned int status; /* 0: no reply yet */
	const char *type;    /* static text; NULL: no body */
	struct api_text *text;
	char *fixed; /* instead of a text: static bytes */
	size_t fixed_size;
	const struct api_header *headers;  /* static, ended by a NULL name; NULL: none */
	struct api_stream *stream;	   /* instead of @text; freed with the request */
	char location[API_PARAM_MAX + 16]; /* "": none */
	char allow[48];			   /* "": none */
	const char *authenticate;	   /* WWW-Authenticate; static text; NULL: none */
	unsigned int retry_after_s;	   /* 0: none */
	char etag[API_ETAG_MAX];	   /* "": none */
};

/* Replies of a route by status. If there are more statuses, they count as the last. */
#define API_STATUSES_MAX 16
struct api_counter {
	struct {
		unsigned int status;
		uint64_t n;
	} statuses[API_STATUSES_MAX];
};

struct api_query {
	const char *name, *value;
};

struct api_request {
	/* The request; strings of the transport. */
	const char *method, *path;
	struct api_query query[API_QUERY_MAX];
	size_t n_query; /* more than API_QUERY_MAX: the rest is not stored */
	/* headers; NULL: absent */
	const char *content_type, *idempotency_key, *accept, *if_match, *if_none_match,
		*last_event_id;
	const char *body;
	size_t body_length;
	bool takes_body;	    /* set before the body arrives; false: discard it */
	struct principal principal; /* the caller; all zero: no rights */
	/* Set by the router. */
	char param[API_PARAM_MAX];   /* value of {id} */
	json_t *object;		     /* the body, if the route accepts one; valid in the handler */
	bool in_handler;	     /* a reply given now is sent after the handler */
	struct api_counter *counter; /* counts the reply; NULL: not counted */
	/* The reply. While @deferred is set, it must not be sent. */
	struct api_reply reply;
	struct api_deferred *deferred;
	void (*answered)(struct api_request *request); /* @deferred has ended: send the reply */
	/* Called once, when the reply is final or the request has ended; may be NULL. */
	void (*settled)(struct api_request *request);
	struct api_audit *audit; /* the audit row that waits for the reply */
};

/* Checks the rights of the caller by the route, before the body arrives. False: the reply is set.
 * True: a reply without api_serve() must be counted.
 */
bool api_admit(struct api *api, struct api_request *request);

/* Admits and routes the request: sets its reply, or defers it. The transport counts a stream, or
 * replaces it by another reply. */
void api_serve(struct api *api, struct api_request *request);

/* The value of a query parameter; NULL: absent. */
const char *api_request_query(const struct api_request *request, const char *name);

/* Replaces the reply. Takes over @data; NULL becomes a reply for lack of memory. */
void api_request_reply_text(struct api_request *request, unsigned int status, const char *type,
			    char *data);
/* The same for a document. Takes over the reference. */
void api_request_reply_json(struct api_request *request, unsigned int status, json_t *document);
/* The same for a shared text; takes its own reference. */
void api_request_reply_shared(struct api_request *request, unsigned int status, const char *type,
			      struct api_text *text);
/* The same for static bytes. */
void api_request_reply_fixed(struct api_request *request, unsigned int status, const char *type,
			     char *bytes, size_t size);
/* The same for a stream. Takes it over; NULL becomes a reply for lack of memory. */
void api_request_reply_stream(struct api_request *request, const char *type,
			      struct api_stream *stream);
/* Replies that memory is short; allocates nothing. */
void api_request_reply_no_memory(struct api_request *request);
/* Replies with a status without a body. */
void api_request_reply_empty(struct api_request *request, unsigned int status);

/* A deferred reply. Its owner keeps the token until api_deferred_end(). The request may end earlier
 * (the client disconnects, the daemon stops); then only the token remains.
 */
struct api_deferred;
/* NULL: no memory; the reply is set. */
struct api_deferred *api_deferred_begin(struct api_request *request);
/* Frees the token (may be NULL). Returns the request, whose reply is to be set and passed to
 * api_request_answer(); NULL: the request has ended. */
struct api_request *api_deferred_end(struct api_deferred *deferred);
void api_request_answer(struct api_request *request);

/* Counts the final reply. */
void api_request_count(struct api_request *request);

/* Frees the reply and detaches a token. */
void api_request_fini(struct api_request *request);

#endif
