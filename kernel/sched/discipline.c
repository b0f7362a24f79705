/* SPDX-License-Identifier: MIT */
/* The table of scheduling disciplines. Like sched.c, this file calls no external function. */
#include "kernel/sched/sched.h"

/* Returns the time that is left of a slice or a ceiling, where @pct 0 means no limit. */
static uint64_t rest(unsigned int pct, int64_t rest_ns)
{
	if (pct == 0)
		return UINT64_MAX;
	return rest_ns > 0 ? (uint64_t)rest_ns : 0;
}

/* --- cap: Algorithms 2 and 3 --- */

static void cap_allow(struct sched_vgpu *vgpu)
{
	vgpu->claim_ns = rest(vgpu->cap_pct, vgpu->slice_ns);
	vgpu->limit_ns = vgpu->claim_ns;
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

static void add_to_tag(struct sched_vgpu *vgpu, uint64_t ran_ns)
{
	vgpu->tag += ran_ns * (TAG_UNITS / (vgpu->cap_pct == 0 ? 100U : vgpu->cap_pct));
}

/* Returns @vgpu if it is runnable and has a smaller tag than @least, otherwise @least. */
static struct sched_vgpu *lesser(struct sched_vgpu *least, struct sched_vgpu *vgpu)
{
	return vgpu->runnable && (!least || is_behind(vgpu->tag, least->tag)) ? vgpu : least;
}

static void weight_allow(struct sched_vgpu *vgpu)
{
	vgpu->claim_ns = UINT64_MAX;
	vgpu->limit_ns = UINT64_MAX;
}

static void catch_up(const struct sched *sched, struct sched_vgpu *vgpu)
{
	if (is_behind(vgpu->tag, sched->tag))
		vgpu->tag = sched->tag;
}

/*
 * While a vGPU is idle, its tag advances with the other tags. Otherwise the signed difference of
 * two tags would overflow after some hours.
 */
static void weight_refill(const struct sched *sched, struct sched_vgpu *vgpu)
{
	if (!vgpu->pending)
		catch_up(sched, vgpu);
}

/* If several vGPUs have the smallest tag, the first of them in the round is picked. */
static struct sched_vgpu *weight_pick(struct sched *sched)
{
	struct sched_vgpu *vgpu = sched->turn;
	struct sched_vgpu *least = NULL;

	do {
		vgpu = vgpu->next;
		least = lesser(least, vgpu);
	} while (vgpu != sched->turn);
	sched->tag = least->tag;
	return least;
}

/*
 * --- guarantee: slices as in "cap"; spare time by start tags as in "weight" ---
 *
 * A tag counts only borrowed time. A vGPU that borrows has a tag of at least sched::tag. A vGPU
 * with a smaller tag did not borrow in the last slot, because it was idle, had slice left, or had
 * reached its ceiling. It catches up at each refill, so that it does not claim that time later.
 *
 * If the cap exceeds the ceiling, the slice is the limit.
 */
static void guarantee_allow(struct sched_vgpu *vgpu)
{
	uint64_t ceiling_ns = rest(vgpu->ceiling_pct, vgpu->ceiling_ns);

	vgpu->claim_ns = rest(vgpu->cap_pct, vgpu->slice_ns);
	vgpu->limit_ns = ceiling_ns > vgpu->claim_ns ? ceiling_ns : vgpu->claim_ns;
}

static void guarantee_charge(struct sched_vgpu *vgpu, uint64_t ran_ns)
{
	if (vgpu->borrows)
		add_to_tag(vgpu, ran_ns);
}

static struct sched_vgpu *guarantee_pick(struct sched *sched)
{
	struct sched_vgpu *vgpu = sched->turn;
	struct sched_vgpu *least = NULL;

	do {
		vgpu = vgpu->next;
		if (vgpu->entitled) {
			vgpu->borrows = false;
			return vgpu;
		}
		least = lesser(least, vgpu);
	} while (vgpu != sched->turn);
	least->borrows = true;
	sched->tag = least->tag;
	return least;
}

const struct sched_discipline sched_disciplines[] = {
	{"cap", "hard", cap_allow, NULL, NULL, NULL, cap_pick},
	{"weight", NULL, weight_allow, weight_refill, catch_up, add_to_tag, weight_pick},
	{"guarantee", "guarantee", guarantee_allow, catch_up, catch_up, guarantee_charge,
	 guarantee_pick},
	{NULL, NULL, NULL, NULL, NULL, NULL, NULL},
};

/* Returns true if @text is @name, with or without a newline at its end. */
static bool is_name(const char *text, const char *name)
{
	while (*name != '\0' && *text == *name) {
		text++;
		name++;
	}
	if (*text == '\n')
		text++;
	return *name == '\0' && *text == '\0';
}

const struct sched_discipline *sched_discipline_find(const char *name)
{
	const struct sched_discipline *discipline;

	for (discipline = sched_disciplines; discipline->name; discipline++)
		if (is_name(name, discipline->name))
			return discipline;
	return NULL;
}

const struct sched_discipline *sched_sharing_find(const char *sharing)
{
	const struct sched_discipline *discipline;

	for (discipline = sched_disciplines; discipline->name; discipline++)
		if (discipline->sharing && is_name(sharing, discipline->sharing))
			return discipline;
	return NULL;
}

const char *sched_sharing_name(const struct sched_discipline *discipline)
{
	return discipline->sharing ? discipline->sharing : discipline->name;
}
