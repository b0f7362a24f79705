/* SPDX-License-Identifier: MIT */
/*
 * The contracts file: contracts, operator holds and GPU modes in one JSON file that is replaced
 * atomically. The history is in the database: losing that loses no contract.
 */
#ifndef GOVER_D_STORE_CONTRACTS_H
#define GOVER_D_STORE_CONTRACTS_H

#include "db/db.h"
#include "gover-d/model/host.h"

/* The head of the file. */
struct contracts_head {
	int64_t revision;	/* increases with each write; 0: the file has none */
	struct db_last_ids ids; /* no higher id is used before the next write */
};

/* The decoded file. */
struct contracts {
	struct contracts_head head;
	struct contract_entry {
		struct contract contract; /* owned until moved to the host */
		bool found;		  /* as vgpu.found */
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
 * Reads the file. -ENOENT: it does not exist. -EINVAL with the file and the member: the daemon must
 * not start with a file that it does not understand. -EPROTO: a newer gover wrote it. Or a negative
 * errno of reading.
 */
int contracts_load(const char *path, struct contracts *ret_contracts, struct err *reterr);
/* As contracts_load() for a text from elsewhere; messages contain @name instead of the path. */
int contracts_parse(const char *text, size_t length, const char *name,
		    struct contracts *ret_contracts, struct err *reterr);
void contracts_fini(struct contracts *contracts);

/* The text of the file for @host; the caller frees it. NULL: no memory. */
char *contracts_encode(const struct host *host, const struct contracts_head *head);

/* One vGPU of the file: a new object. NULL: no memory. */
json_t *contracts_encode_one(const struct contract *contract, bool found);

#endif
