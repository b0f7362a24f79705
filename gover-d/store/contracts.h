/* SPDX-License-Identifier: MIT */
/*
 * The contracts file: what was sold, what operators hold and how GPUs are run, in one small JSON
 * file replaced atomically, so that a lost database loses history and no promise.
 */
#ifndef GOVER_D_STORE_CONTRACTS_H
#define GOVER_D_STORE_CONTRACTS_H

#include "db/db.h"
#include "gover-d/model/host.h"

/* What the file says of itself. */
struct contracts_head {
	int64_t revision;	/* grows with each text that is written; 0: not said */
	struct db_last_ids ids; /* no higher ones are given before the next text is written */
};

/* What the file said. */
struct contracts {
	struct contracts_head head;
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

/* Reads the file. -ENOENT: there is none. -EINVAL with a sentence that names file and member: the
 * daemon must not start on a file it does not understand. -EPROTO: it is of a newer gover. */
int contracts_load(const char *path, struct contracts *ret_contracts, struct err *reterr);
/* The same of a text that stands elsewhere; @name is said in place of the file's. */
int contracts_parse(const char *text, size_t length, const char *name,
		    struct contracts *ret_contracts, struct err *reterr);
void contracts_fini(struct contracts *contracts);

/* The file's text for what stands in @host; the caller frees it. NULL: no memory. */
char *contracts_encode(const struct host *host, const struct contracts_head *head);

/* One contract as the file and REST say its numbers: a new object, NULL without memory. */
json_t *contracts_encode_one(const struct contract *contract, bool found);

#endif
