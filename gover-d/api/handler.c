/* SPDX-License-Identifier: MIT */
/*
 * Functions shared by the handlers: cached answers, lookups and parameters.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "gover-d/api/handler.h"
#include "gover-d/api/problem.h"
#include "gover-d/api/time.h"
#include "gover-d/util/json-encode.h"

struct api_text *api_cached(struct api *api, enum api_cached which, char *(*make)(struct api *api))
{
	struct api_cache *cache = &api->cached[which];
	uint64_t generation = *api->view->generation;

	if (!cache->text || cache->generation != generation || cache->version != api->version) {
		api_text_unref(cache->text);
		*cache = (struct api_cache){
			.text = api_text_new(make(api)),
			.generation = generation,
			.version = api->version,
		};
	}
	return cache->text;
}

void api_reply_cached(struct api *api, struct api_request *request, enum api_cached which,
		      const char *type, char *(*make)(struct api *api))
{
	api_request_reply_shared(request, 200, type, api_cached(api, which, make));
}

void api_reply_list(struct api_request *request, const char *key, json_t *list)
{
	api_request_reply_json(request, 200, json_pack("{s:o}", key, list));
}

const struct host_gpu *api_find_gpu(struct api *api, struct api_request *request, const char *name)
{
	const struct host_gpu *gpu = host_view_gpu(api->view->host, name);

	if (!gpu)
		problem_reply(request, 404, "GPU %.100s: not found on this host", name);
	return gpu;
}

const struct vgpu *api_find_vgpu(struct api *api, struct api_request *request, const char *id,
				 const struct host_gpu **ret_gpu)
{
	const struct vgpu *vgpu = host_view_vgpu(api->view->host, id, ret_gpu);

	if (!vgpu)
		problem_reply(request, 404, "vGPU %.100s: not found on this host", id);
	return vgpu;
}

int api_query_whole(struct api_request *request, const char *name, int64_t min, int64_t max,
		    int64_t *value)
{
	const char *text = api_request_query(request, name);
	int r = text ? parse_int(text, min, max, value) : 0;

	if (r < 0)
		problem_reply(request, 400,
			      "%s: %.100s is invalid (allowed: a whole number %lld..%lld)", name,
			      text, (long long)min, (long long)max);
	return r < 0 ? -EINVAL : 0;
}

int api_query_switch(struct api_request *request, const char *name, bool *value)
{
	const char *text = api_request_query(request, name);
	int r = text ? parse_bool(text, value) : 0;

	if (r < 0)
		problem_reply(request, 400, "%s: %.100s is invalid (allowed: true, false)", name,
			      text);
	return r;
}

int api_query_time(struct api_request *request, const char *name, int64_t *time_ms)
{
	const char *text = api_request_query(request, name);

	if (!text || api_time_parse(text, time_ms) == 0)
		return 0;
	problem_reply(request, 400,
		      "%s: %.100s is invalid (allowed: a time such as 2026-11-20T18:49:56Z, or "
		      "seconds since 1970)",
		      name, text);
	return -EINVAL;
}

int api_param_number(struct api_request *request, int64_t *ret_id)
{
	int r = parse_int(request->param, 1, INT64_MAX, ret_id);

	if (r < 0)
		problem_reply(request, 404, "%s: not found (%s is not a number)", request->path,
			      request->param);
	return r < 0 ? -EINVAL : 0;
}

int api_decode_contract(struct api_request *request, unsigned int allowed, unsigned int required,
			struct contract *contract, unsigned int *ret_fields)
{
	struct err err;
	int r = contract_decode(request->object, allowed, required, contract, ret_fields, &err);

	if (r < 0)
		problem_reply(request, 422, "%s", err.msg);
	return r;
}
