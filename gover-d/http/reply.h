/* SPDX-License-Identifier: MIT */
/* Makes responses of libmicrohttpd from replies. */
#ifndef GOVER_D_HTTP_REPLY_H
#define GOVER_D_HTTP_REPLY_H

#include <microhttpd.h>
#include <stdbool.h>

#include "gover-d/api/request.h"

/*
 * Returns a new response with the body of @reply, which must not be a stream; NULL: out of memory.
 * The response has its own reference to the text, and compresses it while it is sent if @reply says
 * so. Fixed bytes are not copied.
 */
struct MHD_Response *http_reply_make(const struct api_reply *reply);
/* Adds the headers of @reply. Returns false if memory is short. */
bool http_reply_add_headers(struct MHD_Response *response, const struct api_reply *reply);
/*
 * Returns a new response with the text of api_request_reply_no_memory(), which closes the
 * connection; NULL: out of memory.
 */
struct MHD_Response *http_reply_make_no_memory(void);

#endif
