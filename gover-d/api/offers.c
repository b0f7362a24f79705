/* SPDX-License-Identifier: MIT */
/* Routes of offers. */
#include <errno.h>

#include "gover-d/api/change.h"
#include "gover-d/api/handler.h"
#include "gover-d/api/keys.h"
#include "gover-d/api/list.h"
#include "gover-d/api/problem.h"
#include "gover-d/api/resource.h"
#include "gover-d/core/control.h"
#include "gover-d/core/encode.h"
#include "gover-d/core/offers.h"
#include "gover-d/util/json-encode.h"

void api_get_offers(struct api *api, struct api_request *request)
{
	bool all = false;

	if (api_query_switch(request, "all", &all) < 0)
		return;
	api_list_reply_ids(request, "offers", resource_encode_offers(api->view, all, clock_now()));
}

static void reply_sale(struct api *api, struct api_request *request,
		       const struct api_change *change)
{
	struct json_encode answer = json_encode_begin();
	const struct offers *offers = api->view->offers;
	const struct offer *offer = NULL;
	const struct host_gpu *gpu;
	const struct vgpu *vgpu;

	for (size_t i = 0; i < offers_count(offers) && !offer; i++)
		if (offers_at(offers, i)->id == change->number)
			offer = offers_at(offers, i);
	vgpu = host_view_vgpu(api->view->host, offer->vgpu, &gpu);
	json_encode_add(&answer, "offer", encode_offer(offer, clock_now()));
	/* null: the claim was repeated after its vGPU was removed */
	json_encode_add(&answer, "vgpu",
			vgpu ? resource_encode_vgpu(api->view, gpu, vgpu) : json_null());
	api_request_reply_json(request, 200, json_encode_end(&answer));
}

void api_claim_offer(struct api *api, struct api_request *request)
{
	struct contract contract = {
		.terms = {.weight = 1},
		.labels = json_object(),
	};
	struct api_change *change = NULL;
	struct err err = {.msg = ""};
	unsigned int fields;
	char key[CLAIM_MAX];
	int64_t id;
	int r;

	if (api_keys_check(request) == 0 && api_param_number(request, &id) == 0 &&
	    api_decode_contract(request, contract_fields(CONTRACT_IN_CLAIM), CONTRACT_ID, &contract,
				&fields) == 0)
		change = api_change_new(api, request, reply_sale);
	if (!change) {
		contract_fini(&contract);
		return;
	}
	change->number = id;
	api_keys_own(request, key);
	r = control_offer_claim(api->manager, id, key, fields, &contract, api_change_done(change),
				&err);
	api_change_begun(change, r, &err);
}

static void reply_withdrawn(struct api *api, struct api_request *request,
			    const struct api_change *change)
{
	(void)api;
	(void)change;
	api_request_reply_empty(request, 204);
}

void api_delete_offer(struct api *api, struct api_request *request)
{
	struct err err = {.msg = ""};
	struct api_change *change;
	int64_t id;
	int r;

	if (api_param_number(request, &id) < 0)
		return;
	change = api_change_new(api, request, reply_withdrawn);
	if (!change)
		return;
	r = control_offer_close(api->manager, id, api_change_done(change), &err);
	api_change_begun(change, r, &err);
}
