/* SPDX-License-Identifier: MIT */
/*
 * The contract of a vGPU, and the table of its fields. Request bodies, answers, the audit record,
 * the contracts file, ETags and the options of gover-ctl are made from this table. To add a field,
 * add a member to struct contract and a row to CONTRACT_FIELDS.
 */
#ifndef GOVER_D_MODEL_CONTRACT_H
#define GOVER_D_MODEL_CONTRACT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"
#include "gover-d/model/since.h"
#include "gover-d/util/json.h"
#include "policy/policy.h"

#define VM_MAX	   128 /* size of a libvirt name or UUID, with NUL */
#define LABELS_MAX 32
#define CLAIM_MAX  128 /* size of an idempotency key with its owner (change/keys.h) and NUL */

/* Labels of gover-fleet: the server in the cloud and its project, each by name. */
#define CONTRACT_INSTANCE  "instance"
#define CONTRACT_PROJECT   "project"
#define CONTRACT_LABEL_MAX 256 /* size of the value of a label, with NUL */

struct contract {
	char id[ID_MAX];
	char gpu[ID_MAX];
	/* libvirt name or UUID of the virtual machine; "": not given */
	char vm[VM_MAX];
	uint32_t cid;	/* vsock CID of the virtual machine; 0: not given */
	json_t *labels; /* JSON object of strings; owned; NULL: no labels */
	struct policy_terms terms;
	/*
	 * Promise on a GPU whose vGPUs deliver units of work, in units per second; 0: no promise.
	 * terms.target_fps is the promise on other GPUs. host_terms() selects one of both.
	 */
	double target_rate;
	int memory_mib;	     /* limit of device memory in MiB; 0: no limit */
	double fps_limit;    /* limit for programs of the vGPU, in frames per second; 0: no limit */
	char flavor[ID_MAX]; /* flavour that sets the price; "": the flavour of [offer] */
	bool held;	     /* true during an operator hold: the cap is fixed at held_cap_pct */
	int held_cap_pct;
	struct since held_since; /* not in the table: the ETag does not depend on it */
	int64_t created_ms;
	int64_t offer; /* id of the claimed offer; 0: not sold through an offer */
};

#define CONTRACT_CID_MIN 3 /* CIDs 0 to 2 are reserved: hypervisor, loopback, host */
#define CONTRACT_CID_MAX (UINT32_MAX - 1)

/* Documents in which a field appears. */
enum contract_use {
	CONTRACT_IN_FILE = 1 << 0,   /* in the contracts file and in the ETag */
	CONTRACT_IN_ANSWER = 1 << 1, /* in the vGPU objects of answers and of the audit record */
	CONTRACT_IN_CREATE = 1 << 2, /* in the body of POST /v1/vgpus */
	CONTRACT_IN_CHANGE = 1 << 3, /* in the body of PATCH /v1/vgpus/{id} */
	CONTRACT_IN_CLAIM = 1 << 4,  /* in the body of POST /v1/offers/{id}/claim */
	CONTRACT_IN_CTL = 1 << 5,    /* as an option of the gover-ctl verbs for these requests */

	CONTRACT_IN_RECORD = CONTRACT_IN_FILE | CONTRACT_IN_ANSWER,
	CONTRACT_IN_TERMS =
		CONTRACT_IN_RECORD | CONTRACT_IN_CREATE | CONTRACT_IN_CHANGE | CONTRACT_IN_CTL,
	CONTRACT_EVERYWHERE = CONTRACT_IN_TERMS | CONTRACT_IN_CLAIM,
};

struct contract_field {
	const char *name; /* name of the field in JSON */
	enum json_decode_kind kind;
	double min, max;    /* bounds, as in struct json_decode_field */
	size_t offset;	    /* offset of the member in struct contract */
	int since;	    /* first version of the contracts file that contains the field */
	unsigned int uses;  /* mask of enum contract_use */
	unsigned int bit;   /* bit of this field in a set of fields */
	const char *option; /* option of gover-ctl; NULL without CONTRACT_IN_CTL */
	const char *arg;    /* argument of the option; NULL: no argument */
	const char *help;   /* help of the option */
};

/*
 * FIELD(name in the code, member of struct contract, name in JSON, JSON_DECODE_kind, min, max,
 *       since, uses, option, argument of the option, help of the option)
 * Fields are printed in the order of the rows; no format depends on that order. A new row with
 * CONTRACT_IN_FILE needs a @since one above the present version of the contracts file, 12.
 */
