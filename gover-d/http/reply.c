/* SPDX-License-Identifier: MIT */
/* Converts replies to responses of libmicrohttpd: body and headers. */
#include <stdio.h>

#include "base/xalloc.h"
#include "gover-d/http/reply.h"

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
