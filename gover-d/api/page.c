/* SPDX-License-Identifier: MIT */
/* Serves the embedded web page and its files. */
#include "gover-d/api/encoding.h"
#include "gover-d/api/handler.h"
#include "gover-d/api/problem.h"

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

void api_get_page(struct api *api, struct api_request *request)
{
	struct asset asset;

	(void)api;
	if (asset_find(request->path, &asset) < 0) {
		problem_reply(request, 404, "%s: not found", request->path);
		return;
	}
	api_reply_asset(request, &asset);
	request->reply.headers = headers;
}
