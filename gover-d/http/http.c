/* SPDX-License-Identifier: MIT */
/*
 * Runs libmicrohttpd without a thread. The epoll fd of libmicrohttpd is a source of the event loop;
 * MHD_run() is called when the fd is readable or after MHD_get_timeout(). A request becomes an
 * api_request; its connection is suspended while the reply is deferred, or while an event stream
 * has no bytes to send. No call blocks, and the memory that a client can use is limited.
 */
#include <errno.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parse.h"
#include "base/unix-listener.h"
#include "base/xalloc.h"
#include "gover-d/api/api.h"
#include "gover-d/api/handler.h"
#include "gover-d/api/request.h"
#include "gover-d/auth/authn.h"
#include "gover-d/auth/tls.h"
#include "gover-d/http/head.h"
#include "gover-d/http/http.h"
#include "gover-d/http/listen.h"
#include "gover-d/util/log.h"

#define PRIORITY (SD_EVENT_PRIORITY_NORMAL + 10)
/*
 * Limit of libmicrohttpd. It is above the number of slots, because libmicrohttpd closes an evicted
 * connection only in its next run.
 */
#define CONNECTIONS_MAX (CONNECTION_SLOTS + 256U)
#define TIMEOUT_S	30U
/*
 * Memory of a connection: the head of a request, and a list of its header fields and query
 * parameters. libmicrohttpd itself refuses a head that does not fit.
 */
#define MEMORY_MAX ((size_t)24 * 1024)
/*
 * A chunked body that exceeds API_BODY_MAX is read up to this size, because a client that is still
 * sending would not receive the error reply.
 */
#define DISCARD_MAX (1024 * 1024)
#define BODY_MIN    4096	      /* bytes of the smallest buffer for a body */
#define BODIES_MAX  (8 * 1024 * 1024) /* limit of the buffers for bodies of all connections */
/*
 * Limit of the texts that are being sent, so that clients that do not read cannot use up memory.
 * Each text counts once. Short texts, and the answers to changes, do not count: the number of
 * connections limits them.
 */
#define ANSWERS_MAX  (32 * 1024 * 1024)
#define ANSWER_SHORT 4096

/*
 * GnuTLS priority string: TLS 1.2 or newer, with forward secrecy (no RSA key exchange) and
 * authenticated encryption (no CBC).
 */
#define TLS_PRIORITIES "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-MAC-ALL:+AEAD"
#define TLS_OPTIONS    3
#define BLOCK	       4096
/*
 * Size of the send buffer of the socket, which limits the unread bytes of a slow client. The kernel
 * doubles this value.
 */
#define SEND_BUFFER (64 * 1024)

struct listener {
	struct http *http;
	struct MHD_Daemon *daemon;
	bool tls;
	sd_event_source *readable, *timer;
	struct acceptor acceptor;
};

struct http {
	struct api *api;
	struct authn *authn;
	struct connection_table *table; /* contains the connections of both listeners */
	struct listener unix_socket, tcp;
	struct unix_listener socket; /* the unix socket; all zero if systemd passed the socket */
	struct err problem;	    /* why the last http_tick() could not make it; "": no problem */
	struct exchange *suspended; /* exchanges with deferred replies */
	size_t bodies;		    /* bytes of the buffers for bodies */
	size_t answers;		    /* bytes of the texts that are being sent */
	struct exchange *streams;   /* exchanges whose reply is an event stream */
};

struct exchange {
	struct api_request
		request; /* must be the first member: callbacks cast it to struct exchange */
	struct listener *listener;
	struct MHD_Connection *connection;
	char *text; /* the target: path, authority and query parameters */
	struct http_target target;
	char *body;  /* NULL: no body received yet */
	size_t size; /* of the buffer @body: a power of two */
	size_t received;
	struct api_text *sending; /* counted in http.answers; NULL: no counted text */
	bool judged;		  /* the head was judged */
	bool crowded;		  /* the buffers for bodies of all connections are full */
	bool served, suspended;
	struct exchange *next; /* next in http.suspended */
	/* The members below are for an event stream. */
	struct api_stream *stream; /* the reply; NULL: another reply */
	bool idle;		   /* the connection is suspended, because there are no bytes */
	bool ending;
	struct exchange *next_stream; /* next in http.streams */
};

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static int socket_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	return info ? info->connect_fd : -1;
}

