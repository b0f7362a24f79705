/* SPDX-License-Identifier: MIT */
/* Converts replies to responses of libmicrohttpd: body and headers. */
#include <stdio.h>
#include <stdlib.h>

#include "gover-d/http/reply.h"
#include "gover-d/util/gzip.h"

#define BLOCK_BYTES 32768 /* the largest part of a compressed body; libmicrohttpd may take less */

static void release_text(void *text)
{
	api_text_unref(text);
}

/* A text that is compressed while it is sent. */
struct packed_body {
	struct api_text *text;
	struct gzip_stream *stream;
	struct http_packing *packing;
};

static void free_body(void *userdata)
{
	struct packed_body *body = userdata;

	gzip_stream_free(body->stream);
	api_text_unref(body->text);
	body->packing->n--;
	free(body);
}

static ssize_t read_body(void *userdata, uint64_t at, char *buffer, size_t size)
{
	struct packed_body *body = userdata;
	size_t n = gzip_stream_read(body->stream, buffer, size);

	(void)at;
	return n > 0 ? (ssize_t)n : MHD_CONTENT_READER_END_OF_STREAM;
}

static struct MHD_Response *make_packed(struct api_text *text, struct http_packing *packing)
{
	struct packed_body *body = calloc(1, sizeof(*body));
	struct MHD_Response *response = NULL;

	if (!body)
		return NULL;
	body->packing = packing;
	packing->n++;
	body->text = api_text_ref(text);
	body->stream = gzip_stream_new(text->data, text->length);
	if (body->stream)
		response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES,
							     read_body, body, free_body);
	if (!response)
		free_body(body);
	return response;
}

struct MHD_Response *http_reply_make(struct api_reply *reply, struct http_packing *packing)
{
	struct MHD_Response *response;

	if (reply->fixed)
		return MHD_create_response_from_buffer(reply->fixed_size, reply->fixed,
						       MHD_RESPMEM_PERSISTENT);
	if (!reply->text)
		return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	if (reply->packs && packing->n < HTTP_PACKING_MAX)
		return make_packed(reply->text, packing);
	if (reply->packs) {
		reply->packs = false;
		reply->encoding = NULL;
	}
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

static bool add_number(struct MHD_Response *response, const char *name, unsigned int number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	return number == 0 || add_header(response, name, text);
}

bool http_reply_add_headers(struct MHD_Response *response, const struct api_reply *reply)
{
	for (const struct api_header *h = reply->headers; h && h->name; h++)
		if (!add_header(response, h->name, h->value))
			return false;
	return add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply->type) &&
	       add_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, reply->encoding) &&
	       add_header(response, MHD_HTTP_HEADER_VARY,
			  reply->varies ? MHD_HTTP_HEADER_ACCEPT_ENCODING : NULL) &&
	       add_header(response, MHD_HTTP_HEADER_ETAG, reply->etag) &&
	       add_header(response, MHD_HTTP_HEADER_LOCATION, reply->location) &&
	       add_header(response, MHD_HTTP_HEADER_ALLOW, reply->allow) &&
	       add_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, reply->authenticate) &&
	       add_number(response, MHD_HTTP_HEADER_RETRY_AFTER, reply->retry_after_s);
}

/* The text and the headers of api_request_reply_no_memory() are constant. */
struct MHD_Response *http_reply_make_no_memory(void)
{
	struct api_request request = {0};
	struct MHD_Response *response;

	api_request_reply_no_memory(&request);
	response = MHD_create_response_from_buffer(
		request.reply.text->length, request.reply.text->data, MHD_RESPMEM_PERSISTENT);
	if (response && (!http_reply_add_headers(response, &request.reply) ||
			 !add_header(response, MHD_HTTP_HEADER_CONNECTION, "close"))) {
		MHD_destroy_response(response);
		response = NULL;
	}
	api_request_fini(&request);
	return response;
}
