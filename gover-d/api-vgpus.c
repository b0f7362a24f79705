/* SPDX-License-Identifier: MIT */
/* vGPUs and their contracts: seen, sold, changed, ended. */
#include <errno.h>
#include <stdio.h>

#include "gover-d/api-internal.h"
#include "gover-d/flavor.h"
#include "gover-d/json-encode.h"
#include "gover-d/problem.h"

#define CHANGEABLE                                                                           \
	(CONTROL_VM | CONTROL_CID | CONTROL_LABELS | CONTROL_INITIAL_CAP | CONTROL_MIN_CAP | \
	 CONTROL_TARGET_FPS | CONTROL_WEIGHT | CONTROL_BURST | CONTROL_FLAVOR | CONTROL_FPS_LIMIT)

static json_t *encode_list(struct api *api, const struct host_gpu *gpu)
{
	struct json_encode answer = json_encode_begin();

	json_encode_add(&answer, "vgpus", json_encode_vgpus(api->manager, gpu));
	return json_encode_end(&answer);
}

static char *make_list(struct api *api)
{
	return json_encode_dump(encode_list(api, /* gpu= */ NULL));
}

const struct api_text *api_vgpus_text(struct api *api)
{
	return api_cached(api, API_CACHED_VGPUS, make_list);
}

void api_get_vgpus(struct api *api, struct api_request *request)
{
	const char *name = api_request_query(request, "gpu");
	const struct host_gpu *gpu;

	if (!name) {
		api_reply_cached(api, request, API_CACHED_VGPUS, API_TYPE_JSON, make_list);
		return;
	}
	gpu = api_find_gpu(api, request, name);
	if (gpu)
		api_request_reply_json(request, 200, encode_list(api, gpu));
}

/* Answers with the vGPU as it is now. */
static void reply_vgpu(struct api *api, struct api_request *request, unsigned int status,
		       const char *id)
{
	const struct host_gpu *gpu;
	const struct vgpu *vgpu = api_find_vgpu(api, request, id, &gpu);

	if (vgpu)
		api_request_reply_json(request, status, json_encode_vgpu(api->manager, gpu, vgpu));
}

void api_get_vgpu(struct api *api, struct api_request *request)
{
	reply_vgpu(api, request, 200, request->param);
}

/* What the request leaves open is as the flavour it names. */
static void take_flavor(struct api *api, unsigned int fields, struct contract *contract)
{
	struct flavor flavor;

	if (!(fields & CONTROL_FLAVOR) ||
	    !flavor_find(control_config(api->manager), contract->flavor, &flavor))
		return; /* refused by the name, not by what it lacks */
	if (!(fields & CONTROL_INITIAL_CAP))
		contract->terms.initial_cap_pct = flavor.cap_pct;
	if (!(fields & CONTROL_TARGET_FPS))
		contract->terms.target_fps = flavor.target_fps;
}

void api_post_vgpu(struct api *api, struct api_request *request)
{
	struct contract contract = {
		.terms = {.weight = 1},
		.labels = json_object(),
	};
	struct err err = {.msg = ""};
	unsigned int fields, required = API_CONTRACT_ID;
	int r;

	if (!json_object_get(request->object, "flavor"))
		required |= CONTROL_INITIAL_CAP;
	if (api_decode_contract(request, CHANGEABLE | API_CONTRACT_ID | API_CONTRACT_GPU, required,
				&contract, &fields) < 0) {
		contract_fini(&contract);
		return;
	}
	take_flavor(api, fields, &contract);
	r = control_vgpu_add(api->manager, &contract, &err);
	if (r < 0) {
		contract_fini(&contract);
		/* The body, not the path, names a GPU that is not there. */
		problem_reply_error(request, r == -ENOENT ? -EINVAL : r, &err);
		return;
	}
	reply_vgpu(api, request, 201, contract.id);
	snprintf(request->reply.location, sizeof(request->reply.location), "/v1/vgpus/%s",
		 contract.id);
	api_reply_when_saved(api, request);
}

void api_patch_vgpu(struct api *api, struct api_request *request)
{
	struct contract values = {.id = ""};
	struct err err = {.msg = ""};
	const struct host_gpu *gpu;
	unsigned int fields = 0;
	int r;

	if (!api_find_vgpu(api, request, request->param, &gpu))
		return;
	r = api_decode_contract(request, CHANGEABLE | CONTROL_HELD | CONTROL_HELD_CAP,
				/* required= */ 0, &values, &fields);
	if (r == 0) {
		r = control_vgpu_change(api->manager, request->param, fields, &values, &err);
		if (r < 0)
			problem_reply_error(request, r, &err);
	}
	contract_fini(&values);
	if (r < 0)
		return;
	reply_vgpu(api, request, 200, request->param);
	api_reply_when_saved(api, request);
}

void api_delete_vgpu(struct api *api, struct api_request *request)
{
	struct err err = {.msg = ""};
	int r = control_vgpu_remove(api->manager, request->param, &err);

	if (r < 0) {
		problem_reply_error(request, r, &err);
		return;
	}
	api_request_reply_empty(request, 204);
	api_reply_when_saved(api, request);
}