/* --- callers: auth/access.c decides which requests a caller may send --- */

/* The socket context of a connection. */
struct caller {
	struct peer peer;
	struct tls_client client;
};

/*
 * Reads the peer of a new connection. The peer and its client certificate are stored as socket
 * context until the connection is closed.
 */
static void note_peer(const struct authn *authn, struct MHD_Connection *connection,
		      void **socket_context, enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct caller *caller;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		free(*socket_context);
		*socket_context = NULL;
		return;
	}
	*socket_context = caller = xcalloc(1, sizeof(*caller));
	/* If the peer cannot be read, the struct stays all zero, which means no access. */
	if (info)
		(void)peer_read(info->connect_fd, authn_rules(authn), &caller->peer);
}

/* Returns the client certificate of the connection; NULL: the connection has no TLS. */
static const struct tls_client *check_client(const struct authn *authn,
					     struct MHD_Connection *connection,
					     struct caller *caller, struct instant now)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);

	if (caller->peer.local || !authn_tls(authn) || !info || !info->tls_session)
		return NULL;
	tls_check_client(authn_tls(authn), info->tls_session, now.wall_ms / 1000, &caller->client);
	return &caller->client;
}

/*
 * Identifies the caller of a request by the headers of the request, and by the peer and the client
 * certificate of the connection. @host: the host that the request is for; NULL: unknown.
 */
static void identify(struct authn *authn, struct MHD_Connection *connection, const char *host,
		     struct principal *ret_principal)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct caller *caller = info->socket_context;
	struct instant now = clock_now();
	struct credentials credentials = {
		.authorization = header(connection, MHD_HTTP_HEADER_AUTHORIZATION),
		.host = host,
		.origin = header(connection, MHD_HTTP_HEADER_ORIGIN),
		.client = check_client(authn, connection, caller, now),
	};
	authn_identify(authn, &caller->peer, &credentials, now, ret_principal);
}

/* libmicrohttpd takes strings and functions as non-const pointers, but does not write to them. */
static struct MHD_OptionItem option(enum MHD_OPTION which, uintptr_t value)
{
	return (struct MHD_OptionItem){.option = which, .ptr_value = (void *)value};
}

/*
 * Writes the TLS options for MHD_OPTION_ARRAY of a daemon that serves TCP. Returns true if the
 * daemon must be started with MHD_USE_TLS.
 */
static bool take_tls_options(const struct authn *authn, struct MHD_OptionItem options[TLS_OPTIONS])
{
	int n = 0;

	if (authn_tls(authn)) {
		options[n++] =
			option(MHD_OPTION_HTTPS_CERT_CALLBACK, (uintptr_t)tls_select_certificate);
		options[n++] = option(MHD_OPTION_HTTPS_PRIORITIES, (uintptr_t)TLS_PRIORITIES);
	}
	options[n] = option(MHD_OPTION_END, 0);
	return n > 0;
}

/* --- responses --- */

static void release_text(void *text)
{
	api_text_unref(text);
}

/*
 * Returns a new response with the body of @reply, which must not be a stream. The response has its
 * own reference to the text. Fixed bytes are not copied.
 */
static struct MHD_Response *make_response(const struct api_reply *reply)
{
	struct MHD_Response *response;

	if (reply->fixed)
		response = MHD_create_response_from_buffer(reply->fixed_size, reply->fixed,
							   MHD_RESPMEM_PERSISTENT);
	else if (reply->text)
		response = MHD_create_response_from_buffer_with_free_callback_cls(
			reply->text->length, reply->text->data, release_text,
			api_text_ref(reply->text));
	else
		response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	if (!response)
		xalloc_fail(0);
	return response;
}

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
	if (value && value[0] && MHD_add_response_header(response, name, value) != MHD_YES)
		xalloc_fail(0);
}

