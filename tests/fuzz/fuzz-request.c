/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes request bodies. A rejected body must have a message. Every contract that an accepted body
 * creates must fit into the contracts file.
 */
#include "gover-d/api/handler.h"
#include "gover-d/change/control.h"
#include "gover-d/store/contracts.h"
#include "tests/fuzz/fuzz.h"

#define ALL_FIELDS ~0U
#define SOLD	   (CONTRACT_ID | CONTRACT_GPU | CONTRACT_INITIAL_CAP)

static void check_bounds(const struct contract *c, unsigned int fields)
{
	FUZZ_CHECK(!(fields & CONTRACT_ID) || id_valid(c->id));
	FUZZ_CHECK(!(fields & CONTRACT_GPU) || id_valid(c->gpu));
	FUZZ_CHECK(!(fields & CONTRACT_INITIAL_CAP) ||
		   (c->terms.initial_cap_pct >= 1 && c->terms.initial_cap_pct <= 100));
	FUZZ_CHECK(c->terms.min_cap_pct >= 0 && c->terms.min_cap_pct <= 100);
	FUZZ_CHECK(c->terms.target_fps >= 0 && c->terms.target_fps < 1e9);
	FUZZ_CHECK(c->terms.weight > 0 && c->terms.weight < 1e9);
	FUZZ_CHECK(c->held_cap_pct >= 0 && c->held_cap_pct <= 100);
	FUZZ_CHECK(strlen(c->vm) < VM_MAX);
	FUZZ_CHECK(json_object_size(c->labels) <= LABELS_MAX);
}

/* Checks that a contracts file with only this contract can be read. */
static void check_file(const struct contract *contract)
{
	struct contracts contracts = {.head = {.revision = 1}};
	CLEANUP_FREE char *text = NULL;
	char path[FUZZ_PATH_MAX];
	struct err err = {""};
	int fd;

	contracts.operator_state = operator_state_new();
	contracts_add_vgpu(&contracts, contract);
	text = contracts_encode(&contracts);
	FUZZ_CHECK(text);
	contracts_fini(&contracts);
	fd = fuzz_file(text, strlen(text), path);
	FUZZ_CHECK(contracts_load(path, &contracts, &err) == 0);
	close(fd);
	FUZZ_CHECK(contracts.n_vgpus == 1);
	FUZZ_CHECK(json_equal(contracts.vgpus[0].contract.labels, contract->labels));
	FUZZ_CHECK(strcmp(contracts.vgpus[0].contract.vm, contract->vm) == 0);
	contracts_fini(&contracts);
}

static void decode_body(json_t *object)
{
	struct contract contract = {.terms = {.weight = 1}, .labels = json_object()};
	struct api_request request = {.path = "/v1/vgpus", .object = object};
	unsigned int fields = 0;

	FUZZ_CHECK(contract.labels);
	if (api_decode_contract(&request, ALL_FIELDS, CONTRACT_ID, &contract, &fields) < 0) {
		FUZZ_CHECK(request.reply.status == 422);
		FUZZ_CHECK(request.reply.text && request.reply.text->length > 0);
	} else {
		check_bounds(&contract, fields);
		if ((fields & SOLD) == SOLD &&
		    contract.terms.min_cap_pct <= contract.terms.initial_cap_pct)
			check_file(&contract);
	}
	api_request_fini(&request);
	contract_fini(&contract);
}

FUZZ(request)
{
	json_t *object = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);

	if (json_is_object(object))
		decode_body(object);
	json_decref(object);
	return 0;
}
