/* SPDX-License-Identifier: MIT */
/*
 * Content codings of answers (RFC 9110, section 8.4): parses Accept-Encoding, and replaces the text
 * of a reply by its compressed form.
 */
#ifndef GOVER_D_API_ENCODING_H
#define GOVER_D_API_ENCODING_H

#include <stdbool.h>

#include "gover-d/api/request.h"
#include "gover-d/util/asset.h"

/*
 * Texts from 1,400 bytes are compressed, because a shorter answer fits into one packet anyway. The
 * event loop compresses texts up to 512 KiB at once, which takes less than 3 ms, and longer texts
 * in parts while they are sent. The threads of the history compress their texts at once.
 */
#define API_PACK_MIN	  1400
#define API_PACK_LOOP_MAX (512 * 1024)

#define API_CODING_GZIP "gzip"

/*
 * Returns true if @accept (the value of Accept-Encoding, or NULL) prefers gzip to the uncompressed
 * answer, or ranks them equally. False if @accept is invalid.
 */
bool api_accepts_gzip(const char *accept);

#define API_WEIGHT_MAX 1000 /* the weight q=1; the text of a weight has at most three decimals */
/*
 * Reads a weight (RFC 9110, section 12.4.2) such as "0", "0.5" or "1.000", in thousandths. Returns
 * its end, or NULL if @at does not begin with a weight.
 */
const char *api_read_weight(const char *at, int *ret_weight);

/*
 * Creates the compressed form of @text, which becomes a part of @text. Nothing happens if the form
 * exists, if @text is too short, or if there is not enough memory.
 */
void api_text_pack(struct api_text *text);

/*
 * Compresses the final reply if the request allows it, and sets the headers Vary and
 * Content-Encoding. Only the answers to GET and HEAD are compressed: the length of a compressed
 * answer to POST would depend on text of the client next to a new secret. An answer with an ETag
 * remains uncompressed, because this ETag is also used in If-Match.
 */
void api_reply_encode(struct api_request *request);

/*
 * Replies with an embedded file in the form that the client prefers, or with 304 if the client has
 * this form. Each form has its own ETag.
 */
void api_reply_asset(struct api_request *request, const struct asset *asset);

#endif