/* Adds the headers of @reply. Their values must not contain CR or LF. */
static void add_headers(struct MHD_Response *response, const struct api_reply *reply)
{
	char seconds[16] = "";

	if (reply->retry_after_s)
		snprintf(seconds, sizeof(seconds), "%u", reply->retry_after_s);
	for (const struct api_header *h = reply->headers; h && h->name; h++)
		add_header(response, h->name, h->value);
	add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply->type);
	add_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, reply->encoding);
	add_header(response, MHD_HTTP_HEADER_VARY,
		   reply->varies ? MHD_HTTP_HEADER_ACCEPT_ENCODING : NULL);
	add_header(response, MHD_HTTP_HEADER_ETAG, reply->etag);
	add_header(response, MHD_HTTP_HEADER_LOCATION, reply->location);
	add_header(response, MHD_HTTP_HEADER_ALLOW, reply->allow);
	add_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, reply->authenticate);
	add_header(response, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
}

static ssize_t read_some(void *userdata, uint64_t position, char *buffer, size_t size)
{
	struct exchange *x = userdata;
	ssize_t n = x->ending ? -1 : x->stream->read(x->stream, buffer, size);

	(void)position;
	if (n < 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (n == 0) {
		x->idle = true;
		MHD_suspend_connection(x->connection);
	}
	return n;
}

static void resume_stream(struct exchange *x)
{
	if (x->idle)
		MHD_resume_connection(x->connection);
	x->idle = false;
}

static void wake(void *userdata)
{
	struct exchange *x = userdata;

	if (!x->idle)
		return; /* libmicrohttpd requests bytes itself when the socket is writable */
	resume_stream(x);
	http_run_soon(x->listener->timer);
}

/* libmicrohttpd may be waiting until the socket is writable. Only a shutdown ends this wait. */
static void drop(void *userdata)
{
	struct exchange *x = userdata;

	x->ending = true;
	(void)shutdown(socket_of(x->connection), SHUT_RDWR);
	wake(x);
}

/* Returns a new response that sends the stream of the reply, until end_stream(). */
static struct MHD_Response *begin_stream(struct exchange *x)
{
	const int size = SEND_BUFFER;
	struct http *http = x->listener->http;
	struct MHD_Response *response =
		MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_some, x, NULL);

	if (!response)
		xalloc_fail(0);
	x->stream = x->request.reply.stream;
	x->next_stream = http->streams;
	http->streams = x;
	(void)setsockopt(socket_of(x->connection), SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	x->stream->wake = wake;
	x->stream->drop = drop;
	x->stream->userdata = x;
	return response;
}

static void end_stream(struct exchange *x)
{
	struct exchange **at = &x->listener->http->streams;

	if (!x->stream)
		return;
	while (*at != x)
		at = &(*at)->next_stream;
	*at = x->next_stream;
	x->stream->wake = x->stream->drop = NULL;
}

/* --- requests --- */

static void resume(struct exchange *x)
{
	struct exchange **at = &x->listener->http->suspended;

	while (*at != x)
		at = &(*at)->next;
	*at = x->next;
	x->suspended = false;
	MHD_resume_connection(x->connection);
}

static void answered(struct api_request *request)
{
	struct exchange *x = (struct exchange *)request;

	if (!x->suspended)
		return;
	resume(x);
	http_run_soon(x->listener->timer);
}

static void suspend(struct exchange *x)
{
	struct http *http = x->listener->http;

	x->suspended = true;
	x->next = http->suspended;
	http->suspended = x;
	MHD_suspend_connection(x->connection);
}

static void connection_changed(void *userdata, struct MHD_Connection *connection,
			       void **socket_context, enum MHD_ConnectionNotificationCode code)
{
	struct listener *listener = userdata;

	note_peer(listener->http->authn, connection, socket_context, code);
	if (code == MHD_CONNECTION_NOTIFY_CLOSED)
		connection_table_remove(listener->http->table, socket_of(connection));
}

/*
 * libmicrohttpd calls this function first, with the target as the client sent it, and keeps the
 * result as the context of the request.
 */
static void *begin(void *userdata, const char *target, struct MHD_Connection *connection)
{
	struct exchange *x = xcalloc(1, sizeof(*x));

	x->listener = userdata;
	x->connection = connection;
	x->text = xstrdup(target);
	x->target = http_target_parse(x->text);
	return x;
}

static void read_head(struct exchange *x, const char *method)
{
	const char *host = header(x->connection, MHD_HTTP_HEADER_HOST);

	x->request = (struct api_request){
		.method = method,
		.path = x->target.path,
		.n_query = x->target.n_query,
		.content_type = header(x->connection, MHD_HTTP_HEADER_CONTENT_TYPE),
		.content_encoding = header(x->connection, MHD_HTTP_HEADER_CONTENT_ENCODING),
		.idempotency_key = header(x->connection, "Idempotency-Key"),
		.last_event_id = header(x->connection, "Last-Event-ID"),
		.if_match = header(x->connection, MHD_HTTP_HEADER_IF_MATCH),
		.if_none_match = header(x->connection, MHD_HTTP_HEADER_IF_NONE_MATCH),
		.accept = header(x->connection, MHD_HTTP_HEADER_ACCEPT),
		.accept_encoding = header(x->connection, MHD_HTTP_HEADER_ACCEPT_ENCODING),
		.answered = answered,
	};
	memcpy(x->request.query, x->target.query, sizeof(x->request.query));
	identify(x->listener->http->authn, x->connection, host ? host : x->target.authority,
		 &x->request.principal);
}

static void free_body(struct exchange *x)
{
	x->listener->http->bodies -= x->size;
	free(x->body);
	x->body = NULL;
	x->size = 0;
}

static void end_sending(struct exchange *x)
{
	if (x->sending && --x->sending->n_sending == 0)
		x->listener->http->answers -= x->sending->length;
	x->sending = api_text_unref(x->sending);
}

static void completed(void *userdata, struct MHD_Connection *connection, void **context,
		      enum MHD_RequestTerminationCode code)
{
	struct exchange *x = *context;

	(void)userdata;
	(void)code;
	if (!x)
		return;
	connection_table_end_request(x->listener->http->table, socket_of(connection),
				     clock_now().mono_ns);
	end_stream(x);
	end_sending(x);
	api_request_fini(&x->request);
	free_body(x);
	free(x->text);
	free(x);
	*context = NULL;
}

/* Counts the text of the reply, or replaces the reply if too many texts are being sent. */
static void begin_sending(struct exchange *x)
{
	size_t *answers = &x->listener->http->answers;
	struct api_text *text = x->request.reply.text;

	if (!text || text->length <= ANSWER_SHORT || x->request.reply.status != 200 ||
	    (strcmp(x->request.method, "GET") != 0 && strcmp(x->request.method, "HEAD") != 0))
		return;
	if (text->n_sending == 0 && *answers + text->length > ANSWERS_MAX) {
		problem_reply(&x->request, 503,
			      "too many answers that clients have not read (limit %d bytes)",
			      ANSWERS_MAX);
		x->request.reply.retry_after_s = 1;
		return;
	}
	*answers += text->n_sending++ == 0 ? text->length : 0;
	x->sending = api_text_ref(text);
}

static enum MHD_Result send_reply(struct exchange *x)
{
	struct api_reply *reply = &x->request.reply;
	struct MHD_Response *response;
	enum MHD_Result r;

	begin_sending(x);
	api_request_count(&x->request);
	response = reply->stream ? begin_stream(x) : make_response(reply);
	add_headers(response, reply);
	r = MHD_queue_response(x->connection, reply->status, response);
	MHD_destroy_response(response);
	return r;
}

static void refuse_body(struct exchange *x)
{
	problem_reply(&x->request, 413, "body too large (limit %d bytes)", API_BODY_MAX);
}

static bool announces_too_much(struct MHD_Connection *connection)
{
	const char *length = header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
	int64_t bytes;

	return length && parse_int(length, 0, API_BODY_MAX, &bytes) < 0;
}

/* Makes the buffer for the body large enough. Returns false if the buffers of all are full. */
static bool reserve(struct exchange *x, size_t needed)
{
	size_t *bodies = &x->listener->http->bodies, size = x->size ? x->size : BODY_MIN;

	while (size < needed)
		size *= 2;
	if (*bodies - x->size + size > BODIES_MAX)
		return false;
	*bodies += size - x->size;
	x->body = xrealloc(x->body, size);
	x->size = size;
	return true;
}

static enum MHD_Result receive(struct exchange *x, const char *data, size_t *size)
{
	size_t n = *size;

	x->received += n;
	*size = 0;
	if (x->received > API_BODY_MAX)
		return x->received > DISCARD_MAX ? MHD_NO : MHD_YES;
	if (!x->request.takes_body || x->crowded)
		return MHD_YES;
	x->crowded = !reserve(x, x->received);
	if (x->crowded)
		free_body(x);
	else
		memcpy(x->body + x->received - n, data, n);
	return MHD_YES;
}

/*
 * Rejects a request that another program could read differently, and closes the connection, because
 * the end of such a request is not certain. Returns false if the head is accepted.
 */
static bool refuse_malformed(struct exchange *x, const char *method, const char *version)
{
	static const struct api_header close[] = {{MHD_HTTP_HEADER_CONNECTION, "close"}, {0}};
	const struct head_refusal *refusal = head_check(x->connection, method, &x->target, version);

	if (!refusal)
		return false;
	x->request.path = x->target.path;
	api_reject(x->listener->http->api, &x->request, refusal->status, refusal->text);
	x->request.reply.headers = close;
	return true;
}

static void serve(struct exchange *x)
{
	struct connection_table *table = x->listener->http->table;

	x->served = true;
	if (x->received > API_BODY_MAX) {
		refuse_body(x);
		return;
	}
	if (x->crowded) {
		problem_reply(&x->request, 503,
			      "too many request bodies at a time (limit %d bytes)", BODIES_MAX);
		x->request.reply.retry_after_s = 1;
		return;
	}
	x->request.body = x->body;
	x->request.body_length = x->body ? x->received : 0;
	connection_table_begin_request(table, socket_of(x->connection), clock_now().mono_ns);
	api_serve(x->listener->http->api, &x->request);
	if (x->request.reply.stream &&
	    !connection_table_begin_stream(table, socket_of(x->connection)))
		problem_reply(&x->request, 503, "too many open event streams (limit %d)",
			      CONNECTION_STREAMS_PER_CLIENT);
}

/* libmicrohttpd calls this function after the headers, for each part of the body, at the end of the
 * request, and after the connection was resumed. */
static enum MHD_Result handle(void *userdata, struct MHD_Connection *connection, const char *path,
			      const char *method, const char *version, const char *data,
			      size_t *size, void **context)
{
	struct listener *listener = userdata;
	struct exchange *x = *context;

	(void)path;
	if (!x->judged) {
		x->judged = true;
		if (refuse_malformed(x, method, version))
			return send_reply(x);
		read_head(x, method);
		if ((header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH) ||
		     header(connection, MHD_HTTP_HEADER_TRANSFER_ENCODING)) &&
		    !api_admit(listener->http->api, &x->request))
			return send_reply(x);
		if (!announces_too_much(connection))
			return MHD_YES;
		refuse_body(x);
		return send_reply(x);
	}
	if (*size > 0)
		return receive(x, data, size);
	if (!x->served)
		serve(x);
	if (!x->request.deferred)
		return send_reply(x);
	suspend(x);
	return MHD_YES;
}

