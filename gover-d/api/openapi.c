/* SPDX-License-Identifier: MIT */
/*
 * GET /openapi.json: the embedded file gover-d/openapi/openapi.json. tests/scenario/201-openapi.sh
 * compares it with the routes.
 */
#include <stdlib.h>
#include <string.h>

#include "gover-d/api/etag.h"
#include "gover-d/api/handler.h"

/* defined in gover-d/openapi/embed.S */
extern const char openapi_document[];

void api_get_openapi(struct api *api, struct api_request *request)
{
	char tag[API_ETAG_MAX];

	if (!api->openapi)
		api->openapi = api_text_new(strdup(openapi_document));
	api_request_reply_shared(request, 200, API_TYPE_JSON, api->openapi);
	if (!api->openapi)
		return;
	api_etag_of_text(api->openapi->data, tag);
	if (!api_etag_unchanged(request, tag))
		api_etag_put(request, tag);
}
