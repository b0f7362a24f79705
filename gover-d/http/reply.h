/* SPDX-License-Identifier: MIT */
/* Makes responses of libmicrohttpd from replies. */
#ifndef GOVER_D_HTTP_REPLY_H
#define GOVER_D_HTTP_REPLY_H

#include <microhttpd.h>
#include <stdbool.h>

#include "gover-d/api/request.h"

/*
 * Bodies that are being compressed. Each needs 256 KiB, and time in each run of the loop,
 * so their number is limited; further replies are not compressed.
 */
#define HTTP_PACKING_MAX 32
struct http_packing {
	unsigned int n;
};

/*
 * Returns a new response with the body of @reply, which must not be a stream; NULL: out of memory.
 * The response has its own reference to the text. If reply->packs is set, the text is compressed
 * while it is sent; if @packing has no room, reply->packs and reply->encoding are cleared. Fixed
 * bytes are not copied. @packing must outlive the response.
 */
struct MHD_Response *http_reply_make(struct api_reply *reply, struct http_packing *packing);
/* Adds the headers of @reply. Returns false if memory is short. */
bool http_reply_add_headers(struct MHD_Response *response, const struct api_reply *reply);
/*
 * Returns a new response with the text of api_request_reply_no_memory(), which closes the
 * connection; NULL: out of memory.
 */
struct MHD_Response *http_reply_make_no_memory(void);

#endif
