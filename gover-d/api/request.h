/* SPDX-License-Identifier: MIT */
/*
 * A request and its reply: the interface between the transport (http/) and the routes. All
 * functions run in the event loop.
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
#define API_ETAG_MAX	 24 /* size of an ETag: "W/", 64 bits in hex, "-gz", two quotes, NUL */
#define API_TYPE_JSON	 "application/json"
#define API_TYPE_MERGE	 "application/merge-patch+json" /* RFC 7396 */
#define API_TYPE_TEXT	 "text/plain; charset=utf-8"
#define API_TYPE_PROBLEM "application/problem+json"

/* The text of a reply, shared by all connections that send it. */
struct api_text {
	int refs;
	int n_sending; /* connections that send the text, counted by the transport */
	size_t length;
	char *data;
};

/* Returns a text that owns @data (from malloc). */
struct api_text *api_text_new(char *data);
struct api_text *api_text_ref(struct api_text *text);
struct api_text *api_text_unref(struct api_text *text); /* accepts NULL; returns NULL */

/* A header with a constant value. */
struct api_header {
	const char *name, *value;
};

/* The header Cache-Control: no-store, for reply.headers. */
extern const struct api_header api_no_store[];

/*
 * The endless body of an event stream. The api creates the stream. The transport reads the stream
 * and sets the callbacks.
 */
struct api_stream {
	/*
	 * Copies at most @size bytes and returns their number. 0: no bytes until wake() is called.
	 * Negative: the stream has ended.
	 */
	ssize_t (*read)(struct api_stream *stream, char *buffer, size_t size);
	void (*free)(struct api_stream *stream);
	/*
	 * Callbacks set by the transport; NULL until then. The api calls wake() if there are new
	 * bytes to read, and drop() to close the stream, even in the middle of an event. Neither
	 * callback frees the stream.
	 */
	void (*wake)(void *userdata);
	void (*drop)(void *userdata);
	void *userdata;
};

struct api_reply {
	unsigned int status; /* HTTP status; 0: no reply yet */
	const char *type;    /* content type, static text; NULL: no body */
	struct api_text *text;
	char *fixed; /* static bytes that are sent instead of @text; NULL: @text is sent */
	size_t fixed_size;
	/* additional headers: static array that ends with a NULL name; NULL: none */
	const struct api_header *headers;
	/* event stream, sent instead of @text; freed with the request */
	struct api_stream *stream;
	char location[API_PARAM_MAX + 16]; /* header Location; "": no header */
	char allow[48];			   /* header Allow; "": no header */
	/* static text of the header WWW-Authenticate; NULL: no header */
	const char *authenticate;
	unsigned int retry_after_s; /* header Retry-After; 0: no header */
	char etag[API_ETAG_MAX];    /* header ETag; "": no header */
	const char *encoding; /* static text of the header Content-Encoding; NULL: no header */
	bool varies; /* true: the answer depends on Accept-Encoding, so it has the header Vary */
};

/*
 * Counts the replies of a route by status. At most API_STATUSES_MAX different statuses are counted
 * separately; further statuses are added to the last count.
 */
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
	/* The request. The transport owns the strings. */
	const char *method, *path;
	struct api_query query[API_QUERY_MAX];
	/* number of parameters in the URL; only the first API_QUERY_MAX are stored */
	size_t n_query;
	/* Values of headers; NULL: the header is absent. */
	const char *content_type, *content_encoding, *idempotency_key, *accept, *accept_encoding,
		*if_match, *if_none_match, *last_event_id;
	const char *body;
	size_t body_length;
	/* set by api_admit(); false: the transport discards the body */
	bool takes_body;
	struct principal principal; /* the caller; all zero: the caller has no access */
	/* Members set by the router. */
	const struct api_route *route; /* NULL: no route was found */
	char param[API_PARAM_MAX];     /* value of {id} */
	/* the parsed body; NULL: the route accepts no body; only valid in the handler */
	json_t *object;
	bool merges; /* true: @object is a merge patch */
	/* true: the handler is running; its reply is sent after it has returned */
	bool in_handler;
	struct api_counter *counter; /* counter for the reply; NULL: not counted */
	/* The reply. It must not be sent while @deferred is set. */
	struct api_reply reply;
	struct api_deferred *deferred;
	/* callback of the transport: sends the reply after @deferred has ended */
	void (*answered)(struct api_request *request);
	struct api_audit *audit;	 /* audit of a request whose handler is running */
	const struct api_change *change; /* the change that was made, while its reply is set */
};

/* Returns the value of a query parameter; NULL: absent. */
const char *api_request_query(const struct api_request *request, const char *name);

/* Replaces the reply by the text @data (from malloc) and takes over @data. */
void api_request_reply_text(struct api_request *request, unsigned int status, const char *type,
			    char *data);
/*
 * Like api_request_reply_text(), but with a JSON document. Takes over the reference to @document.
 */
void api_request_reply_json(struct api_request *request, unsigned int status, json_t *document);
/* Like api_request_reply_text(), but with a shared text. Adds a reference to @text. */
void api_request_reply_shared(struct api_request *request, unsigned int status, const char *type,
			      struct api_text *text);
/* Like api_request_reply_text(), but with static bytes. */
void api_request_reply_fixed(struct api_request *request, unsigned int status, const char *type,
			     char *bytes, size_t size);
/* Replaces the reply by @stream and takes over @stream. */
void api_request_reply_stream(struct api_request *request, const char *type,
			      struct api_stream *stream);
/* Replaces the reply by a status without a body. */
void api_request_reply_empty(struct api_request *request, unsigned int status);

/*
 * The handle of a deferred reply. The caller of api_deferred_begin() owns the handle until
 * api_deferred_end(). If the request ends earlier (the client disconnects or the daemon stops), the
 * handle remains valid.
 */
struct api_deferred;
/* Defers the reply of @request. */
struct api_deferred *api_deferred_begin(struct api_request *request);
/*
 * Frees the handle @deferred, which may be NULL. Returns the request: the caller sets its reply and
 * then calls api_request_answer(). Returns NULL if the request has ended.
 */
struct api_request *api_deferred_end(struct api_deferred *deferred);
void api_request_answer(struct api_request *request);

/* Counts the reply by its status. The transport calls it once, when it sends the reply. */
void api_request_count(struct api_request *request);

/*
 * Frees the reply. The handle of a deferred reply remains valid, but no longer refers to the
 * request.
 */
void api_request_fini(struct api_request *request);

#endif
