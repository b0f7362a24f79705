/* SPDX-License-Identifier: MIT */
/*
 * A vGPU's contract and the one table of its fields. Request bodies, answers, the audit record, the
 * contracts file, ETags and gover-ctl's options are all made from the table: a new field is a
 * member of struct contract and a row in CONTRACT_FIELDS.
 */
#ifndef GOVER_D_MODEL_CONTRACT_H
#define GOVER_D_MODEL_CONTRACT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"
#include "gover-d/util/json-decode.h"
#include "policy/policy.h"

#define VM_MAX	      128 /* libvirt name or UUID, with its NUL */
#define LABELS_MAX    32
#define CLAIM_MAX     128 /* idempotency key and its owner (api/keys.h), with its NUL */
#define BODY_HASH_MAX 17  /* 64 bits in hex, with its NUL */

struct contract {
	char id[ID_MAX];
	char gpu[ID_MAX];
	char vm[VM_MAX]; /* "": not given */
	uint32_t cid;	 /* vsock CID; 0: none */
	json_t *labels;	 /* object of strings; owned */
	struct policy_terms terms;
	double fps_limit;    /* its programs are paced to so many frames/s; 0: not paced */
	char flavor[ID_MAX]; /* the flavour that sets its price; "": that of [offer] */
	bool held;	     /* an operator hold: the cap is fixed at held_cap_pct */
	int held_cap_pct;
	int64_t created_ms;
	int64_t offer;			/* the offer it was sold by; 0: none */
	char claim_key[CLAIM_MAX];	/* idempotency key of its creation; "": none */
	char claim_body[BODY_HASH_MAX]; /* hash of that request, except for a claimed offer */
};

#define CONTRACT_CID_MIN 3 /* the lower CIDs mean hypervisor, loopback and host */
#define CONTRACT_CID_MAX (UINT32_MAX - 1)

/* Where a field appears. */
enum contract_use {
	CONTRACT_IN_FILE = 1 << 0,   /* contracts file, ETag */
	CONTRACT_IN_ANSWER = 1 << 1, /* vGPUs in answers, audit record */
	CONTRACT_IN_CREATE = 1 << 2, /* body of POST /v1/vgpus */
	CONTRACT_IN_CHANGE = 1 << 3, /* body of PATCH /v1/vgpus/{id} */
	CONTRACT_IN_CLAIM = 1 << 4,  /* body of POST /v1/offers/{id}/claim */
	CONTRACT_IN_CTL = 1 << 5,    /* option of gover-ctl's verbs for these requests */

	CONTRACT_IN_RECORD = CONTRACT_IN_FILE | CONTRACT_IN_ANSWER,
	CONTRACT_IN_TERMS =
		CONTRACT_IN_RECORD | CONTRACT_IN_CREATE | CONTRACT_IN_CHANGE | CONTRACT_IN_CTL,
	CONTRACT_EVERYWHERE = CONTRACT_IN_TERMS | CONTRACT_IN_CLAIM,
};

struct contract_field {
	const char *name; /* in JSON */
	enum json_decode_kind kind;
	double min, max;		 /* as in struct json_decode_field */
	size_t offset;			 /* in struct contract */
	int since;			 /* first version of the contracts file that contains it */
	unsigned int uses;		 /* enum contract_use */
	unsigned int bit;		 /* enum contract_bit */
	const char *option, *arg, *help; /* with CONTRACT_IN_CTL; @arg is NULL for a switch */
};

/*
 * FIELD(name in the code, member of struct contract, name in JSON, JSON_DECODE_kind, min, max,
 *       since, uses, option, its argument, its help)
 * Fields are printed in this order, but no format depends on it. A new row with CONTRACT_IN_FILE
 * has a @since one above the highest here.
 */
