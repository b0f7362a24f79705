/* SPDX-License-Identifier: MIT */
/* Routes of vGPUs and their contracts. */
#include <stdio.h>
#include <string.h>

#include "gover-d/api/change.h"
#include "gover-d/api/etag.h"
#include "gover-d/api/resource.h"
#include "gover-d/api/resource/routes.h"
#include "gover-d/change/control.h"
#include "gover-d/util/json.h"

static void get_vgpus(struct api *api, struct api_request *request)
{
	const char *name = api_request_query(request, "gpu");
	const struct host_gpu *gpu = NULL;

	if (request->n_query == 0) {
		api_request_reply_shared(request, 200, API_TYPE_JSON, api_vgpus_text(api));
		return;
	}
	if (name)
		gpu = api_find_gpu(api, request, name);
	if (!name || gpu)
		api_list_reply_vgpus(api, request, gpu);
}

/* Replies with the current state of the vGPU. */
static void reply_vgpu(struct api *api, struct api_request *request, unsigned int status,
		       const char *id)
{
	const struct host_gpu *gpu;
	const struct vgpu *vgpu = api_find_vgpu(api, request, id, &gpu);
	char tag[API_ETAG_MAX];

	if (!vgpu)
		return;
	api_request_reply_json(request, status, resource_encode_vgpu(api->view, gpu, vgpu));
	api_etag_of_vgpu(api->view, gpu, vgpu, tag);
	api_etag_put(request, tag);
	request->reply.headers = api_no_store;
}

/* Replies with the contract of the vGPU. The order of its members never changes. */
static void reply_contract(struct api *api, struct api_request *request)
{
	const struct host_gpu *gpu;
	const struct vgpu *vgpu = api_find_vgpu(api, request, request->param, &gpu);
	char tag[API_ETAG_MAX];
	json_t *contract;

	if (!vgpu)
		return;
	contract = resource_encode_contract(api->view, gpu, &vgpu->contract);
	api_request_reply_text(request, 200, API_TYPE_JSON, json_encode_dump_sorted(contract));
	api_etag_of_contract(api->view, gpu, vgpu, tag);
	api_etag_put(request, tag);
}

static void get_vgpu(struct api *api, struct api_request *request)
{
	reply_vgpu(api, request, 200, request->param);
	api_etag_apply(request);
}

static void get_contract(struct api *api, struct api_request *request)
{
	reply_contract(api, request);
	api_etag_apply(request);
}

static void reply_created(struct api *api, struct api_request *request)
{
	const char *id = request->change->id;

	reply_vgpu(api, request, 201, id);
	snprintf(request->reply.location, sizeof(request->reply.location), "/v1/vgpus/%s", id);
}

static void reply_changed(struct api *api, struct api_request *request)
{
	reply_vgpu(api, request, 200, request->param);
}

static void post_vgpu(struct api *api, struct api_request *request)
{
	struct contract contract = {
		.terms = {.weight = 1},
		.labels = json_object(),
	};
	unsigned int fields, required = CONTRACT_ID;
	struct api_change *change;
	struct control_key key;

	if (!json_object_get(request->object, "flavor"))
		required |= CONTRACT_INITIAL_CAP;
	if (api_change_key(request, &key) < 0 ||
	    api_decode_contract(request, contract_fields(CONTRACT_IN_CREATE), required, &contract,
				&fields) < 0) {
		contract_fini(&contract);
		return;
	}
	change = api_change_new(api, request, reply_created);
	memcpy(change->id, contract.id, sizeof(change->id));
	api_change_begun(change, control_vgpu_add(api->changes, &key, fields, &contract,
						  api_change_done(change), &change->err));
}

/*
 * Replaces the labels of a merge patch by the result of merging them into the labels of @contract.
 */
static void merge_labels(struct api_request *request, const struct contract *contract)
{
	json_t *patch = json_object_get(request->object, "labels"), *labels, *value;
	const char *name;

	if (!json_is_object(patch))
		return; /* contract_decode() rejects the other values, except null */
	labels = contract->labels ? json_copy(contract->labels) : json_object();
	json_object_foreach (patch, name, value) {
		if (json_is_null(value))
			(void)json_object_del(labels, name);
		else
			(void)json_object_set(labels, name, value);
	}
	(void)json_object_set_new(request->object, "labels", labels);
}