static int set_timer(struct listener *listener)
{
	MHD_UNSIGNED_LONG_LONG ms;
	int r;

	if (MHD_get_timeout(listener->daemon, &ms) != MHD_YES)
		return sd_event_source_set_enabled(listener->timer, SD_EVENT_OFF);
	if (ms > TIMEOUT_S * 1000)
		ms = TIMEOUT_S * 1000;
	r = sd_event_source_set_time_relative(listener->timer, ms * 1000);
	return r < 0 ? r : sd_event_source_set_enabled(listener->timer, SD_EVENT_ONESHOT);
}

static int run(struct listener *listener)
{
	/* cannot fail: the daemon has no thread of its own */
	(void)MHD_run(listener->daemon);
	return set_timer(listener);
}

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	(void)source;
	(void)fd;
	(void)events;
	return run(userdata);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	(void)source;
	(void)usec;
	return run(userdata);
}

static int watch(struct listener *listener, sd_event *event)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	int r;

	if (!info)
		return -EOPNOTSUPP;
	r = sd_event_add_io(event, &listener->readable, info->epoll_fd, EPOLLIN, on_readable,
			    listener);
	if (r >= 0)
		r = sd_event_source_set_priority(listener->readable, PRIORITY);
	if (r >= 0) /* the default accuracy of 250 ms would delay a timeout of 0 */
		r = sd_event_add_time_relative(event, &listener->timer, CLOCK_MONOTONIC, 0, 1,
					       on_timer, listener);
	if (r >= 0)
		r = sd_event_source_set_priority(listener->timer, PRIORITY);
	if (r >= 0)
		r = set_timer(listener);
	return r;
}

