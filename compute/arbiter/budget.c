/* SPDX-License-Identifier: MIT */
/*
 * All that grows with time: the budgets of caps and guarantees, and the allotted time. Also the
 * limits that separate a short gap from an idle period.
 *
 * A budget is in percent x ns and grows by pct in each nanosecond, so that nothing is rounded. It
 * is reduced by what is charged, and can become negative by an over-run, which the tenant then pays
 * back.
 */
#include "compute/arbiter/rule.h"

#define STEP_MAX_NS  (1ULL << 50) /* 13 days: the product with 100 x 100 does not overflow */
#define BUDGET_FLOOR (-(1LL << 60))

int64_t arbiter_budget_min(const struct arbiter *arbiter, unsigned int pct)
{
	return (int64_t)arbiter_min(arbiter->options.slice_ns * 100, pct * ARBITER_ROUND_NS);
}

void arbiter_spend(int64_t *budget, uint64_t device_ns)
{
	*budget -= (int64_t)(device_ns * 100);
	if (*budget < BUDGET_FLOOR)
		*budget = BUDGET_FLOOR;
}

uint64_t arbiter_cap_left_ns(const struct arbiter_tenant *tenant)
{
	if (tenant->share.cap_pct == 0)
		return ARBITER_NEVER;
	return tenant->cap_budget > 0 ? (uint64_t)tenant->cap_budget / 100 : 0;
}

uint64_t arbiter_hold_ns(const struct arbiter *arbiter, const struct arbiter_tenant *tenant)
{
	const struct arbiter_options *options = &arbiter->options;

	/* Waiting is in vain for a tenant with longer gaps. */
	if (tenant->gap_ns > options->hold_max_ns)
		return options->hold_min_ns;
	return arbiter_clamp(2 * tenant->gap_ns, options->hold_min_ns, options->hold_max_ns);
}

bool arbiter_is_rested(const struct arbiter *arbiter, const struct arbiter_tenant *tenant,
		       uint64_t gap_ns)
{
	return gap_ns > arbiter_clamp(4 * tenant->gap_ns, arbiter->options.idle_min_ns,
				      arbiter->options.idle_max_ns);
}

/* A tenant that waits for others saves more than an idle one. */
static int64_t budget_max(const struct arbiter *arbiter, const struct arbiter_tenant *tenant,
			  unsigned int pct)
{
	uint64_t gap_ns = arbiter->now_ns - tenant->changed_at_ns;

	if (tenant->wants || !arbiter_is_rested(arbiter, tenant, gap_ns))
		return (int64_t)(pct * ARBITER_WINDOW_NS);
	return arbiter_budget_min(arbiter, pct);
}

static int64_t grown(int64_t budget, uint64_t by, int64_t max)
{
	budget += (int64_t)by;
	return budget < max ? budget : max;
}

static void advance_tenant(const struct arbiter *arbiter, struct arbiter_tenant *tenant,
			   uint64_t step_ns)
{
	unsigned int cap = tenant->share.cap_pct, guarantee = tenant->share.guarantee_pct;
	unsigned int sum = arbiter->guarantee_pct;

	tenant->sched_rest += (unsigned int)(step_ns % 100) * (cap == 0 ? 100 : cap);
	tenant->sched_ns += step_ns / 100 * (cap == 0 ? 100 : cap) + tenant->sched_rest / 100;
	tenant->sched_rest %= 100;
	if (tenant->wants && !arbiter_holds(arbiter, tenant))
		tenant->wait_ns += step_ns;
	step_ns = arbiter_min(step_ns, STEP_MAX_NS);
	if (cap > 0)
		tenant->cap_budget =
			grown(tenant->cap_budget, step_ns * cap, budget_max(arbiter, tenant, cap));
	/* Guarantees of more than 100 in sum are reduced in proportion. */
	if (guarantee > 0)
		tenant->guarantee_budget =
			grown(tenant->guarantee_budget,
			      sum <= 100 ? step_ns * guarantee : step_ns * guarantee * 100 / sum,
			      budget_max(arbiter, tenant, guarantee));
}

void arbiter_advance(struct arbiter *arbiter, uint64_t now_ns)
{
	uint64_t step_ns;

	if (now_ns <= arbiter->now_ns)
		return;
	step_ns = now_ns - arbiter->now_ns;
	arbiter->now_ns = now_ns;
	ARBITER_FOR_EACH (tenant, arbiter)
		advance_tenant(arbiter, tenant, step_ns);
	if (arbiter->turn.state == ARBITER_RUN && !arbiter->turn.tenant->wants)
		arbiter->turn.idle_ns += step_ns;
	if (arbiter->discipline->rule->advance)
		arbiter->discipline->rule->advance(arbiter);
}

static void sum_guarantees(struct arbiter *arbiter)
{
	arbiter->guarantee_pct = 0;
	ARBITER_FOR_EACH (tenant, arbiter)
		arbiter->guarantee_pct += tenant->share.guarantee_pct;
}

/* A tenant can use a new budget at once. A changed one keeps what it owes. */
static int64_t new_budget(const struct arbiter *arbiter, int64_t budget, unsigned int before_pct,
			  unsigned int pct)
{
	int64_t max = (int64_t)(pct * ARBITER_WINDOW_NS);

	if (pct == 0)
		return 0;
	if (before_pct == 0)
		return arbiter_budget_min(arbiter, pct);
	return budget < max ? budget : max;
}

void arbiter_apply_share(struct arbiter *arbiter, struct arbiter_tenant *tenant,
			 const struct arbiter_share *share)
{
	static const struct arbiter_share usual = {.weight = ARBITER_WEIGHT_DEFAULT};
	struct arbiter_share before = tenant->share, next = share ? *share : usual;

	if (next.weight == 0)
		next.weight = ARBITER_WEIGHT_DEFAULT;
	next.weight = (unsigned int)arbiter_min(next.weight, ARBITER_WEIGHT_MAX);
	next.cap_pct = (unsigned int)arbiter_min(next.cap_pct, 100);
	next.guarantee_pct = (unsigned int)arbiter_min(next.guarantee_pct, 100);
	tenant->share = next;
	tenant->cap_budget = new_budget(arbiter, tenant->cap_budget, before.cap_pct, next.cap_pct);
	tenant->guarantee_budget = new_budget(arbiter, tenant->guarantee_budget,
					      before.guarantee_pct, next.guarantee_pct);
	sum_guarantees(arbiter);
}

unsigned int arbiter_weight_of_nice(int nice)
{
	unsigned int weight = ARBITER_WEIGHT_DEFAULT * 1024;

	nice = nice < -20 ? -20 : nice > 19 ? 19 : nice;
	for (; nice < 0; nice++)
		weight += weight / 4;
	for (; nice > 0; nice--)
		weight -= weight / 5;
	weight /= 1024;
	return (unsigned int)arbiter_clamp(weight, ARBITER_WEIGHT_MIN, ARBITER_WEIGHT_MAX);
}
