/* SPDX-License-Identifier: MIT */
/*
 * Makes responses of libmicrohttpd from replies, also event streams: a connection is suspended
 * while the stream has no bytes to send.
 */
#ifndef GOVER_D_HTTP_STREAM_H
#define GOVER_D_HTTP_STREAM_H

#include <microhttpd.h>
#include <stdbool.h>
#include <systemd/sd-event.h>

#include "gover-d/api/request.h"

struct api_stream;
struct http_stream;

struct http_streams {
	struct http_stream *first;
};

/*
 * Returns a new response that sends @stream to @connection. @timer runs the daemon of
 * @connection. @stream must outlive the response. The caller calls http_stream_end() for
 * *@ret_stream when the request is completed.
 */
struct MHD_Response *http_stream_begin(struct http_streams *streams, struct api_stream *stream,
				       struct MHD_Connection *connection, sd_event_source *timer,
				       struct http_stream **ret_stream);
void http_stream_end(struct http_stream *stream); /* accepts NULL */

/*
 * Ends all streams. Call it before the daemon of libmicrohttpd stops, because a stopping daemon
 * must not have suspended connections.
 */
void http_stream_end_all(struct http_streams *streams);

/* Makes @timer run its daemon now. This is necessary after MHD_resume_connection(). */
void http_run_soon(sd_event_source *timer);

/*
 * Returns a new response with the body of @reply, which must not be a stream. The response has its
 * own reference to the text. Fixed bytes are not copied.
 */
struct MHD_Response *http_reply_make(const struct api_reply *reply);
/* Adds the headers of @reply. Their values must not contain CR or LF. */
void http_reply_add_headers(struct MHD_Response *response, const struct api_reply *reply);

#endif
