/* SPDX-License-Identifier: MIT */
/*
 * The contracts file: contracts, idempotency keys, operator holds, GPU modes, the policy's estimate
 * of migrations, the operator's state, and audit rows that the history does not have yet, in one
 * JSON file that is replaced atomically. It is not part of the database, so that no change of a
 * client is lost if the database is lost.
 */
#ifndef GOVER_D_STORE_CONTRACTS_H
#define GOVER_D_STORE_CONTRACTS_H

#include "db/db.h"
#include "gover-d/model/host.h"
#include "gover-d/store/audit-rows.h"
#include "gover-d/store/operator-state.h"
#include "gover-d/store/sale-keys.h"
#include "policy/qos/moving.h"

/* The head of the contracts file. */
struct contracts_head {
	int64_t revision; /* increases with each write; 0: the file has no revision */
	/* reserved ids: upper limit of the ids that are used before the next write */
	struct db_last_ids ids;
};

/* The content of the contracts file. */
struct contracts {
	struct contracts_head head;
	struct contract_entry {
		/* owned by this entry until the contract is moved to the host */
		struct contract contract;
		/* the vGPU was found without a contract, see vgpu.found */
		bool found;
		/*
		 * A client has requested the removal of the vGPU, and the daemon is about to remove
		 * it: if the vGPU does not exist at the next start, the contract has ended.
		 */
		bool removing;
	} * vgpus;
	size_t n_vgpus;
	struct contracts_gpu {
		char name[ID_MAX];
		enum gpu_mode mode;
		struct since frozen_since;
		bool selling;
		struct moving_estimate migrations; /* all 0: the file contains none */
	} gpus[GPUS_MAX];
	int n_gpus;
	struct sale_keys keys;
	struct audit_rows audit;
	/* owned; NULL: an earlier release wrote the file, which contains no such state */
	struct operator_state *operator_state;
};

/*
 * Reads the contracts file. -ENOENT: the file does not exist. -EINVAL: the file is invalid, for
 * example because two vGPUs have the same id; the message contains the file and the member, and the
 * daemon must not start. -EPROTO: a newer gover
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
 * Sets @ret_contracts to the contracts, modes and holds of @host. The caller sets the head, the
 * keys and the operator's state, and calls contracts_fini().
 */
void contracts_collect(const struct host *host, struct contracts *ret_contracts);
/* True if the GPU has an entry or a contract: an earlier daemon has used it. */
bool contracts_know_gpu(const struct contracts *contracts, const char *name);
/* Find an entry; NULL: unknown name or id. */
struct contracts_gpu *contracts_find_gpu(struct contracts *contracts, const char *name);
struct contract_entry *contracts_find_vgpu(struct contracts *contracts, const char *id);
/* Adds a contract with a reference to its labels. */
void contracts_add_vgpu(struct contracts *contracts, const struct contract *contract);
void contracts_remove_vgpu(struct contracts *contracts, struct contract_entry *entry);

/*
 * Returns the text of the contracts file, in the newest version of its format. The caller frees the
 * text. @contracts->operator_state must not be NULL.
 */
char *contracts_encode(const struct contracts *contracts);

/*
 * Returns a new JSON object: the part of a vGPU's entry in the contracts file that a client can
 * change, for ETags.
 */
json_t *contracts_encode_one(const struct contract *contract, bool found);

#endif
