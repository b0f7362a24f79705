/* SPDX-License-Identifier: MIT */
/*
 * A ring of decisions in the order of their ids. If the ring is full, a new decision replaces the
 * oldest decision. To save memory, each decision is one allocation with its texts, and its numbers
 * and moves are stored as JSON text.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "gover-d/model/decisions.h"

static const char *const kind_names[DECISION_KINDS] = {
	[DECISION_ADD] = "add",		[DECISION_REMOVE] = "remove",
	[DECISION_RELEASE] = "release", [DECISION_ADOPT] = "adopt",
	[DECISION_FOUND] = "found",	[DECISION_FOREIGN_WRITE] = "foreign_write",
	[DECISION_MISSING] = "missing", [DECISION_MIGRATION] = "migration",
};

static const char *const result_names[DECISION_RESULTS] = {
	[DECISION_WRITTEN] = "written",	  [DECISION_DRY_RUN] = "dry_run",
	[DECISION_OBSERVED] = "observed", [DECISION_FAILED] = "failed",
	[DECISION_DROPPED] = "dropped",	  [DECISION_NOTED] = "noted",
};

const char *decision_kind_name(enum decision_kind kind)
{
	return (int)kind < (int)POLICY_KINDS ? policy_kind_name((enum policy_kind)kind)
					     : kind_names[kind];
}

int decision_kind_parse(const char *name, enum decision_kind *ret_kind)
{
	for (int i = 0; i < DECISION_KINDS; i++)
		if (strcmp(decision_kind_name((enum decision_kind)i), name) == 0) {
			*ret_kind = (enum decision_kind)i;
			return 0;
		}
	return -EINVAL;
}

const char *decision_result_name(enum decision_result result)
{
	return result_names[result];
}

int decision_result_parse(const char *name, enum decision_result *ret_result)
{
	for (int i = 0; i < DECISION_RESULTS; i++)
		if (strcmp(result_names[i], name) == 0) {
			*ret_result = (enum decision_result)i;
			return 0;
		}
	return -EINVAL;
}

struct decisions {
	int64_t last_id;
	size_t first; /* index of the oldest decision in @ring */
	size_t n;     /* number of decisions */
	struct decision *ring[DECISIONS_MAX];
};

struct decisions *decisions_new(int64_t last_id)
{
	struct decisions *decisions = xcalloc(1, sizeof(*decisions));

	decisions->last_id = last_id;
	return decisions;
}

static size_t slot(const struct decisions *decisions, size_t index)
{
	return (decisions->first + index) % DECISIONS_MAX;
}

static void drop_oldest(struct decisions *decisions)
{
	free(decisions->ring[decisions->first]);
	decisions->first = slot(decisions, 1);
	decisions->n--;
}

struct decisions *decisions_free(struct decisions *decisions)
{
	if (!decisions)
		return NULL;
	while (decisions->n > 0)
		drop_oldest(decisions);
	free(decisions);
	return NULL;
}

static char *dump_detail(json_t *numbers, json_t *moves)
{
	json_t *detail = json_pack("{s:o, s:o}", "numbers", numbers, "moves", moves);
	char *text = json_dumps(detail, JSON_COMPACT);

	json_decref(detail);
	return text;
}

/* Copies @decision into one allocation: the struct, then @why, then @detail. */
static struct decision *copy_decision(const struct decision *decision)
{
	const char *why = decision->why ? decision->why : "";
	char *detail = dump_detail(decision->numbers, decision->moves);
	size_t why_size = strlen(why) + 1, detail_size = strlen(detail) + 1;
	struct decision *copy = xmalloc(sizeof(*copy) + why_size + detail_size);
	char *texts = (char *)(copy + 1);

	*copy = *decision;
	copy->why = memcpy(texts, why, why_size);
	copy->detail = memcpy(texts + why_size, detail, detail_size);
	copy->numbers = copy->moves = NULL;
	free(detail);
	return copy;
}

const struct decision *decisions_add(struct decisions *decisions, const struct decision *decision)
{
	struct decision *copy = copy_decision(decision);

	if (decisions->n == DECISIONS_MAX)
		drop_oldest(decisions);
	decisions->ring[slot(decisions, decisions->n++)] = copy;
	if (copy->id <= decisions->last_id)
		copy->id = decisions->last_id + 1;
	decisions->last_id = copy->id;
	return copy;
}

const struct decision *decisions_after(const struct decisions *decisions, int64_t after)
{
	size_t low = 0, high = decisions->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (decisions->ring[slot(decisions, middle)]->id <= after)
			low = middle + 1;
		else
			high = middle;
	}
	return low < decisions->n ? decisions->ring[slot(decisions, low)] : NULL;
}

int64_t decisions_last_id(const struct decisions *decisions)
{
	return decisions->last_id;
}

void decisions_continue_after(struct decisions *decisions, int64_t last_id)
{
	if (decisions->last_id < last_id)
		decisions->last_id = last_id;
}

bool decision_concerns(const struct decision *decision, const char *id)
{
	char member[ID_MAX + 16];

	if (strcmp(decision->vgpu, id) == 0 || strcmp(decision->donor, id) == 0)
		return true;
	/* JSON escapes no character of an id, so a move of this vGPU contains exactly this text. */
	snprintf(member, sizeof(member), "\"vgpu\":\"%s\"", id);
	return strstr(decision->detail, member) != NULL;
}
