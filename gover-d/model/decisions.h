/* SPDX-License-Identifier: MIT */
/* The newest decisions in memory, for REST and `why`; the database keeps them all. */
#ifndef GOVER_D_MODEL_DECISIONS_H
#define GOVER_D_MODEL_DECISIONS_H

#include "gover-d/model/host.h"

#define DECISIONS_MAX	 2048
#define DECISION_WHY_MAX 1024

/* The kinds of enum policy_kind, then those of a request or of the daemon itself. A request uses
 * the policy's "set" and "hold" too. */
enum decision_kind {
	DECISION_HOLD = POLICY_HOLD,
	DECISION_SET = POLICY_SET,
	DECISION_ADD = POLICY_KINDS,
	DECISION_REMOVE,
	DECISION_RELEASE,
	DECISION_ADOPT,
	DECISION_FOUND,
	DECISION_FOREIGN_WRITE,
	DECISION_MISSING,
	DECISION_KINDS
};

enum decision_result {
	DECISION_WRITTEN,
	DECISION_DRY_RUN,
	DECISION_OBSERVED, /* the GPU is in mode observe: nothing is written */
	DECISION_FAILED,   /* at least one cap could not be written */
	DECISION_DROPPED,  /* an external change came first: nothing was written */
	DECISION_NOTED,	   /* nothing to write */
	DECISION_RESULTS
};

/* The names in REST, log and database. Parsing returns -EINVAL for an unknown name. */
const char *decision_kind_name(enum decision_kind kind);
int decision_kind_parse(const char *name, enum decision_kind *ret_kind);
const char *decision_result_name(enum decision_result result);
int decision_result_parse(const char *name, enum decision_result *ret_result);

struct decision {
	int64_t id; /* running number, continued over restarts */
	int64_t ts_ms;
	char gpu[ID_MAX];
	enum decision_kind kind;
	char vgpu[ID_MAX]; /* "" : none */
	char donor[ID_MAX];
	enum decision_result result;
	const char *why; /* shorter than DECISION_WHY_MAX; the caller's, and copied */
	/* To be added. A kept one has both in @detail. */
	json_t *numbers;    /* object of numbers; never NULL */
	json_t *moves;	    /* array of {vgpu, from_pct, to_pct, read_back_pct}; never NULL */
	const char *detail; /* of a kept one: {"numbers": ..., "moves": ...} without a space */
};

struct decisions; /* a ring */
struct decisions *decisions_new(int64_t last_id);
struct decisions *decisions_free(struct decisions *decisions);
/* Takes over the two json references, gives the next id. One that is higher already stays: a
 * decision read back from the database keeps its own. The result stands until DECISIONS_MAX more
 * were added. NULL: no memory. */
const struct decision *decisions_add(struct decisions *decisions, const struct decision *decision);
/* The first kept one with an id above @after; NULL: none. Walk with after = found->id. */
const struct decision *decisions_after(const struct decisions *decisions, int64_t after);
int64_t decisions_last_id(const struct decisions *decisions);
/* The next id is above @last_id, and above all that were added. */
void decisions_continue_after(struct decisions *decisions, int64_t last_id);
/* True when vGPU @id is what a kept one is about, or gave, or was moved by it. */
bool decision_concerns(const struct decision *decision, const char *id);

#endif
