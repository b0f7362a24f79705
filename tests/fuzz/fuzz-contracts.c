/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes contracts files. An accepted file that is written again must contain the same contracts.
 */
#include "gover-d/store/contracts.h"
#include "tests/fuzz/fuzz.h"

static int parse_contracts(const void *data, size_t size, struct contracts *contracts)
{
	struct err err = {""};
	int r = contracts_parse(data, size, "file", contracts, &err);

	FUZZ_CHECK(r == 0 || strncmp(err.msg, "file", strlen("file")) == 0);
	return r;
}

/* Reads a contracts file and returns its content as a new file. NULL: the file is rejected. */
static char *read_and_write(const void *data, size_t size, size_t *ret_n)
{
	struct contracts contracts = {0};
	char *text;

	if (parse_contracts(data, size, &contracts) < 0)
		return NULL;
	if (!contracts.operator_state) /* a file of an earlier release */
		contracts.operator_state = operator_state_new();
	FUZZ_CHECK(contracts.operator_state);
	text = contracts_encode(&contracts);
	FUZZ_CHECK(text);
	*ret_n = contracts.n_vgpus;
	contracts_fini(&contracts);
	return text;
}

FUZZ(contracts)
{
	size_t n, n_again;
	CLEANUP_FREE char *text = read_and_write(data, size, &n);
	CLEANUP_FREE char *again = text ? read_and_write(text, strlen(text), &n_again) : NULL;

	if (!text)
		return 0;
	FUZZ_CHECK(again);
	FUZZ_CHECK(strcmp(text, again) == 0);
	FUZZ_CHECK(n == n_again);
	return 0;
}
