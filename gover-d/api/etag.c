/* SPDX-License-Identifier: MIT */
/* ETags and conditional requests. A request with an invalid If-Match header is rejected. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "gover-d/api/etag.h"
#include "gover-d/api/handler.h"
#include "gover-d/api/resource.h"
#include "gover-d/store/contracts.h"

#define WEAK "W/" /* a tag that begins with it is weak */

/*
 * The hash needs no secret key. A client that finds a collision gains nothing, because it could
 * also omit If-Match.
 */
void api_etag_of_text(const char *text, char tag[API_ETAG_MAX])
{
	snprintf(tag, API_ETAG_MAX, "\"%016" PRIx64 "\"", hash_text(text));
}

static bool is_weak(const char *tag)
{
	return strncmp(tag, WEAK, strlen(WEAK)) == 0;
}

/* Takes over the reference to @state. */
static void tag_of(json_t *state, char tag[API_ETAG_MAX])
{
	CLEANUP_FREE char *text = json_dumps(state, JSON_COMPACT | JSON_SORT_KEYS);

	api_etag_of_text(text, tag);
	json_decref(state);
}

/* The tag also covers the exact numbers, which the answer contains with three decimals. */
void api_etag_of_contract(const struct view *view, const struct host_gpu *gpu,
			  const struct vgpu *vgpu, char tag[API_ETAG_MAX])
{
	tag_of(json_pack("[o, o]", contracts_encode_one(&vgpu->contract, vgpu->found),
			 resource_encode_contract(view, gpu, &vgpu->contract)),
	       tag);
}

static void weaken(char tag[API_ETAG_MAX])
{
	char strong[API_ETAG_MAX];

	memcpy(strong, tag, sizeof(strong));
	snprintf(tag, API_ETAG_MAX, WEAK "%.*s", API_ETAG_MAX - 3, strong);
}

void api_etag_of_vgpu(const struct view *view, const struct host_gpu *gpu, const struct vgpu *vgpu,
		      char tag[API_ETAG_MAX])
{
	api_etag_of_contract(view, gpu, vgpu, tag);
	weaken(tag);
}

void api_etag_of_gpu(const struct host_gpu *gpu, char tag[API_ETAG_MAX])
{
	tag_of(json_pack("{s:s, s:s, s:b}", "name", gpu->config.name, "mode",
			 gpu_mode_name(gpu->mode), "selling", gpu->selling),
	       tag);
	weaken(tag);
}

void api_etag_put(struct api_request *request, const char *tag)
{
	snprintf(request->reply.etag, sizeof(request->reply.etag), "%s", tag);
}

/*
 * Reads the next tag of a list. Returns 1 and sets *ret_at and *ret_length to the tag with its
 * quotes, 0 at the end of the list, or -EINVAL if the text is not a list of tags. A tag that begins
 * with W/ is weak.
 */
static int next_tag(const char **list, bool *ret_weak, const char **ret_at, size_t *ret_length)
{
	const char *at = *list + strspn(*list, " \t,"), *end;
	bool weak = is_weak(at);

	if (*at == '\0')
		return 0;
	at += weak ? 2 : 0;
	end = *at == '"' ? strchr(at + 1, '"') : NULL;
	if (!end || (end[1] != '\0' && !strchr(" \t,", end[1])))
		return -EINVAL;
	*ret_weak = weak;
	*ret_at = at;
	*ret_length = (size_t)(end + 1 - at);
	*list = end + 1;
	return 1;
}

/* Returns true if @list is "*", which means every tag. Whitespace around a value has no meaning. */
static bool is_any(const char *list)
{
	const char *at = list + strspn(list, " \t");

	return *at == '*' && at[1 + strspn(at + 1, " \t")] == '\0';
}

/*
 * Returns 1 if @list contains @tag, 0 if it does not, or -EINVAL if @list is not a list of tags.
 * The marks of weak tags are not compared. Weak tags in @list are ignored unless @takes_weak is
 * true.
 */
static int names(const char *list, const char *tag, bool takes_weak)
{
	const char *at;
	int named = 0, r;
	size_t length;
	bool weak;

	if (is_any(list))
		return 1;
	tag += is_weak(tag) ? strlen(WEAK) : 0;
	while ((r = next_tag(&list, &weak, &at, &length)) > 0)
		if ((takes_weak || !weak) && strlen(tag) == length && memcmp(at, tag, length) == 0)
			named = 1;
	return r < 0 ? r : named;
}

static int refuse_list(struct api_request *request, const char *name, const char *list)
{
	problem_reply(request, 400,
		      "%s: %.100s is invalid (allowed: * or quoted ETags, separated by commas)",
		      name, list);
	return -EINVAL;
}

int api_etag_check(struct api_request *request, const char *tag)
{
	const char *match = request->if_match, *none = request->if_none_match;
	int r = match ? names(match, tag, is_weak(tag)) : 1;
	int denied = none ? names(none, tag, /* takes_weak= */ true) : 0;

	if (r < 0)
		return refuse_list(request, "If-Match", match);
	if (denied < 0)
		return refuse_list(request, "If-None-Match", none);
	if (r > 0 && denied == 0)
		return 0;
	if (r == 0)
		problem_reply(request, 412,
			      "If-Match: %.100s does not match the current ETag %s: the resource "
			      "has changed",
			      match, tag);
	else
		problem_reply(request, 412, "If-None-Match: %.100s matches the current ETag %s",
			      none, tag);
	return -EINVAL;
}

bool api_etag_unchanged(struct api_request *request, const char *tag)
{
	/* An invalid If-None-Match matches no tag, so the client gets the whole answer. */
	if (!request->if_none_match ||
	    names(request->if_none_match, tag, /* takes_weak= */ true) <= 0)
		return false;
	api_request_reply_empty(request, 304);
	api_etag_put(request, tag);
	return true;
}

void api_etag_apply(struct api_request *request)
{
	const struct api_header *headers = request->reply.headers;
	char tag[API_ETAG_MAX];

	memcpy(tag, request->reply.etag, sizeof(tag));
	if (request->reply.status == 200 && tag[0] && api_etag_unchanged(request, tag))
		request->reply.headers = headers;
}