/* Takes ownership of the listening socket @fd. */
static int serve_on(struct listener *listener, int fd, sd_event *event, struct http *http,
		    struct err *reterr)
{
	struct MHD_OptionItem options[TLS_OPTIONS] = {{MHD_OPTION_END, 0, NULL}};
	int r = listener == &http->tcp ? authn_check_listener(http->authn, fd, reterr) : 0;

	if (r < 0) {
		(void)close(fd);
		return r;
	}
	listener->http = http;
	listener->tls = listener == &http->tcp && take_tls_options(http->authn, options);
	listener->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET |
			(listener->tls ? MHD_USE_TLS : 0),
		/* port= */ 0, NULL, NULL, handle, listener, MHD_OPTION_NOTIFY_CONNECTION,
		connection_changed, listener, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		MEMORY_MAX, MHD_OPTION_NOTIFY_COMPLETED, completed, NULL,
		MHD_OPTION_URI_LOG_CALLBACK, begin, listener, MHD_OPTION_ARRAY, options,
		MHD_OPTION_END);
	if (!listener->daemon) {
		(void)close(fd);
		return err_fail(reterr, EIO, "libmicrohttpd: start failed");
	}
	r = watch(listener, event);
	if (r >= 0)
		r = acceptor_init(&listener->acceptor, fd, listener->daemon, http->table, event,
				  listener->timer, PRIORITY);
	else
		(void)close(fd);
	if (r < 0)
		return err_fail(reterr, -r, "libmicrohttpd: cannot be added to the event loop: %s",
				strerror(-r));
	return 0;
}

