/* SPDX-License-Identifier: MIT */
/*
 * The contracts file: what was sold, what operators hold and how GPUs are run, in one small JSON
 * file replaced atomically, so that a lost database loses history and no promise.
 */
#ifndef GOVER_D_CONTRACTS_H
#define GOVER_D_CONTRACTS_H

#include "gover-d/host.h"

/* What the file said. */
struct contracts {
	struct contract_entry {
		struct contract contract; /* owned until taken by the host */
		bool found;		  /* had no contract when it was seen first */
	} * vgpus;
	size_t n_vgpus;
	struct contracts_gpu {
		char name[ID_MAX];
		enum gpu_mode mode;
		bool selling;
	} gpus[GPUS_MAX];
	int n_gpus;
};

/* Reads the file; one that does not exist gives no contracts. -EINVAL with a sentence that names
 * file and member: the daemon must not start on a file it does not understand. */
int contracts_load(const char *path, struct contracts *ret_contracts, struct err *reterr);
void contracts_fini(struct contracts *contracts);

/* The file's text for what stands in @host; the caller frees it. NULL: no memory. */
char *contracts_encode(const struct host *host);

/* One contract as the file and REST say its numbers: a new object, NULL without memory. */
json_t *contracts_encode_one(const struct contract *contract, bool found);

#endif