/*
 * Replaces each null of a merge patch, which removes a member, by the value of a contract without
 * this member. contract_decode() then rejects the removal of a required member.
 */
static void merge(struct api_request *request, const struct contract *contract)
{
	const struct contract without = {.terms = {.weight = 1}};
	const struct contract_field *field;

	merge_labels(request, contract);
	for (size_t i = 0; (field = contract_field_at(i)); i++) {
		if (!json_is_null(json_object_get(request->object, field->name)) ||
		    field->kind == JSON_DECODE_CID || !(field->uses & CONTRACT_IN_CHANGE))
			continue;
		(void)json_object_set_new(request->object, field->name,
					  contract_encode_field(&without, field));
	}
}

typedef void (*etag_fn)(const struct view *view, const struct host_gpu *gpu,
			const struct vgpu *vgpu, char tag[API_ETAG_MAX]);

/* Changes the contract if @etag_of meets the conditions of the request. */
static void change_contract(struct api *api, struct api_request *request, etag_fn etag_of,
			    api_change_reply reply)
{
	char tag[API_ETAG_MAX];
	struct contract values = {.id = ""};
	struct api_change *change;
	const struct host_gpu *gpu;
	const struct vgpu *vgpu;
	unsigned int fields = 0;

	vgpu = api_find_vgpu(api, request, request->param, &gpu);
	if (!vgpu)
		return;
	if (request->merges)
		merge(request, &vgpu->contract);
	etag_of(api->view, gpu, vgpu, tag);
	if (api_decode_contract(request, contract_fields(CONTRACT_IN_CHANGE), /* required= */ 0,
				&values, &fields) == 0 &&
	    api_etag_check(request, tag) == 0) {
		change = api_change_new(api, request, reply);
		api_change_begun(change,
				 control_vgpu_change(api->changes, request->param, fields, &values,
						     api_change_done(change), &change->err));
	}
	contract_fini(&values);
}

static void patch_vgpu(struct api *api, struct api_request *request)
{
	change_contract(api, request, api_etag_of_vgpu, reply_changed);
}

static void patch_contract(struct api *api, struct api_request *request)
{
	change_contract(api, request, api_etag_of_contract, reply_contract);
}

static void delete_vgpu(struct api *api, struct api_request *request)
{
	struct api_change *change;
	const struct host_gpu *gpu;
	const struct vgpu *vgpu = api_find_vgpu(api, request, request->param, &gpu);
	char tag[API_ETAG_MAX];

	if (!vgpu)
		return;
	api_etag_of_vgpu(api->view, gpu, vgpu, tag);
	if (api_etag_check(request, tag) < 0)
		return;
	change = api_change_new(api, request, api_change_reply_none);
	api_change_begun(change, control_vgpu_remove(api->changes, request->param,
						     api_change_done(change), &change->err));
}

const struct api_route vgpus_routes[] = {
	{"GET", "/v1/vgpus", get_vgpus, ACCESS_READ, 0, {"gpu", "limit", "after"}},
	{"POST", "/v1/vgpus", post_vgpu, ACCESS_OPERATE, API_OBJECT, {NULL}},
	{"GET", "/v1/vgpus/{id}", get_vgpu, ACCESS_READ, 0, {NULL}},
	{"PATCH", "/v1/vgpus/{id}", patch_vgpu, ACCESS_OPERATE, API_OBJECT, {NULL}},
	{"DELETE", "/v1/vgpus/{id}", delete_vgpu, ACCESS_OPERATE, 0, {NULL}},
	{"GET", "/v1/vgpus/{id}/contract", get_contract, ACCESS_READ, 0, {NULL}},
	{"PATCH", "/v1/vgpus/{id}/contract", patch_contract, ACCESS_OPERATE, API_OBJECT, {NULL}},
	{.method = NULL},
};
