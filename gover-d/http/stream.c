/* SPDX-License-Identifier: MIT */
/*
 * Streams on suspended connections. libmicrohttpd requests bytes when the socket is writable. If
 * the stream has no bytes, the connection is suspended until the api calls wake(). This module has
 * no buffer.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/xalloc.h"
#include "gover-d/api/request.h"
#include "gover-d/http/stream.h"

static void release_text(void *text)
{
	api_text_unref(text);
}

struct MHD_Response *http_reply_make(const struct api_reply *reply)
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

void http_reply_add_headers(struct MHD_Response *response, const struct api_reply *reply)
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

#define BLOCK 4096
/*
 * Size of the send buffer of the socket, which limits the unread bytes of a slow client. The kernel
 * doubles this value.
 */
#define SEND_BUFFER (64 * 1024)

struct http_stream {
	struct http_streams *streams;
	struct api_stream *stream;
	struct MHD_Connection *connection;
	sd_event_source *timer;
	bool suspended, ending;
	struct http_stream *next; /* next in streams.first */
};

void http_run_soon(sd_event_source *timer)
{
	(void)sd_event_source_set_time_relative(timer, 0);
	(void)sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

static ssize_t read_some(void *userdata, uint64_t position, char *buffer, size_t size)
{
	struct http_stream *s = userdata;
	ssize_t n = s->ending ? -1 : s->stream->read(s->stream, buffer, size);

	(void)position;
	if (n < 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (n == 0) {
		s->suspended = true;
		MHD_suspend_connection(s->connection);
	}
	return n;
}

static int socket_of(const struct http_stream *s)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(s->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	return info ? info->connect_fd : -1;
}

static void resume(struct http_stream *s)
{
	if (!s->suspended)
		return;
	s->suspended = false;
	MHD_resume_connection(s->connection);
}

static void wake(void *userdata)
{
	struct http_stream *s = userdata;

	if (!s->suspended)
		return; /* libmicrohttpd requests bytes itself when the socket is writable */
	resume(s);
	http_run_soon(s->timer);
}

/* libmicrohttpd may be waiting until the socket is writable. Only a shutdown ends this wait. */
static void drop(void *userdata)
{
	struct http_stream *s = userdata;

	s->ending = true;
	(void)shutdown(socket_of(s), SHUT_RDWR);
	wake(s);
}

struct MHD_Response *http_stream_begin(struct http_streams *streams, struct api_stream *stream,
				       struct MHD_Connection *connection, sd_event_source *timer,
				       struct http_stream **ret_stream)
{
	const int size = SEND_BUFFER;
	struct MHD_Response *response;
	struct http_stream *s = xmalloc(sizeof(*s));

	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_some, s, NULL);
	if (!response)
		xalloc_fail(0);
	*s = (struct http_stream){
		.streams = streams,
		.stream = stream,
		.connection = connection,
		.timer = timer,
		.next = streams->first,
	};
	streams->first = s;
	(void)setsockopt(socket_of(s), SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	stream->wake = wake;
	stream->drop = drop;
	stream->userdata = s;
	*ret_stream = s;
	return response;
}

void http_stream_end(struct http_stream *s)
{
	struct http_stream **at;

	if (!s)
		return;
	for (at = &s->streams->first; *at != s; at = &(*at)->next)
		;
	*at = s->next;
	s->stream->wake = s->stream->drop = NULL;
	free(s);
}

void http_stream_end_all(struct http_streams *streams)
{
	for (struct http_stream *s = streams->first; s; s = s->next) {
		s->ending = true;
		resume(s);
	}
}
