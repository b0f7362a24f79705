/* SPDX-License-Identifier: MIT */
/* The newest decisions, in memory. The database also contains older decisions. */
#ifndef GOVER_D_MODEL_DECISIONS_H
#define GOVER_D_MODEL_DECISIONS_H

#include "gover-d/model/host.h"

#define DECISIONS_MAX	 2048
#define DECISION_WHY_MAX 1024

/*
 * Kinds of decisions: the kinds of enum policy_kind, followed by kinds that the policy does not
 * use. Kinds hold and set are also used for decisions that a request made.
 */
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
	DECISION_MIGRATION, /* a fact about the migration of a vGPU to another host */
	DECISION_KINDS
};

enum decision_result {
	DECISION_WRITTEN,
	DECISION_DRY_RUN,
	DECISION_OBSERVED, /* the GPU is in mode observe: no cap was written */
	DECISION_FAILED,   /* at least one cap could not be written */
	DECISION_DROPPED,  /* no cap was written, because of an external change */
	DECISION_NOTED,	   /* no cap had to be written */
	DECISION_RESULTS
};

/*
 * Convert kinds and results to their names in REST, log and database, and back. -EINVAL: unknown
 * name.
 */
const char *decision_kind_name(enum decision_kind kind);
int decision_kind_parse(const char *name, enum decision_kind *ret_kind);
const char *decision_result_name(enum decision_result result);
int decision_result_parse(const char *name, enum decision_result *ret_result);

struct decision {
	int64_t id; /* higher than the ids of all earlier decisions, also after a restart */
	int64_t ts_ms;
	char gpu[ID_MAX];
	enum decision_kind kind;
	/* id of the receiver, or of the vGPU that the decision is about; "": none */
	char vgpu[ID_MAX];
	char donor[ID_MAX];
	enum decision_result result;
	/* reason: a sentence shorter than DECISION_WHY_MAX; decisions_add() copies it */
	const char *why;
	/* @numbers and @moves are input of decisions_add(), which writes both into @detail. */
	json_t *numbers; /* JSON object of numbers; never NULL */
	/* JSON array of {vgpu, from_pct, to_pct, read_back_pct}; never NULL */
	json_t *moves;
	const char *detail; /* output of decisions_add(): {"numbers":...,"moves":...} */
};

struct decisions;
struct decisions *decisions_new(int64_t last_id);
struct decisions *decisions_free(struct decisions *decisions);
/*
 * Stores a copy of @decision and takes over its two JSON references. If the id of @decision is
 * above decisions_last_id(), the copy has the same id. Otherwise the copy gets the next id. The
 * returned copy is valid until DECISIONS_MAX further decisions have been added.
 */
const struct decision *decisions_add(struct decisions *decisions, const struct decision *decision);
/* Returns the stored decision with the lowest id above @after; NULL: none. */
const struct decision *decisions_after(const struct decisions *decisions, int64_t after);
int64_t decisions_last_id(const struct decisions *decisions);
/* Ensures that the next id is higher than @last_id. */
void decisions_continue_after(struct decisions *decisions, int64_t last_id);
/*
 * Returns true if vGPU @id is the receiver or the donor of the stored decision @decision, or if the
 * decision moved the cap of that vGPU.
 */
bool decision_concerns(const struct decision *decision, const char *id);

#endif
