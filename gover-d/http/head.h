/* SPDX-License-Identifier: MIT */
/*
 * Judges the head of a request that libmicrohttpd has parsed. libmicrohttpd accepts forms that
 * other programs read differently (RFC 9112), so that a proxy and this daemon could see different
 * requests in the same bytes. docs/threats.md lists what libmicrohttpd does not show.
 */
#ifndef GOVER_D_HTTP_HEAD_H
#define GOVER_D_HTTP_HEAD_H

#include <microhttpd.h>

#include "gover-d/http/target.h"

struct head_refusal {
	unsigned int status; /* HTTP status: 400, 411, 414, 431, 505 */
	const char *text;    /* one sentence for the client */
};

/* Returns why the request must be refused; NULL: it is accepted. The result is static. */
const struct head_refusal *head_check(struct MHD_Connection *connection, const char *method,
				      const struct http_target *target, const char *version);

#endif
