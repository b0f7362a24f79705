/* SPDX-License-Identifier: MIT */
/* The fields of a contract in a request, once for all routes that take some of them. */
#include "gover-d/api/internal.h"
#include "gover-d/api/problem.h"
#include "gover-d/util/json-decode.h"

#define AT(member) offsetof(struct contract, member)

static const struct json_decode_field fields[] = {
	{"id", JSON_DECODE_ID, 0, 0, AT(id), API_CONTRACT_ID},
	{"gpu", JSON_DECODE_ID, 0, 0, AT(gpu), API_CONTRACT_GPU},
	{"vm", JSON_DECODE_TEXT, 0, VM_MAX - 1, AT(vm), CONTROL_VM},
	{"cid", JSON_DECODE_CID, CONTRACT_CID_MIN, CONTRACT_CID_MAX, AT(cid), CONTROL_CID},
	{"labels", JSON_DECODE_LABELS, 0, LABELS_MAX, AT(labels), CONTROL_LABELS},
	{"initial_cap_pct", JSON_DECODE_WHOLE, 1, 100, AT(terms.initial_cap_pct),
	 CONTROL_INITIAL_CAP},
	{"min_cap_pct", JSON_DECODE_WHOLE, 0, 100, AT(terms.min_cap_pct), CONTROL_MIN_CAP},
	{"target_fps", JSON_DECODE_NUMBER, 0, CONTRACT_TARGET_FPS_MAX, AT(terms.target_fps),
	 CONTROL_TARGET_FPS},
	{"fps_limit", JSON_DECODE_NUMBER, 0, CONTRACT_FPS_LIMIT_MAX, AT(fps_limit),
	 CONTROL_FPS_LIMIT},
	{"weight", JSON_DECODE_NUMBER, CONTRACT_WEIGHT_MIN, CONTRACT_WEIGHT_MAX, AT(terms.weight),
	 CONTROL_WEIGHT},
	{"burst", JSON_DECODE_SWITCH, 0, 0, AT(terms.burst), CONTROL_BURST},
	{"flavor", JSON_DECODE_TEXT, 0, ID_MAX - 1, AT(flavor), CONTROL_FLAVOR},
	{"held", JSON_DECODE_SWITCH, 0, 0, AT(held), CONTROL_HELD},
	{"held_cap_pct", JSON_DECODE_WHOLE, 1, 100, AT(held_cap_pct), CONTROL_HELD_CAP},
	{.name = NULL},
};

int api_decode_contract(struct api_request *request, unsigned int allowed, unsigned int required,
			struct contract *contract, unsigned int *ret_fields)
{
	struct err err;
	int r = json_decode_object(request->object, fields, allowed, required, contract, ret_fields,
				   &err);

	if (r < 0)
		problem_reply(request, 422, "%s", err.msg);
	return r;
}
