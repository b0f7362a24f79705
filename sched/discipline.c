/* SPDX-License-Identifier: MIT */
/* The table of scheduling disciplines. Like sched.c, this file calls no external function. */
#include "sched/sched.h"

/* --- cap: Algorithms 2 and 3 --- */

/*
 * A vGPU without a cap has no limit and does not use its slice. The slice stays 0, which is correct
 * if a cap is set later.
 */
static void set_slice(struct sched_vgpu *vgpu, int64_t slice_ns)
{
	vgpu->slice_ns = vgpu->cap_pct == 0 ? 0 : slice_ns;
	if (vgpu->cap_pct == 0)
		vgpu->limit_ns = UINT64_MAX;
	else
		vgpu->limit_ns = slice_ns > 0 ? (uint64_t)slice_ns : 0;
}

static void cap_join(const struct sched *sched, struct sched_vgpu *vgpu, uint64_t slice_ns)
{
	(void)sched;
	set_slice(vgpu, (int64_t)slice_ns);
}

static void cap_refill(const struct sched *sched, struct sched_vgpu *vgpu, bool second_begins)
{
	int64_t share_ns = (int64_t)(SCHED_SLOT_NS / 100) * vgpu->cap_pct;

	(void)sched;
	set_slice(vgpu, second_begins ? share_ns : vgpu->slice_ns + share_ns);
}

static void cap_charge(struct sched_vgpu *vgpu, uint64_t ran_ns)
{
	set_slice(vgpu, vgpu->slice_ns - (int64_t)ran_ns);
}

static struct sched_vgpu *cap_pick(struct sched *sched)
{
	struct sched_vgpu *vgpu = sched->turn;

	do {
		vgpu = vgpu->next;
	} while (!vgpu->runnable);
	return vgpu;
}

/*
 * --- weight: fair queuing by start tags, as FairGV (IEEE TPDS 2017) section 3.1 ---
 *
 * A tag is the time that a vGPU has run, divided by its weight; the smallest tag is next. A vGPU
 * that wakes starts at the tag of the last turn, so that it gains nothing from having been idle.
 * Tags are compared by their signed difference, because they wrap around (after five hours at
 * weight 1).
 */
#define TAG_UNITS (1U << 20) /* increase of the tag per nanosecond at weight 1 */

static bool is_behind(uint64_t tag, uint64_t other)
{
	return (int64_t)(tag - other) < 0;
}

static void weight_join(const struct sched *sched, struct sched_vgpu *vgpu, uint64_t slice_ns)
{
	(void)slice_ns;
	vgpu->tag = sched->tag;
	vgpu->limit_ns = UINT64_MAX;
}

static void weight_wake(const struct sched *sched, struct sched_vgpu *vgpu)
{
	if (is_behind(vgpu->tag, sched->tag))
		vgpu->tag = sched->tag;
}

/*
 * While a vGPU is idle, its tag advances with the other tags. Otherwise the signed difference of
 * two tags would overflow after some hours.
 */
static void weight_refill(const struct sched *sched, struct sched_vgpu *vgpu, bool second_begins)
{
	(void)second_begins;
	if (!vgpu->pending)
		weight_wake(sched, vgpu);
}

static void weight_charge(struct sched_vgpu *vgpu, uint64_t ran_ns)
{
	vgpu->tag += ran_ns * (TAG_UNITS / (vgpu->cap_pct == 0 ? 100U : vgpu->cap_pct));
}

/* If several vGPUs have the smallest tag, the first of them in the round is picked. */
static struct sched_vgpu *weight_pick(struct sched *sched)
{
	struct sched_vgpu *vgpu = sched->turn;
	struct sched_vgpu *least = NULL;

	do {
		vgpu = vgpu->next;
		if (vgpu->runnable && (!least || is_behind(vgpu->tag, least->tag)))
			least = vgpu;
	} while (vgpu != sched->turn);
	sched->tag = least->tag;
	return least;
}

const struct sched_discipline sched_disciplines[] = {
	{"cap", cap_join, cap_refill, NULL, cap_charge, cap_pick},
	{"weight", weight_join, weight_refill, weight_wake, weight_charge, weight_pick},
	{NULL, NULL, NULL, NULL, NULL, NULL},
};

static bool same_name(const char *a, const char *b)
{
	while (*a != '\0' && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

const struct sched_discipline *sched_discipline_find(const char *name)
{
	const struct sched_discipline *discipline;

	for (discipline = sched_disciplines; discipline->name; discipline++)
		if (same_name(discipline->name, name))
			return discipline;
	return NULL;
}
