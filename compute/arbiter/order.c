/* SPDX-License-Identifier: MIT */
/*
 * The disciplines that only know an order: cap, rr and fcfs.
 *
 * cap: the gOver scheduler (IEEE TC 2022, section 3.4; kernel/sched/sched.h) for a device that
 * cannot be preempted. Tenants within their cap take turns in round-robin order, in proportion to
 * the caps. The time of an idle tenant stays unused. A tenant without a cap has no limit. The
 * budgets replace the slots of 100 ms. Not work-conserving.
 *
 * rr: round robin, SliVER (2023) section 3.4; slices in proportion to the weights, so that their
 * mean is slice_ns. It does not count the device time: kernels that do not fill a slice or run
 * over it make it unfair. Work-conserving.
 *
 * fcfs: first come, first served, SliVER sections 3.4.4 and 5.4, and what a device does on its own:
 * a turn is one unit, however long it is, then the tenant goes to the end of the queue. No
 * weights. The reference of unfairness. Work-conserving.
 */
#include "compute/arbiter/rule.h"

#define RR_SLICE_MIN_NS 100000 /* less is lost in the change of turns */

static struct arbiter_tenant *choose_next(struct arbiter *arbiter)
{
	ARBITER_FOR_EACH (tenant, arbiter)
		if (arbiter_can_run(arbiter, tenant))
			return tenant;
	return NULL;
}

static uint64_t cap_slice(const struct arbiter *arbiter, const struct arbiter_tenant *tenant)
{
	unsigned int pct = tenant->share.cap_pct == 0 ? 100 : tenant->share.cap_pct;

	return (uint64_t)arbiter_budget_min(arbiter, pct) / 100;
}

static uint64_t rr_slice(const struct arbiter *arbiter, const struct arbiter_tenant *tenant)
{
	uint64_t sum = 0, n = 0;

	ARBITER_FOR_EACH (other, arbiter) {
		if (!other->wants)
			continue;
		sum += other->share.weight;
		n++;
	}
	return arbiter_max(arbiter->options.slice_ns * n * tenant->share.weight /
				   arbiter_max(sum, 1),
			   RR_SLICE_MIN_NS);
}

static void queue(struct arbiter *arbiter, struct arbiter_tenant *tenant)
{
	tenant->order = ++arbiter->order;
}

static void fcfs_wake(struct arbiter *arbiter, struct arbiter_tenant *tenant, bool rested)
{
	(void)rested;
	queue(arbiter, tenant);
}

static struct arbiter_tenant *fcfs_choose(struct arbiter *arbiter)
{
	struct arbiter_tenant *first = NULL;

	ARBITER_FOR_EACH (tenant, arbiter)
		if (arbiter_can_run(arbiter, tenant) && (!first || tenant->order < first->order))
			first = tenant;
	return first;
}

const struct arbiter_rule arbiter_rule_cap = {
	.choose = choose_next,
	.slice = cap_slice,
};

const struct arbiter_rule arbiter_rule_rr = {
	.choose = choose_next,
	.slice = rr_slice,
};

const struct arbiter_rule arbiter_rule_fcfs = {
	.join = queue,
	.wake = fcfs_wake,
	.choose = fcfs_choose,
	.end = queue,
	.units = 1,
};