#define CONTRACT_FIELDS(FIELD)                                                                    \
	FIELD(ID, id, "id", ID, 0, 0, 1,                                                          \
	      CONTRACT_IN_RECORD | CONTRACT_IN_CREATE | CONTRACT_IN_CLAIM, NULL, NULL, NULL)      \
	FIELD(GPU, gpu, "gpu", ID, 0, 0, 1,                                                       \
	      CONTRACT_IN_RECORD | CONTRACT_IN_CREATE | CONTRACT_IN_CTL, "gpu", "GPU",            \
	      "select this GPU")                                                                  \
	FIELD(VM, vm, "vm", TEXT, 0, VM_MAX - 1, 1, CONTRACT_EVERYWHERE, "vm", "NAME",            \
	      "set the libvirt name or UUID of the virtual machine")                              \
	FIELD(CID, cid, "cid", CID, CONTRACT_CID_MIN, CONTRACT_CID_MAX, 1, CONTRACT_EVERYWHERE,   \
	      "cid", "N", "set the vsock CID of the virtual machine")                             \
	FIELD(LABELS, labels, "labels", LABELS, 0, LABELS_MAX, 1, CONTRACT_EVERYWHERE, "label",   \
	      "KEY=VALUE", "set a label; may be repeated")                                        \
	FIELD(INITIAL_CAP, terms.initial_cap_pct, "initial_cap_pct", WHOLE, 1, 100, 1,            \
	      CONTRACT_IN_TERMS, "cap", "PCT", "sell this share of the GPU, in percent")          \
	FIELD(MIN_CAP, terms.min_cap_pct, "min_cap_pct", WHOLE, 0, 100, 1, CONTRACT_IN_TERMS,     \
	      "min-cap", "PCT", "set the lowest cap; 0: cap_floor_pct of the policy")             \
	FIELD(TARGET_FPS, terms.target_fps, "target_fps", NUMBER, 0, 10000, 1,                    \
	      CONTRACT_EVERYWHERE, "target-fps", "N",                                             \
	      "promise N frames per second; 0: no promise")                                       \
	FIELD(FPS_LIMIT, fps_limit, "fps_limit", NUMBER, 0, 1000, 4, CONTRACT_IN_TERMS,           \
	      "fps-limit", "N", "limit its programs to N frames per second; 0: no limit")         \
	FIELD(WEIGHT, terms.weight, "weight", NUMBER, 0.01, 100, 1, CONTRACT_IN_TERMS, "weight",  \
	      "W", "set the weight of the contract")                                              \
	FIELD(BURST, terms.burst, "burst", SWITCH, 0, 0, 1, CONTRACT_IN_TERMS, "burst", NULL,     \
	      "allow more than the sold share")                                                   \
	FIELD(FLAVOR, flavor, "flavor", TEXT, 0, ID_MAX - 1, 3, CONTRACT_IN_TERMS, "flavor",      \
	      "NAME", "use the price of this flavour; see gover.conf(5)")                         \
	FIELD(HELD, held, "held", SWITCH, 0, 0, 1, CONTRACT_IN_RECORD | CONTRACT_IN_CHANGE, NULL, \
	      NULL, NULL)                                                                         \
	FIELD(HELD_CAP, held_cap_pct, "held_cap_pct", WHOLE, 1, 100, 1,                           \
	      CONTRACT_IN_FILE | CONTRACT_IN_CHANGE, NULL, NULL, NULL)                            \
	FIELD(CREATED, created_ms, "created_ms", INT64, 0, 1e15, 1, CONTRACT_IN_FILE, NULL, NULL, \
	      NULL)                                                                               \
	FIELD(OFFER, offer, "offer", INT64, 0, 1LL << 53, 2, CONTRACT_IN_FILE, NULL, NULL, NULL)  \
	FIELD(CLAIM_KEY, claim_key, "claim_key", TEXT, 0, CLAIM_MAX - 1, 2, CONTRACT_IN_FILE,     \
	      NULL, NULL, NULL)                                                                   \
	FIELD(CLAIM_BODY, claim_body, "claim_body", TEXT, 0, BODY_HASH_MAX - 1, 5,                \
	      CONTRACT_IN_FILE, NULL, NULL, NULL)

#define CONTRACT_ROW(NAME, ...) CONTRACT_ROW_##NAME,
enum contract_row { CONTRACT_FIELDS(CONTRACT_ROW) CONTRACT_N_ROWS };
#undef CONTRACT_ROW

/* Sets of fields are masks of these: CONTRACT_ID, CONTRACT_GPU... */
#define CONTRACT_BIT(NAME, ...) CONTRACT_##NAME = 1 << CONTRACT_ROW_##NAME,
enum contract_bit { CONTRACT_FIELDS(CONTRACT_BIT) };
#undef CONTRACT_BIT

/* NULL past the last row. */
const struct contract_field *contract_field_at(size_t row);

/* The set of fields with this use. */
unsigned int contract_fields(enum contract_use use);
/* The highest @since. */
int contract_file_version(void);

/* As json_decode_object(). @contract->labels must be NULL or owned. */
int contract_decode(json_t *object, unsigned int allowed, unsigned int required,
		    struct contract *contract, unsigned int *ret_fields, struct err *reterr);
/*
 * Decodes the fields of the contracts file as of @version; all are required. Numbers that only
 * earlier releases accepted in the file are moved into today's bounds and named in *@ret_clamped.
 */
int contract_decode_file(json_t *object, int version, struct contract *contract,
			 unsigned int *ret_clamped, struct err *reterr);

/* A new object of all fields with this use, or one field's value. NULL: no memory. */
json_t *contract_encode(const struct contract *contract, enum contract_use use);
json_t *contract_encode_field(const struct contract *contract, const struct contract_field *field);

/* Copies @fields from @values to @contract. Labels are copied without taking a reference. */
void contract_apply(struct contract *contract, unsigned int fields, const struct contract *values);

/* Writes the fields' names, separated by ", "; cut to @size. */
void contract_list_names(unsigned int fields, char *ret_text, size_t size);

void contract_fini(struct contract *contract);

#endif
