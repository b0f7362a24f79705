/* SPDX-License-Identifier: MIT */
/*
 * The discipline credit: the credit scheduler of Xen (Barham et al., SOSP 2003, reference [26] of
 * FairGV), as Pegasus and the variants "Credit" of FairGV section 5.3 use it for devices. Every 30
 * ms, the tenants with work share 30 ms of credit in proportion to their weights. Device time is
 * taken from the credit. Tenants with credit left run before tenants without, both in round-robin
 * order, and a tenant that wakes with credit left runs first. Credit and debt are limited to one
 * period: an over-run beyond it is forgiven, which makes this discipline unfair with long kernels.
 * Work-conserving.
 */
#include "compute/arbiter/rule.h"

#define PERIOD_NS 30000000ULL

enum rank { RANK_BOOST, RANK_UNDER, RANK_OVER, RANK_NONE };

static void credit_join(struct arbiter *arbiter, struct arbiter_tenant *tenant)
{
	(void)arbiter;
	tenant->credit = 0;
}

static void credit_wake(struct arbiter *arbiter, struct arbiter_tenant *tenant, bool rested)
{
	(void)arbiter;
	(void)rested;
	tenant->boosted = tenant->credit > 0;
}

static void limit_credit(struct arbiter_tenant *tenant)
{
	if (tenant->credit > (int64_t)PERIOD_NS)
		tenant->credit = (int64_t)PERIOD_NS;
	if (tenant->credit < -(int64_t)PERIOD_NS)
		tenant->credit = -(int64_t)PERIOD_NS;
}

/*
 * After 2 x ARBITER_WEIGHT_MAX missed periods, even the least weight beside the greatest has
 * full credit instead of full debt. More periods change nothing, and could overflow.
 */
static void credit_advance(struct arbiter *arbiter)
{
	uint64_t periods, sum = 0;

	if (arbiter->now_ns < arbiter->refill_at_ns)
		return;
	periods = 1 + (arbiter->now_ns - arbiter->refill_at_ns) / PERIOD_NS;
	arbiter->refill_at_ns += periods * PERIOD_NS;
	ARBITER_FOR_EACH (tenant, arbiter)
		sum += tenant->wants ? tenant->share.weight : 0;
	ARBITER_FOR_EACH (tenant, arbiter) {
		if (!tenant->wants)
			continue;
		tenant->credit += (int64_t)(arbiter_min(periods, 2 * ARBITER_WEIGHT_MAX) *
					    PERIOD_NS * tenant->share.weight / sum);
		limit_credit(tenant);
	}
}

static enum rank rank_of(const struct arbiter *arbiter, const struct arbiter_tenant *tenant)
{
	if (!arbiter_can_run(arbiter, tenant))
		return RANK_NONE;
	if (tenant->boosted)
		return RANK_BOOST;
	return tenant->credit >= 0 ? RANK_UNDER : RANK_OVER;
}

static struct arbiter_tenant *credit_choose(struct arbiter *arbiter)
{
	struct arbiter_tenant *first = NULL;
	enum rank best = RANK_NONE;

	ARBITER_FOR_EACH (tenant, arbiter) {
		enum rank rank = rank_of(arbiter, tenant);

		if (rank < best) {
			best = rank;
			first = tenant;
		}
	}
	return first;
}

static void credit_charge(struct arbiter *arbiter, struct arbiter_tenant *tenant,
			  uint64_t device_ns, uint32_t units)
{
	(void)arbiter;
	(void)units;
	tenant->boosted = false;
	tenant->credit -= (int64_t)device_ns;
	limit_credit(tenant);
}

const struct arbiter_rule arbiter_rule_credit = {
	.join = credit_join,
	.wake = credit_wake,
	.advance = credit_advance,
	.choose = credit_choose,
	.charge = credit_charge,
};
