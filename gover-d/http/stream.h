/* SPDX-License-Identifier: MIT */
/* Answers without an end, on libmicrohttpd: a connection sleeps until there is more for it. */
#ifndef GOVER_D_HTTP_STREAM_H
#define GOVER_D_HTTP_STREAM_H

#include <microhttpd.h>
#include <systemd/sd-event.h>

struct api_stream;
struct http_stream;

struct http_streams {
	struct http_stream *first;
};

/*
 * The response that sends @stream, which outlives it, to @connection; @timer is what runs its
 * daemon. NULL: no memory. *@ret_stream is to be ended when the exchange is over.
 */
struct MHD_Response *http_stream_begin(struct http_streams *streams, struct api_stream *stream,
				       struct MHD_Connection *connection, sd_event_source *timer,
				       struct http_stream **ret_stream);
void http_stream_end(struct http_stream *stream); /* NULL is fine */

/* Before its daemon stops: none may sleep then. */
void http_stream_end_all(struct http_streams *streams);

/* Has the daemon that @timer runs do so at once: who is woken asks nobody. */
void http_run_soon(sd_event_source *timer);

#endif