#define CONTRACT_FIELDS(FIELD)                                                                    \
	FIELD(ID, id, "id", ID, 0, 0, 1,                                                          \
	      CONTRACT_IN_RECORD | CONTRACT_IN_CREATE | CONTRACT_IN_CLAIM, NULL, NULL, NULL)      \
	FIELD(GPU, gpu, "gpu", ID, 0, 0, 1,                                                       \
	      CONTRACT_IN_RECORD | CONTRACT_IN_CREATE | CONTRACT_IN_CTL, "gpu", "GPU",            \
	      "create the vGPU on this GPU")                                                      \
	FIELD(VM, vm, "vm", TEXT, 0, VM_MAX - 1, 1, CONTRACT_EVERYWHERE, "vm", "NAME",            \
	      "set the libvirt name or UUID of the virtual machine")                              \
	FIELD(CID, cid, "cid", CID, CONTRACT_CID_MIN, CONTRACT_CID_MAX, 1, CONTRACT_EVERYWHERE,   \
	      "cid", "N", "set the vsock CID of the virtual machine")                             \
	FIELD(LABELS, labels, "labels", LABELS, 0, LABELS_MAX, 1, CONTRACT_EVERYWHERE, "label",   \
	      "KEY=VALUE", "set a label; may be repeated")                                        \
	FIELD(INITIAL_CAP, terms.initial_cap_pct, "initial_cap_pct", WHOLE, 1, 100, 1,            \
	      CONTRACT_IN_TERMS, "cap", "PCT", "sell this share of the GPU, in percent")          \
	FIELD(MIN_CAP, terms.min_cap_pct, "min_cap_pct", WHOLE, 0, 100, 1, CONTRACT_IN_TERMS,     \
	      "min-cap", "PCT", "set the lowest cap; 0: use cap_floor_pct of the policy")         \
	FIELD(TARGET_FPS, terms.target_fps, "target_fps", NUMBER, 0, 10000, 1,                    \
	      CONTRACT_EVERYWHERE, "target-fps", "N",                                             \
	      "promise N frames per second; 0: no promise")                                       \
	FIELD(TARGET_RATE, target_rate, "target_rate", NUMBER, 0, 1e6, 7, CONTRACT_EVERYWHERE,    \
	      "target-rate", "N", "promise N units of work per second; 0: no promise")            \
	FIELD(FPS_LIMIT, fps_limit, "fps_limit", NUMBER, 0, 1000, 4, CONTRACT_IN_TERMS,           \
	      "fps-limit", "N", "limit programs to N frames per second; 0: no limit")             \
	FIELD(MEMORY, memory_mib, "memory_mib", WHOLE, 0, 1 << 24, 7, CONTRACT_EVERYWHERE,        \
	      "memory", "MIB", "limit the device memory to MIB mebibytes; 0: no limit")           \
	FIELD(WEIGHT, terms.weight, "weight", NUMBER, 0.01, 100, 1, CONTRACT_IN_TERMS, "weight",  \
	      "W", "set the weight of the contract")                                              \
	FIELD(BURST, terms.burst, "burst", SWITCH, 0, 0, 1, CONTRACT_IN_TERMS, "burst", NULL,     \
	      "allow a cap above the sold cap")                                                   \
	FIELD(FLAVOR, flavor, "flavor", TEXT, 0, ID_MAX - 1, 3, CONTRACT_EVERYWHERE, "flavor",    \
	      "NAME", "use this flavour; see gover.conf(5)")                                      \
	FIELD(HELD, held, "held", SWITCH, 0, 0, 1, CONTRACT_IN_RECORD | CONTRACT_IN_CHANGE, NULL, \
	      NULL, NULL)                                                                         \
	FIELD(HELD_CAP, held_cap_pct, "held_cap_pct", WHOLE, 1, 100, 1,                           \
	      CONTRACT_IN_FILE | CONTRACT_IN_CHANGE, NULL, NULL, NULL)                            \
	FIELD(CREATED, created_ms, "created_ms", INT64, 0, 1e15, 1, CONTRACT_IN_FILE, NULL, NULL, \
	      NULL)                                                                               \
	FIELD(OFFER, offer, "offer", INT64, 0, 1LL << 53, 2, CONTRACT_IN_FILE, NULL, NULL, NULL)

#define CONTRACT_ROW(NAME, ...) CONTRACT_ROW_##NAME,
enum contract_row { CONTRACT_FIELDS(CONTRACT_ROW) CONTRACT_N_ROWS };
#undef CONTRACT_ROW

/*
 * One bit for each field: CONTRACT_ID, CONTRACT_GPU and so on. A set of fields is a mask of these
 * bits.
 */
#define CONTRACT_BIT(NAME, ...) CONTRACT_##NAME = 1 << CONTRACT_ROW_##NAME,
enum contract_bit { CONTRACT_FIELDS(CONTRACT_BIT) };
#undef CONTRACT_BIT

/* Returns a row of the table; NULL: past the last row. */
const struct contract_field *contract_field_at(size_t row);

/* Returns the set of fields with this use. */
unsigned int contract_fields(enum contract_use use);
/*
 * Returns the first version of the contracts file that contains all fields: the highest @since of
 * the table.
 */
int contract_file_version(void);

/*
 * Decodes @object as json_decode_object() does. @contract->labels must be NULL or an owned
 * reference, which new labels replace.
 */
int contract_decode(json_t *object, unsigned int allowed, unsigned int required,
		    struct contract *contract, unsigned int *ret_fields, struct err *reterr);
/*
 * Decodes a contract of a contracts file with version @version, which must contain all fields of
 * that version. Earlier releases accepted wider bounds: a number outside the present bounds is
 * replaced by the nearest bound, and its field is added to *@ret_clamped.
 */
int contract_decode_file(json_t *object, int version, struct contract *contract,
			 unsigned int *ret_clamped, struct err *reterr);

/* Returns a new JSON object of all fields with this use. */
json_t *contract_encode(const struct contract *contract, enum contract_use use);
/* Returns a new JSON value of one field. */
json_t *contract_encode_field(const struct contract *contract, const struct contract_field *field);

/*
 * Copies @fields from @values to @contract. The pointer to the labels is copied without a new
 * reference.
 */
void contract_apply(struct contract *contract, unsigned int fields, const struct contract *values);

/* Writes the names of @fields, separated by ", ". Text beyond @size is cut off. */
void contract_list_names(unsigned int fields, char *ret_text, size_t size);

/*
 * Returns the value of label @name; "": there is no such label. Valid until the labels change.
 */
const char *contract_label(const struct contract *contract, const char *name);

void contract_fini(struct contract *contract);

#endif
