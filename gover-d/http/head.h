/* SPDX-License-Identifier: MIT */
/*
 * Judges the head of a request that libmicrohttpd has parsed. libmicrohttpd accepts forms that
 * other programs read differently (RFC 9112), so that a proxy and this daemon could see different
 * requests in the same bytes. docs/threats.md lists what libmicrohttpd does not show.
 *
 * Also finds the parts of the target of a request (RFC 9112, section 3.2) and decodes their
 * escapes.
 */
#ifndef GOVER_D_HTTP_HEAD_H
#define GOVER_D_HTTP_HEAD_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

#include "gover-d/api/request.h"

struct http_target {
	const char *path;      /* "/" if the target has no path */
	const char *authority; /* NULL: the target has the origin form */
	struct api_query query[API_QUERY_MAX];
	size_t n_query; /* parameters in the target; only the first API_QUERY_MAX are stored */
	/*
	 * False: the target contains a space or a control character, or has a scheme, but its
	 * authority is empty or contains "@". @path is then the whole text.
	 */
	bool valid;
};

/*
 * Splits and decodes @text in place: "/path?query" or "http://authority/path?query". Another text,
 * such as "*", is a path that no route has. The result points into @text. These escapes remain:
 * those of NUL, which would end the text early; in a path also those of "/", which is not a
 * separator if it is escaped (RFC 3986, section 2.2); and malformed ones. Such a text matches no
 * object, because no name contains "%".
 */
struct http_target http_target_parse(char *text);

struct head_refusal {
	unsigned int status; /* HTTP status: 400, 411, 414, 431, 505 */
	const char *text;    /* one sentence for the client */
};

/* Returns why the request must be refused; NULL: it is accepted. The result is static. */
const struct head_refusal *head_check(struct MHD_Connection *connection, const char *method,
				      const struct http_target *target, const char *version);

#endif
