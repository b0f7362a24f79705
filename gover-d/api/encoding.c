/* SPDX-License-Identifier: MIT */
/* Accept-Encoding, and compressed replies. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "gover-d/api/encoding.h"
#include "gover-d/api/etag.h"
#include "gover-d/util/gzip.h"

#define ELEMENTS_MAX 32 /* a longer Accept-Encoding is invalid */
#define UNSET	     (-1)

/* Characters of a token, see RFC 9110, section 5.6.2. */
#define TOKEN                                                 \
	"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz" \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* The weights of an Accept-Encoding header. UNSET: the coding is not in the header. */
struct weights {
	int gzip, identity, any;
};

/* Skips optional white space. */
static const char *skip(const char *at)
{
	return at + strspn(at, " \t");
}

const char *api_read_weight(const char *at, int *ret_weight)
{
	int weight = *at == '1' ? API_WEIGHT_MAX : 0, unit = API_WEIGHT_MAX;

	if (*at != '0' && *at != '1')
		return NULL;
	if (*++at == '.')
		for (at++; *at >= '0' && *at <= '9' && unit > 1; at++) {
			unit /= 10;
			weight += (*at - '0') * unit;
		}
	if (weight > API_WEIGHT_MAX)
		return NULL;
	*ret_weight = weight;
	return at;
}

/* Reads the optional ";q=WEIGHT" of an element, and the separator after the element. */
static const char *read_rest(const char *at, int *ret_weight)
{
	*ret_weight = API_WEIGHT_MAX;
	at = skip(at);
	if (*at == ';') {
		at = skip(at + 1);
		if (strncasecmp(at, "q=", 2) != 0)
			return NULL;
		at = api_read_weight(at + 2, ret_weight);
		at = at ? skip(at) : NULL;
	}
	if (!at || (*at != ',' && *at != '\0'))
		return NULL;
	return at + strspn(at, ", \t");
}

/* A coding that occurs twice has the smaller weight. */
static void put(int *weight, int value)
{
	if (*weight == UNSET || value < *weight)
		*weight = value;
}

static void note(struct weights *weights, const char *name, size_t length, int weight)
{
	const struct {
		const char *name;
		int *weight;
	} codings[] = {
		{API_CODING_GZIP, &weights->gzip},
		{"x-gzip", &weights->gzip}, /* the same coding, see RFC 9110, section 8.4.1.3 */
		{"identity", &weights->identity},
		{"*", &weights->any},
	};

	for (size_t i = 0; i < ARRAY_SIZE(codings); i++)
		if (strlen(codings[i].name) == length &&
		    strncasecmp(codings[i].name, name, length) == 0)
			put(codings[i].weight, weight);
}

static int read_weights(const char *at, struct weights *ret_weights)
{
	struct weights weights = {UNSET, UNSET, UNSET};
	int n = 0, weight;

	for (at += strspn(at, ", \t"); *at; n++) {
		size_t length = strspn(at, TOKEN);
		const char *name = at;

		at = length > 0 && n < ELEMENTS_MAX ? read_rest(at + length, &weight) : NULL;
		if (!at)
			return -EINVAL;
		note(&weights, name, length, weight);
	}
	*ret_weights = weights;
	return 0;
}

bool api_accepts_gzip(const char *accept)
{
	struct weights weights;
	int gzip;

	if (!accept || read_weights(accept, &weights) < 0)
		return false;
	gzip = weights.gzip != UNSET ? weights.gzip : weights.any;
	return gzip > 0 && gzip >= weights.identity;
}

void api_text_pack(struct api_text *text)
{
	char *packed;
	size_t length;

	if (text->packed || text->length < API_PACK_MIN ||
	    gzip_pack(text->data, text->length, &packed, &length) < 0)
		return;
	text->packed = api_text_new_bytes(packed, length);
}

static bool is_read(const struct api_request *request)
{
	return strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
}

void api_reply_encode(struct api_request *request)
{
	struct api_reply *reply = &request->reply;
	struct api_text *text = reply->text;

	if (!text || reply->status != 200 || reply->etag[0] || !is_read(request))
		return;
	reply->varies = true;
	if (!api_accepts_gzip(request->accept_encoding))
		return;
	if (text->length <= API_PACK_LOOP_MAX)
		api_text_pack(text);
	reply->packs = !text->packed && text->length > API_PACK_LOOP_MAX;
	if (!text->packed && !reply->packs)
		return;
	reply->encoding = API_CODING_GZIP;
	if (reply->packs)
		return;
	reply->text = api_text_ref(text->packed);
	api_text_unref(text);
}

void api_reply_asset(struct api_request *request, const struct asset *asset)
{
	bool packs = asset->packed.size < asset->plain.size &&
		     api_accepts_gzip(request->accept_encoding);
	const struct asset_form *form = packs ? &asset->packed : &asset->plain;

	if (!api_etag_unchanged(request, form->etag)) {
		api_request_reply_fixed(request, 200, asset->type, form->bytes, form->size);
		api_etag_put(request, form->etag);
		request->reply.encoding = packs ? API_CODING_GZIP : NULL;
	}
	request->reply.varies = true;
}
