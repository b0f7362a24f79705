/* SPDX-License-Identifier: MIT */
/*
 * The contracts file: contracts, operator holds and GPU modes in one JSON file that is replaced
 * atomically. It is not part of the database, so that no contract is lost if the database is lost.
 */
#ifndef GOVER_D_STORE_CONTRACTS_H
#define GOVER_D_STORE_CONTRACTS_H

#include "db/db.h"
#include "gover-d/model/host.h"

/* The head of the contracts file. */
struct contracts_head {
	int64_t revision; /* increases with each write; 0: the file has no revision */
	/* reserved ids: upper limit of the ids that are used before the next write */
	struct db_last_ids ids;
};

/* The decoded contracts file. */
struct contracts {
	struct contracts_head head;
	struct contract_entry {
		/* owned by this entry until the contract is moved to the host */
		struct contract contract;
		/* the vGPU was found without a contract, see vgpu.found */
		bool found;
	} * vgpus;
	size_t n_vgpus;
	struct contracts_gpu {
		char name[ID_MAX];
		enum gpu_mode mode;
		bool selling;
	} gpus[GPUS_MAX];
	int n_gpus;
};

/*
 * Reads the contracts file. -ENOENT: the file does not exist. -EINVAL: the file is invalid; the
 * message contains the file and the member, and the daemon must not start. -EPROTO: a newer gover
 * wrote the file. Other errors: the file could not be read.
 */
int contracts_load(const char *path, struct contracts *ret_contracts, struct err *reterr);
/*
 * Like contracts_load(), but reads the contracts from @text. Messages contain @name instead of a
 * path.
 */
int contracts_parse(const char *text, size_t length, const char *name,
		    struct contracts *ret_contracts, struct err *reterr);
void contracts_fini(struct contracts *contracts);

/*
 * Returns the content of the contracts file for @host. The caller frees the text. NULL: out of
 * memory.
 */
char *contracts_encode(const struct host *host, const struct contracts_head *head);

/* Returns a new JSON object: the entry of one vGPU in the contracts file; NULL: out of memory. */
json_t *contracts_encode_one(const struct contract *contract, bool found);

#endif
