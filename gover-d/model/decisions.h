/* SPDX-License-Identifier: MIT */
/* The newest decisions, in memory. The database has all of them. */
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
	int64_t id; /* ids ascend, also across restarts */
	int64_t ts_ms;
	char gpu[ID_MAX];
	enum decision_kind kind;
	char vgpu[ID_MAX]; /* "" : none */
	char donor[ID_MAX];
	enum decision_result result;
	const char *why; /* a sentence shorter than DECISION_WHY_MAX; decisions_add() copies it */
	/* Input of decisions_add(), which moves both into @detail. */
	json_t *numbers;    /* object of numbers; never NULL */
	json_t *moves;	    /* array of {vgpu, from_pct, to_pct, read_back_pct}; never NULL */
	const char *detail; /* output: {"numbers": ..., "moves": ...} without spaces */
};

struct decisions; /* a ring */
struct decisions *decisions_new(int64_t last_id);
struct decisions *decisions_free(struct decisions *decisions);
/*
 * Stores a copy of @decision, taking over its two JSON references. It gets the next id, unless its
 * own is higher, as that of a decision loaded from the database. The result is valid until
 * DECISIONS_MAX more have been added. NULL: no memory.
 */
const struct decision *decisions_add(struct decisions *decisions, const struct decision *decision);
/* The stored decision with the lowest id above @after; NULL: none. */
const struct decision *decisions_after(const struct decisions *decisions, int64_t after);
int64_t decisions_last_id(const struct decisions *decisions);
/* Makes the next id higher than @last_id. */
void decisions_continue_after(struct decisions *decisions, int64_t last_id);
/* True if vGPU @id is the receiver or the donor of a stored decision, or has a move in it. */
bool decision_concerns(const struct decision *decision, const char *id);

#endif
