/* SPDX-License-Identifier: MIT */
/*
 * One request and its answer, between the transport (http.c) and the routes (api.c). Knows neither
 * MHD nor a route; every function is called in the loop.
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

/* The text of an answer, shared by all who send it. */
struct api_text {
	int refs;
	size_t length;
	char *data;
};

/* Takes over @data (from malloc), also where it fails. NULL: no memory, or @data was NULL. */
struct api_text *api_text_new(char *data);
struct api_text *api_text_ref(struct api_text *text);
struct api_text *api_text_unref(struct api_text *text); /* NULL is fine; returns NULL */

/* A header that answers of one kind have in common. */
struct api_header {
	const char *name, *value;
};

/*
 * A body without an end. The api makes it; the transport takes pieces of it, and says with which
 * calls it wants to be told that there are more.
 */
struct api_stream {
	/* The next bytes, at most @size; 0: none now, wake() will tell; negative: it has ended. */
	ssize_t (*read)(struct api_stream *stream, char *buffer, size_t size);
	void (*free)(struct api_stream *stream);
	/* The transport's, NULL until it has taken it up. drop(): end it, also in the middle of a
	 * piece that its reader does not take. Neither frees it. */
	void (*wake)(void *userdata);
	void (*drop)(void *userdata);
	void *userdata;
};

struct api_reply {
	unsigned int status; /* 0: there is none yet */
	const char *type;    /* static text; NULL: no body */
	struct api_text *text;
	char *fixed; /* instead of a text: bytes that stay for ever */
	size_t fixed_size;
	const struct api_header *headers;  /* static, up to a name that is NULL; NULL: none */
	struct api_stream *stream;	   /* instead of @text; goes with the request */
	char location[API_PARAM_MAX + 16]; /* "": none */
	char allow[48];			   /* "": none */
	const char *authenticate;	   /* WWW-Authenticate; static text; NULL: none */
	unsigned int retry_after_s;	   /* 0: none */
	char etag[API_ETAG_MAX];	   /* "": none */
};

/* Answers of one route, by status; beyond so many kinds they count as the last. */
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
	/* What is asked; the transport's texts. */
	const char *method, *path;
	struct api_query query[API_QUERY_MAX];
	size_t n_query; /* above API_QUERY_MAX: more came than are kept */
	/* NULL: no such header */
	const char *content_type, *idempotency_key, *accept, *if_match, *if_none_match,
		*last_event_id;
	const char *body;
	size_t body_length;
	bool takes_body; /* found early: a body that nobody will look at need not be kept */
	struct principal principal; /* who asks; all zero: nobody who may anything */
	/* Found by the route. */
	char param[API_PARAM_MAX]; /* what stands for {id} */
	json_t *object;	 /* the body, where the route takes one; only within the handler */
	bool in_handler; /* an answer given meanwhile is seen to when the handler is done */
	struct api_counter *counter; /* where its answer is counted; NULL: nowhere */
	/* The answer. While @later is set it is not to be sent yet. */
	struct api_reply reply;
	struct api_later *later;
	void (*answered)(struct api_request *request); /* @later was ended: the reply may be sent */
	/* Called once, when the reply stands or the request has ended; NULL: nobody waits for it.
	 */
	void (*settled)(struct api_request *request);
	struct api_audit *audit; /* of who waits */
};

/*
 * May this be asked by who asks? Looks at the route alone, before a body is there. False: the
 * reply says why not. True: an answer without api_serve() is to be counted.
 */
bool api_admit(struct api *api, struct api_request *request);

/* Routes the request: fills in its reply, or sets later. Admits it, too. A stream is counted by who
 * takes it up, or gives another answer instead. */
void api_serve(struct api *api, struct api_request *request);

/* The value of a query parameter; NULL: not given. */
const char *api_request_query(const struct api_request *request, const char *name);

/* Puts in the answer instead of what stands there. Takes over @data; NULL is answered as no memory.
 */
void api_request_reply_text(struct api_request *request, unsigned int status, const char *type,
			    char *data);
/* The same with a document. Takes over the reference. */
void api_request_reply_json(struct api_request *request, unsigned int status, json_t *document);
/* The same with a text that others send too; takes a reference of its own. */
void api_request_reply_shared(struct api_request *request, unsigned int status, const char *type,
			      struct api_text *text);
/* The same with bytes that stay for ever. */
void api_request_reply_fixed(struct api_request *request, unsigned int status, const char *type,
			     char *bytes, size_t size);
/* The same with a stream. Takes it over; NULL is answered as no memory. */
void api_request_reply_stream(struct api_request *request, const char *type,
			      struct api_stream *stream);
/* That there is no memory, which takes none. */
void api_request_reply_no_memory(struct api_request *request);
/* A status alone. */
void api_request_reply_empty(struct api_request *request, unsigned int status);

/*
 * A deferred answer: who will give it keeps the token until api_later_end(). The request may end
 * before (the client has gone, the daemon stops): then there is nobody to answer, and the token
 * alone is left.
 */
struct api_later;
/* NULL: no memory, and the reply says so. */
struct api_later *api_later_begin(struct api_request *request);
/* Frees the token (NULL is fine). Returns the request to fill in and hand to api_request_answer();
 * NULL: it ended. */
struct api_request *api_later_end(struct api_later *later);
void api_request_answer(struct api_request *request);

/* The reply is what it will be: counts it. */
void api_request_count(struct api_request *request);

/* Lets go of the reply and of a token. */
void api_request_fini(struct api_request *request);

#endif
