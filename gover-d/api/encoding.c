/* SPDX-License-Identifier: MIT */
/* Selects the form of an embedded file. */
#include <string.h>
#include <strings.h>

#include "gover-d/api/encoding.h"
#include "gover-d/api/etag.h"

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

void api_reply_asset(struct api_request *request, const struct asset *asset)
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
