/* SPDX-License-Identifier: MIT */
/* The contracts file while each allocation in turn fails: it is complete, or there is an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/store/contracts.h"
#include "tests/unit/scarce-malloc.h"

#define ALLOCATIONS_MAX 10000 /* more than each function needs */

static const struct contracts_head head = {.revision = 1};
static struct host host = {.n_gpus = 1};
static struct vgpu vgpus[3];

static int fill_host(void **state)
{
	(void)state;
	strcpy(host.gpus[0].config.name, "gpu0");
	for (size_t i = 0; i < ARRAY_SIZE(vgpus); i++) {
		struct contract *contract = &vgpus[i].contract;

		snprintf(contract->id, sizeof(contract->id), "a name of many bytes %zu", i);
		for (char *c = contract->id; *c; c++)
			*c = *c == ' ' ? '-' : *c;
		strcpy(contract->gpu, "gpu0");
		contract->terms.initial_cap_pct = 30;
		contract->terms.weight = 1;
		contract->labels = json_pack("{s:s}", "workload", "load:pct=10");
		host_gpu_insert(&host.gpus[0], &vgpus[i]);
	}
	return 0;
}

static int empty_host(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(vgpus); i++)
		json_decref(vgpus[i].contract.labels);
	return 0;
}

static char *encode_host(void)
{
	struct contracts contracts = {0};
	char *text = NULL;

	if (contracts_collect(&host, &contracts) < 0)
		return NULL;
	contracts.head = head;
	contracts.operator_state = operator_state_new();
	if (contracts.operator_state && operator_state_add_ack(contracts.operator_state, 1, 2) == 0)
		text = contracts_encode(&contracts);
	contracts_fini(&contracts);
	return text;
}

static void without_memory_there_is_no_text(void **state)
{
	CLEANUP_FREE char *whole = encode_host();
	bool failed = true;

	(void)state;
	assert_non_null(whole);
	for (long failing = 1; failed; failing++) {
		CLEANUP_FREE char *text = NULL;

		scarce_begin(failing, /* lasting= */ false);
		text = encode_host();
		failed = scarce_end();
		assert_true(failed == !text);
		if (text)
			assert_string_equal(text, whole);
		assert_true(failing < ALLOCATIONS_MAX);
	}
}

/* A file is not reported as damaged if too little memory is free to read it. */
static void without_memory_there_are_no_contracts(void **state)
{
	CLEANUP_FREE char *text = encode_host();
	bool failed = true;

	(void)state;
	assert_non_null(text);
	for (long failing = 1; failed; failing++) {
		struct contracts contracts = {0};
		struct err err;
		int r;

		scarce_begin(failing, /* lasting= */ false);
		r = contracts_parse(text, strlen(text), "text", &contracts, &err);
		failed = scarce_end();
		assert_int_equal(r, failed ? -ENOMEM : 0);
		assert_int_equal(contracts.n_vgpus, failed ? 0 : ARRAY_SIZE(vgpus));
		assert_true(failing < ALLOCATIONS_MAX);
		contracts_fini(&contracts);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_memory_there_is_no_text),
		cmocka_unit_test(without_memory_there_are_no_contracts),
	};

	return cmocka_run_group_tests(tests, fill_host, empty_host);
}
