/* SPDX-License-Identifier: MIT */
/*
 * GET /openapi.json: the embedded file gover-d/openapi/openapi.json. tests/scenario/201-openapi.sh
 * compares it with the routes.
 */
#include "gover-d/api/encoding.h"
#include "gover-d/api/handler.h"

/* defined in gover-d/openapi/embed.S */
extern char openapi_document[], openapi_document_end[];
extern char openapi_packed[], openapi_packed_end[];
extern const char openapi_etag[], openapi_packed_etag[];

void api_get_openapi(struct api *api, struct api_request *request)
{
	const struct asset document = {
		.type = API_TYPE_JSON,
		.plain = {.bytes = openapi_document,
			  .size = (size_t)(openapi_document_end - openapi_document),
			  .etag = openapi_etag},
		.packed = {.bytes = openapi_packed,
			   .size = (size_t)(openapi_packed_end - openapi_packed),
			   .etag = openapi_packed_etag},
	};

	(void)api;
	api_reply_asset(request, &document);
}
