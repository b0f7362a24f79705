/* SPDX-License-Identifier: MIT */
/* Decodes the contract in the body of a request. */
#include "gover-d/api/handler.h"
#include "gover-d/api/problem.h"
#include "gover-d/util/json-decode.h"

int api_decode_contract(struct api_request *request, unsigned int allowed, unsigned int required,
			struct contract *contract, unsigned int *ret_fields)
{
	struct err err;
	int r = contract_decode(request->object, allowed, required, contract, ret_fields, &err);

	if (r < 0)
		problem_reply(request, 422, "%s", err.msg);
	return r;
}
