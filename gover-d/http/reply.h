/* SPDX-License-Identifier: MIT */
/* Makes responses of libmicrohttpd from replies. */
#ifndef GOVER_D_HTTP_REPLY_H
#define GOVER_D_HTTP_REPLY_H

#include <microhttpd.h>
#include <stdbool.h>

#include "gover-d/api/request.h"

/*
 * Returns a new response with the body of @reply, which must not be a stream. The response has its
 * own reference to the text. Fixed bytes are not copied.
 */
struct MHD_Response *http_reply_make(const struct api_reply *reply);
/* Adds the headers of @reply. Their values must not contain CR or LF. */
void http_reply_add_headers(struct MHD_Response *response, const struct api_reply *reply);

#endif
