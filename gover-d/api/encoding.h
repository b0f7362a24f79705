/* SPDX-License-Identifier: MIT */
/* Embedded files, which are stored in two forms: as they are, and compressed with gzip. */
#ifndef GOVER_D_API_ENCODING_H
#define GOVER_D_API_ENCODING_H

#include "gover-d/api/request.h"
#include "gover-d/util/asset.h"

/*
 * Replies with the compressed form of an embedded file if Accept-Encoding contains "gzip" without a
 * weight, else with the other form, or with 304 if the client has this form. Each form has its own
 * ETag.
 */
void api_reply_asset(struct api_request *request, const struct asset *asset);

#endif