int http_new(sd_event *event, const char *socket_path, const char *listen, struct api *api,
	     struct authn *authn, struct http **ret_http, struct err *reterr)
{
	struct http *http = xcalloc(1, sizeof(*http));
	struct http_activated fds;
	int r;

	http->api = api;
	http->authn = authn;
	http->table = connection_table_new();
	r = http_listen_activated(&fds, reterr);
	if (r >= 0 && fds.unix_socket < 0)
		r = fds.unix_socket = unix_listener_open(
			socket_path, SOCK_STREAM, 0666, HTTP_LISTEN_BACKLOG, &http->socket, reterr);
	if (r >= 0)
		r = serve_on(&http->unix_socket, fds.unix_socket, event, http, reterr);
	if (r >= 0 && fds.tcp < 0 && listen[0])
		r = fds.tcp = http_listen_tcp(listen, reterr);
	if (r >= 0 && fds.tcp >= 0)
		r = serve_on(&http->tcp, fds.tcp, event, http, reterr);
	if (r < 0) {
		http_free(http);
		return r;
	}
	*ret_http = http;
	return 0;
}

void http_tick(struct http *http)
{
	struct unix_listener socket;
	struct err why = {""};
	int fd;

	if (!unix_listener_is_lost(&http->socket)) {
		http->problem.msg[0] = '\0';
		return;
	}
	fd = unix_listener_open(http->socket.path, SOCK_STREAM, 0666, HTTP_LISTEN_BACKLOG, &socket,
				&why);
	http->problem = why;
	if (fd < 0)
		return; /* the next period tries again */
	acceptor_listen_on(&http->unix_socket.acceptor, fd);
	log_warning("%s was removed by another program, and made again", socket.path);
	http->socket = socket;
}

const char *http_problem(const struct http *http)
{
	return http->problem.msg;
}

static void stop(struct listener *listener)
{
	acceptor_fini(&listener->acceptor);
	sd_event_source_disable_unref(listener->readable);
	sd_event_source_disable_unref(listener->timer);
	/* Closes the connections of the daemon and ends every exchange. */
	if (listener->daemon)
		MHD_stop_daemon(listener->daemon);
}

struct http *http_free(struct http *http)
{
	if (!http)
		return NULL;
	unix_listener_remove(&http->socket);
	while (http->suspended)
		resume(http->suspended);
	/* A stopping daemon of libmicrohttpd must not have suspended connections. */
	for (struct exchange *x = http->streams; x; x = x->next_stream) {
		x->ending = true;
		resume_stream(x);
	}
	stop(&http->tcp);
	stop(&http->unix_socket);
	connection_table_free(http->table);
	free(http);
	return NULL;
}
