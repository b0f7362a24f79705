/* SPDX-License-Identifier: MIT */
/*
 * libmicrohttpd without a thread of its own: its epoll fd stands in the daemon's loop behind the
 * tick, MHD_run() is called when that is readable or when MHD_get_timeout() has passed. A request
 * becomes an api_request; while its answer is to come its connection is suspended. Must never
 * block, and never let what a client sends grow without bound.
 */
#include <errno.h>
#include <limits.h>
#include <microhttpd.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parse.h"
#include "gover-d/api-request.h"
#include "gover-d/api.h"
#include "gover-d/http-listen.h"
#include "gover-d/http.h"
#include "gover-d/problem.h"

#define PRIORITY	(SD_EVENT_PRIORITY_NORMAL + 10)
#define CONNECTIONS_MAX 256U
#define TIMEOUT_S	30U
#define HEADERS_MAX	((size_t)16 * 1024)
/* A body of unannounced length is read so far beyond what is kept, for the sake of the answer. */
#define DISCARD_MAX (1024 * 1024)

struct listener {
	struct http *http;
	struct MHD_Daemon *daemon;
	sd_event_source *readable, *timer;
};

struct http {
	struct api *api;
	struct listener unix_socket, tcp;
	char socket_path[PATH_MAX]; /* "": not made */
	dev_t socket_dev;
	ino_t socket_ino;
	struct exchange *suspended; /* whose answer is to come */
};

struct exchange {
	struct api_request request; /* first: the api hands it back */
	struct listener *listener;
	struct MHD_Connection *connection;
	char *body; /* API_BODY_MAX bytes, once the first has come */
	size_t received;
	bool served, suspended;
	struct exchange *next; /* http.suspended */
};

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
	/* MHD goes on with it in its next run, for which it asks nobody. */
	(void)sd_event_source_set_time_relative(x->listener->timer, 0);
	(void)sd_event_source_set_enabled(x->listener->timer, SD_EVENT_ONESHOT);
}

static void suspend(struct exchange *x)
{
	struct http *http = x->listener->http;

	x->suspended = true;
	x->next = http->suspended;
	http->suspended = x;
	MHD_suspend_connection(x->connection);
}

static enum MHD_Result add_query(void *userdata, enum MHD_ValueKind kind, const char *name,
				 const char *value)
{
	struct api_request *request = userdata;

	(void)kind;
	if (request->n_query < API_QUERY_MAX)
		request->query[request->n_query] =
			(struct api_query){.name = name, .value = value ? value : ""};
	request->n_query++;
	return MHD_YES;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static struct exchange *begin(struct listener *listener, struct MHD_Connection *connection,
			      const char *path, const char *method)
{
	struct exchange *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->listener = listener;
	x->connection = connection;
	x->request = (struct api_request){
		.method = method,
		.path = path,
		.content_type = header(connection, MHD_HTTP_HEADER_CONTENT_TYPE),
		.idempotency_key = header(connection, "Idempotency-Key"),
		.answered = answered,
	};
	MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_query, &x->request);
	return x;
}

static void completed(void *userdata, struct MHD_Connection *connection, void **context,
		      enum MHD_RequestTerminationCode code)
{
	struct exchange *x = *context;

	(void)userdata;
	(void)connection;
	(void)code;
	if (!x)
		return;
	api_request_fini(&x->request);
	free(x->body);
	free(x);
	*context = NULL;
}

static void release_text(void *text)
{
	api_text_unref(text);
}

static struct MHD_Response *make_response(const struct api_reply *reply)
{
	struct MHD_Response *response;

	if (!reply->text)
		return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	response = MHD_create_response_from_buffer_with_free_callback_cls(
		reply->text->length, reply->text->data, release_text, reply->text);
	if (response)
		api_text_ref(reply->text);
	return response;
}

static bool add_header(struct MHD_Response *response, const char *name, const char *value)
{
	return !value || !value[0] || MHD_add_response_header(response, name, value) == MHD_YES;
}

/* MHD_NO, where there is no memory, closes the connection. */
static enum MHD_Result send_reply(struct exchange *x)
{
	const struct api_reply *reply = &x->request.reply;
	struct MHD_Response *response = make_response(reply);
	enum MHD_Result r = MHD_NO;

	if (!response)
		return MHD_NO;
	if (add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply->type) &&
	    add_header(response, MHD_HTTP_HEADER_LOCATION, reply->location) &&
	    add_header(response, MHD_HTTP_HEADER_ALLOW, reply->allow))
		r = MHD_queue_response(x->connection, reply->status, response);
	MHD_destroy_response(response);
	return r;
}

static void refuse_body(struct exchange *x)
{
	problem_reply(&x->request, 413, "the body is larger than the %d bytes that are allowed",
		      API_BODY_MAX);
}

static bool announces_too_much(struct MHD_Connection *connection)
{
	const char *length = header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
	int64_t bytes;

	return length && parse_int(length, 0, API_BODY_MAX, &bytes) < 0;
}

/* Takes a piece of the body. */
static enum MHD_Result receive(struct exchange *x, const char *data, size_t *size)
{
	size_t n = *size;

	x->received += n;
	*size = 0;
	if (x->received > API_BODY_MAX)
		return x->received > DISCARD_MAX ? MHD_NO : MHD_YES;
	if (!x->body)
		x->body = malloc(API_BODY_MAX);
	if (!x->body)
		return MHD_NO;
	memcpy(x->body + x->received - n, data, n);
	return MHD_YES;
}

