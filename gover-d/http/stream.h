/* SPDX-License-Identifier: MIT */
/* Event streams on libmicrohttpd: a connection is suspended until there is more to send. */
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
 * Creates the response that sends @stream to @connection; @timer runs its daemon. @stream must
 * outlive it. NULL: out of memory. The caller ends *@ret_stream after the exchange.
 */
struct MHD_Response *http_stream_begin(struct http_streams *streams, struct api_stream *stream,
				       struct MHD_Connection *connection, sd_event_source *timer,
				       struct http_stream **ret_stream);
void http_stream_end(struct http_stream *stream); /* NULL is fine */

/* Call it before the daemon stops, because no connection may be suspended then. */
void http_stream_end_all(struct http_streams *streams);

/* Makes @timer run its daemon now, as needed after MHD_resume_connection(). */
void http_run_soon(sd_event_source *timer);

#endif
