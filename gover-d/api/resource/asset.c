/* SPDX-License-Identifier: MIT */
/*
 * Serves the embedded files: the web page with its files, and the description of REST, which
 * tests/scenario/rest/openapi.sh compares with the routes.
 */
#include <string.h>
#include <strings.h>

#include "gover-d/api/etag.h"
#include "gover-d/api/resource/routes.h"

/* Defined in gover-d/web/embed.S, with an empty row at the end, and in gover-d/openapi/embed.S. */
extern const struct asset {
	const char *path, *type;
	/* The file, and its form compressed with gzip. */
	struct asset_form {
		char *bytes; /* read-only; not const: libmicrohttpd takes a non-const pointer */
		size_t size;
		const char *etag; /* with quotes; the same for all files of the web page */
	} plain, packed;
} web_assets[], openapi_asset;

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

static bool accepts_gzip(const char *accept)
{
	while (accept && *accept) {
		const char *name = accept + strspn(accept, ", \t");
		size_t n = strcspn(name, ", \t;");

		accept = name + n + strspn(name + n, " \t");
		if (n == 4 && strncasecmp(name, "gzip", n) == 0 &&
		    (*accept == ',' || *accept == '\0'))
			return true;
		accept += strcspn(accept, ",");
	}
	return false;
}

/*
 * Replies with the compressed form of an embedded file if Accept-Encoding contains "gzip" without a
 * weight, else with the other form, or with 304 if the client has this form. Each form has its own
 * ETag.
 */
static void reply_asset(struct api_request *request, const struct asset *asset)
{
	bool packs =
		asset->packed.size < asset->plain.size && accepts_gzip(request->accept_encoding);
	const struct asset_form *form = packs ? &asset->packed : &asset->plain;

	if (!api_etag_unchanged(request, form->etag)) {
		api_request_reply_fixed(request, 200, asset->type, form->bytes, form->size);
		api_etag_put(request, form->etag);
		request->reply.encoding = packs ? "gzip" : NULL;
	}
	request->reply.varies = true;
}

static void get_page(struct api *api, struct api_request *request)
{
	const struct asset *asset = web_assets;

	(void)api;
	while (asset->path && strcmp(asset->path, request->path) != 0)
		asset++;
	if (!asset->path) {
		problem_reply(request, 404, "%s: not found", request->path);
		return;
	}
	reply_asset(request, asset);
	request->reply.headers = headers;
}

static void get_openapi(struct api *api, struct api_request *request)
{
	(void)api;
	reply_asset(request, &openapi_asset);
}

const struct api_route asset_routes[] = {
	{"GET", "/openapi.json", get_openapi, ACCESS_READ, 0, {NULL}},
	{"GET", "/", get_page, ACCESS_OPEN, 0, {NULL}},
	{"GET", "/web/{file}", get_page, ACCESS_OPEN, 0, {NULL}},
	{.method = NULL},
};