static void serve(struct exchange *x)
{
	x->served = true;
	if (x->received > API_BODY_MAX) {
		refuse_body(x);
		return;
	}
	x->request.body = x->body;
	x->request.body_length = x->received;
	api_serve(x->listener->http->api, &x->request);
}

/* MHD calls it when the headers are there, for each piece of the body, at the end, and when
 * resumed. */
static enum MHD_Result handle(void *userdata, struct MHD_Connection *connection, const char *path,
			      const char *method, const char *version, const char *data,
			      size_t *size, void **context)
{
	struct exchange *x = *context;

	(void)version;
	if (!x) {
		x = begin(userdata, connection, path, method);
		*context = x;
		if (!x)
			return MHD_NO;
		if (!announces_too_much(connection))
			return MHD_YES;
		refuse_body(x);
		return send_reply(x);
	}
	if (*size > 0)
		return receive(x, data, size);
	if (!x->served)
		serve(x);
	if (!x->request.later)
		return send_reply(x);
	suspend(x);
	return MHD_YES;
}

/* What would hide the rest of an address is left as it was written: no id holds a '%'. */
static size_t unescape(void *userdata, struct MHD_Connection *connection, char *text)
{
	(void)userdata;
	(void)connection;
	return strstr(text, "%00") ? strlen(text) : MHD_http_unescape(text);
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

static unsigned int count_connections(struct listener *listener)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);

	return info ? info->num_connections : 0;
}

static int run(struct listener *listener)
{
	unsigned int before = count_connections(listener);

	(void)MHD_run(listener->daemon); /* MHD_NO only tells of a daemon made otherwise */
	/* A full house does not look at its door; that it has room again it sees in its next run.
	 */
	if (count_connections(listener) < before)
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
	if (r >= 0) /* 1 us: an exact timer, many are due at once */
		r = sd_event_add_time_relative(event, &listener->timer, CLOCK_MONOTONIC, 0, 1,
					       on_timer, listener);
	if (r >= 0)
		r = sd_event_source_set_priority(listener->timer, PRIORITY);
	if (r >= 0)
		r = set_timer(listener);
	return r;
}

/* Takes over the listening socket @fd. */
static int serve_on(struct listener *listener, int fd, sd_event *event, struct http *http,
		    struct err *reterr)
{
	int r;

	listener->http = http;
	listener->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, /* port= */ 0, NULL, NULL, handle,
		listener, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, HEADERS_MAX, MHD_OPTION_NOTIFY_COMPLETED,
		completed, NULL, MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL, MHD_OPTION_END);
	if (!listener->daemon)
		return err_fail(reterr, EIO, "libmicrohttpd cannot be started");
	r = watch(listener, event);
	if (r < 0)
		return err_fail(reterr, -r, "libmicrohttpd cannot be watched: %s", strerror(-r));
	return 0;
}

static int listen_unix(struct http *http, sd_event *event, const char *path, struct err *reterr)
{
	struct stat st;
	int fd = http_listen_unix(path, reterr);

	if (fd < 0)
		return fd;
	strcpy(http->socket_path, path); /* a path that could be bound is short */
	if (lstat(path, &st) == 0) {
		http->socket_dev = st.st_dev;
		http->socket_ino = st.st_ino;
	}
	return serve_on(&http->unix_socket, fd, event, http, reterr);
}

static int listen_tcp(struct http *http, sd_event *event, const char *address, struct err *reterr)
{
	int fd = http_listen_tcp(address, reterr);

	return fd < 0 ? fd : serve_on(&http->tcp, fd, event, http, reterr);
}

int http_new(sd_event *event, const char *socket_path, const char *listen, struct api *api,
	     struct http **ret_http, struct err *reterr)
{
	struct http *http = calloc(1, sizeof(*http));
	struct http_handed handed;
	int r;

	if (!http)
		return err_fail(reterr, ENOMEM, "no memory");
	http->api = api;
	r = http_listen_handed(&handed, reterr);
	if (r >= 0)
		r = handed.unix_socket >= 0
			    ? serve_on(&http->unix_socket, handed.unix_socket, event, http, reterr)
			    : listen_unix(http, event, socket_path, reterr);
	if (r >= 0 && handed.tcp >= 0)
		r = serve_on(&http->tcp, handed.tcp, event, http, reterr);
	else if (r >= 0 && listen[0])
		r = listen_tcp(http, event, listen, reterr);
	if (r < 0) {
		http_free(http);
		return r;
	}
	*ret_http = http;
	return 0;
}

static void stop(struct listener *listener)
{
	sd_event_source_disable_unref(listener->readable);
	sd_event_source_disable_unref(listener->timer);
	if (listener->daemon)
		MHD_stop_daemon(listener->daemon); /* closes its socket, ends every exchange */
}

/* Another daemon may have taken the name meanwhile: then it is not ours to remove. */
static void remove_socket(const struct http *http)
{
	struct stat st;

	if (http->socket_path[0] && lstat(http->socket_path, &st) == 0 &&
	    st.st_dev == http->socket_dev && st.st_ino == http->socket_ino)
		(void)unlink(http->socket_path);
}

struct http *http_free(struct http *http)
{
	if (!http)
		return NULL;
	remove_socket(http);
	while (http->suspended)
		resume(http->suspended);
	stop(&http->tcp);
	stop(&http->unix_socket);
	free(http);
	return NULL;
}
