/* SPDX-License-Identifier: MIT */
/* ETags and conditional requests. A request with an invalid If-Match header is rejected. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/json-text.h"
#include "gover-d/api/etag.h"
#include "gover-d/api/problem.h"
#include "gover-d/store/contracts.h"

/*
 * The hash needs no secret key. A client that finds a collision gains nothing, because it could
 * also omit If-Match.
 */
void api_etag_of_text(const char *text, char tag[API_ETAG_MAX])
{
	snprintf(tag, API_ETAG_MAX, "\"%016" PRIx64 "\"", hash_text(text));
}

/* Takes over the reference to @state. */
static void tag_of(json_t *state, char tag[API_ETAG_MAX])
{
	CLEANUP_FREE char *text = json_text_print(state, JSON_COMPACT | JSON_SORT_KEYS);

	tag[0] = '\0';
	if (text)
		api_etag_of_text(text, tag);
	json_decref(state);
}

void api_etag_of_vgpu(const struct vgpu *vgpu, char tag[API_ETAG_MAX])
{
	tag_of(contracts_encode_one(&vgpu->contract, vgpu->found), tag);
}

void api_etag_of_gpu(const struct host_gpu *gpu, char tag[API_ETAG_MAX])
{
	tag_of(json_pack("{s:s, s:s, s:b}", "name", gpu->config.name, "mode",
			 gpu_mode_name(gpu->mode), "selling", gpu->selling),
	       tag);
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
	bool weak = strncmp(at, "W/", 2) == 0;

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

/*
 * Returns 1 if @list contains @tag, 0 if it does not, or -EINVAL if @list is not a list of tags.
 * Weak tags in @list are ignored unless @takes_weak is true.
 */
static int names(const char *list, const char *tag, bool takes_weak)
{
	const char *at;
	int named = 0, r;
	size_t length;
	bool weak;

	if (strcmp(list, "*") == 0)
		return 1;
	while ((r = next_tag(&list, &weak, &at, &length)) > 0)
		if ((takes_weak || !weak) && strlen(tag) == length && memcmp(at, tag, length) == 0)
			named = 1;
	return r < 0 ? r : named;
}

int api_etag_check(struct api_request *request, const char *tag)
{
	int r = request->if_match ? names(request->if_match, tag, /* takes_weak= */ false) : 1;

	if (request->if_match && tag[0] == '\0') {
		api_request_reply_no_memory(request);
		return -ENOMEM;
	}
	if (r > 0)
		return 0;
	if (r < 0)
		problem_reply(
			request, 400,
			"If-Match: %.100s is invalid (allowed: * or quoted ETags, separated by "
			"commas)",
			request->if_match);
	else
		problem_reply(request, 412,
			      "If-Match: %.100s does not match the current ETag %s: the resource "
			      "has changed",
			      request->if_match, tag);
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
