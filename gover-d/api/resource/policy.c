/* SPDX-License-Identifier: MIT */
/* Routes of the policy and its parameters. */
#include "base/cleanup.h"
#include "gover-d/api/change.h"
#include "gover-d/api/etag.h"
#include "gover-d/api/resource.h"
#include "gover-d/api/resource/routes.h"
#include "gover-d/change/control.h"
#include "gover-d/util/json.h"

/* The answer contains no measurements, so the ETag covers the whole answer. */
static void reply_policy(struct api *api, struct api_request *request)
{
	char *text = json_encode_dump(resource_encode_policy(api->view)), tag[API_ETAG_MAX];

	api_etag_of_text(text, tag);
	api_request_reply_text(request, 200, API_TYPE_JSON, text);
	api_etag_put(request, tag);
}

static void get_policy(struct api *api, struct api_request *request)
{
	reply_policy(api, request);
	api_etag_apply(request);
}

static void patch_policy(struct api *api, struct api_request *request)
{
	CLEANUP_FREE char *text = json_encode_dump(resource_encode_policy(api->view));
	struct api_change *change;
	char tag[API_ETAG_MAX];

	api_etag_of_text(text, tag);
	if (api_etag_check(request, tag) < 0)
		return;
	change = api_change_new(api, request, reply_policy);
	api_change_begun(change, control_policy_change(api->changes, request->object,
						       api_change_done(change), &change->err));
}

const struct api_route policy_routes[] = {
	{"GET", "/v1/policy", get_policy, ACCESS_READ, 0, {NULL}},
	{"PATCH", "/v1/policy", patch_policy, ACCESS_OPERATE, API_OBJECT, {NULL}},
	{.method = NULL},
};
