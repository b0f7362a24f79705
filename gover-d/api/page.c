/* SPDX-License-Identifier: MIT */
/* Serves the embedded web page and its files. */
#include <stdio.h>
#include <string.h>

#include "gover-d/api/handler.h"
#include "gover-d/api/problem.h"
#include "gover-d/util/asset.h"

/*
 * no-cache makes browsers revalidate the files at each request, so that an upgrade of the daemon
 * takes effect at once. The Content-Security-Policy allows scripts, styles and data from this
 * daemon only. It does not allow other pages to embed the web page.
 */
static const struct api_header headers[] = {
	{"Cache-Control", "no-cache"},
	{"Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; "
				    "img-src 'self'; connect-src 'self'; "
				    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
	{"Referrer-Policy", "no-referrer"},
	{"X-Content-Type-Options", "nosniff"},
	{NULL, NULL},
};

/* Returns true if If-None-Match is "*" or contains @etag, as a strong or a weak ETag. */
static bool has_it(const struct api_request *request, const char *etag)
{
	const char *list = request->if_none_match;

	return list && (strcmp(list, "*") == 0 || strstr(list, etag));
}

void api_get_page(struct api *api, struct api_request *request)
{
	struct asset asset;

	(void)api;
	if (asset_find(request->path, &asset) < 0) {
		problem_reply(request, 404, "%s: not found", request->path);
		return;
	}
	if (has_it(request, asset.etag))
		api_request_reply_empty(request, 304);
	else
		api_request_reply_fixed(request, 200, asset.type, asset.bytes, asset.size);
	snprintf(request->reply.etag, sizeof(request->reply.etag), "%s", asset.etag);
	request->reply.headers = headers;
}
