/* SPDX-License-Identifier: MIT */
/*
 * GET /openapi.json: the embedded file gover-d/openapi/openapi.json. tests/scenario/rest/openapi.sh
 * compares it with the routes.
 */
#include "gover-d/api/encoding.h"
#include "gover-d/api/handler.h"

/* defined in gover-d/openapi/embed.S */
extern char openapi_document[], openapi_packed[];
extern const uint64_t openapi_document_size, openapi_packed_size;
extern const char openapi_etag[], openapi_packed_etag[];

void api_get_openapi(struct api *api, struct api_request *request)
{
	const struct asset document = {
		.type = API_TYPE_JSON,
		.plain = {.bytes = openapi_document,
			  .size = openapi_document_size,
			  .etag = openapi_etag},
		.packed = {.bytes = openapi_packed,
			   .size = openapi_packed_size,
			   .etag = openapi_packed_etag},
	};

	(void)api;
	api_reply_asset(request, &document);
}
