/* SPDX-License-Identifier: MIT */
/* Routes of offers. */
#include <stddef.h>
#include <string.h>

#include "gover-d/api/change.h"
#include "gover-d/api/resource.h"
#include "gover-d/api/resource/routes.h"
#include "gover-d/change/control.h"
#include "gover-d/record/encode.h"
#include "gover-d/sale/selling.h"
#include "gover-d/util/json.h"

static void get_offers(struct api *api, struct api_request *request)
{
	bool all = false;

	if (api_query_switch(request, "all", &all) < 0)
		return;
	api_list_reply_ids(request, "offers", resource_encode_offers(api->view, all, clock_now()));
}

static void reply_sale(struct api *api, struct api_request *request)
{
	const struct api_change *change = request->change;
	const struct offer *offer = offers_view(api->view->offers, change->number);
	const struct host_gpu *gpu;
	const struct vgpu *vgpu = host_view_vgpu(api->view->host, change->id, &gpu);
	struct offer past;

	if (!offer) { /* the claim was repeated, and the offer has ended long ago */
		past = selling_past_offer(gpu, &vgpu->contract);
		offer = &past;
	}
	api_request_reply_json(request, 200,
			       json_pack("{s:o, s:o}", "offer", encode_offer(offer, clock_now()),
					 "vgpu", resource_encode_vgpu(api->view, gpu, vgpu)));
}

static void claim_offer(struct api *api, struct api_request *request)
{
	struct contract contract = {
		.terms = {.weight = 1},
		.labels = json_object(),
	};
	struct control_claim claim;
	struct api_change *change;

	if (api_change_key(request, &claim.key) < 0 ||
	    api_param_number(request, &claim.offer) < 0 ||
	    api_decode_contract(request, contract_fields(CONTRACT_IN_CLAIM), CONTRACT_ID, &contract,
				&claim.fields) < 0) {
		contract_fini(&contract);
		return;
	}
	change = api_change_new(api, request, reply_sale);
	change->number = claim.offer;
	memcpy(change->id, contract.id, sizeof(change->id));
	api_change_begun(change, control_offer_claim(api->changes, &claim, &contract,
						     api_change_done(change), &change->err));
}

/* The body of POST /v1/offers/{id}/hold. */
struct wanted_hold {
	char holder[CLAIM_MAX];
	int ttl_s;
};

enum { FIELD_HOLDER = 1 << 0, FIELD_TTL = 1 << 1 };

static const struct json_decode_field hold_fields[] = {
	{"holder", JSON_DECODE_TEXT, 0, CLAIM_MAX - 1, offsetof(struct wanted_hold, holder),
	 FIELD_HOLDER},
	{"ttl_s", JSON_DECODE_WHOLE, 1, OFFERS_HOLD_MAX_S, offsetof(struct wanted_hold, ttl_s),
	 FIELD_TTL},
	{.name = NULL},
};

static void reply_held(struct api *api, struct api_request *request)
{
	api_request_reply_json(
		request, 200,
		encode_offer(offers_view(api->view->offers, request->change->number), clock_now()));
}

static void hold_offer(struct api *api, struct api_request *request)
{
	struct wanted_hold wanted = {.holder = ""};
	struct api_change *change;
	unsigned int given;
	int64_t id;

	if (api_param_number(request, &id) < 0 ||
	    api_decode(request, hold_fields, FIELD_HOLDER | FIELD_TTL, &wanted, &given) < 0)
		return;
	if (!keys_valid(wanted.holder)) {
		problem_reply(request, 422,
			      "holder: not allowed (allowed: 1 to %d printable characters without "
			      "spaces)",
			      CLAIM_MAX - 1);
		return;
	}
	change = api_change_new(api, request, reply_held);
	change->number = id;
	api_change_begun(change, control_offer_hold(api->changes, id, wanted.holder, wanted.ttl_s,
						    api_change_done(change), &change->err));
}

static void delete_offer(struct api *api, struct api_request *request)
{
	struct api_change *change;
	int64_t id;

	if (api_param_number(request, &id) < 0)
		return;
	change = api_change_new(api, request, api_change_reply_none);
	api_change_begun(change, control_offer_close(api->changes, id, api_change_done(change),
						     &change->err));
}

const struct api_route offers_routes[] = {
	{"GET", "/v1/offers", get_offers, ACCESS_READ, 0, {"all", "limit", "after"}},
	{"POST", "/v1/offers/{id}/claim", claim_offer, ACCESS_OPERATE, API_OBJECT, {NULL}},
	{"POST", "/v1/offers/{id}/hold", hold_offer, ACCESS_OPERATE, API_OBJECT, {NULL}},
	{"DELETE", "/v1/offers/{id}", delete_offer, ACCESS_OPERATE, 0, {NULL}},
	{.method = NULL},
};
