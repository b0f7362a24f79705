/* SPDX-License-Identifier: MIT */
/*
 * The disciplines fair and guarantee.
 *
 * fair: start-tag fair queuing, FairGV (IEEE TPDS 2017) section 3.2.1. A tag is the device time of
 * a tenant divided by its weight. The least tag is next, and a turn increases it by what was really
 * used, so that an over-run is paid back and the length of a slice does not matter. The virtual
 * time is the least tag of the active tenants. A tenant that wakes after an idle period starts
 * there: it claims nothing for the time it was idle. Work-conserving.
 *
 * Departure from the paper: after a short gap, a tenant keeps its tag, because a host thread that
 * was not scheduled looks like an idle tenant. Its claim is at most idle_max_ns of device time.
 *
 * guarantee: a tenant with a guarantee first gets that percentage of the device's time, at any
 * load of the other tenants; the rest is shared as in fair, by all tenants with work. Turns of the
 * guarantee do not move the tag. Work-conserving. Our own, after requests of users of HAMi-core: an
 * idle share is lent, and returned on demand. Xen and FairGV have no such limit.
 */
#include "compute/arbiter/rule.h"

#define TAG_UNITS (1ULL << 20) /* increase of a tag per nanosecond at weight 1 */
/* A tag is compared by its signed difference, because tags wrap around. */
#define LEAD_MAX (1ULL << 61)

static bool is_behind(uint64_t tag, uint64_t other)
{
	return (int64_t)(tag - other) < 0;
}

/* ARBITER_CHARGE_MAX_NS * TAG_UNITS is less than 2^60. */
static uint64_t tag_units(const struct arbiter_tenant *tenant, uint64_t device_ns)
{
	return device_ns * TAG_UNITS / tenant->share.weight;
}

/* A tenant that missed turns claims at most this much device time: idle_max_ns. */
static void limit_tag(const struct arbiter *arbiter, struct arbiter_tenant *tenant)
{
	uint64_t virtual_ns = arbiter->virtual_ns;
	uint64_t credit = tag_units(tenant, arbiter->options.idle_max_ns);

	if (is_behind(tenant->tag, virtual_ns - credit))
		tenant->tag = virtual_ns - credit;
	if (is_behind(virtual_ns + LEAD_MAX, tenant->tag))
		tenant->tag = virtual_ns + LEAD_MAX;
}

/*
 * The virtual time does not wait for tenants that cannot run now, or a newcomer would have to make
 * up for their caps.
 */
static struct arbiter_tenant *find_least(const struct arbiter *arbiter)
{
	struct arbiter_tenant *least = NULL;

	ARBITER_FOR_EACH (tenant, arbiter) {
		bool active = arbiter_can_run(arbiter, tenant) ||
			      (arbiter_holds(arbiter, tenant) && tenant->wants);

		if (active && (!least || is_behind(tenant->tag, least->tag)))
			least = tenant;
	}
	return least;
}

static void advance_virtual(struct arbiter *arbiter)
{
	const struct arbiter_tenant *least = find_least(arbiter);

	if (!least || !is_behind(arbiter->virtual_ns, least->tag))
		return;
	arbiter->virtual_ns = least->tag;
	ARBITER_FOR_EACH (tenant, arbiter)
		limit_tag(arbiter, tenant);
}

static void join(struct arbiter *arbiter, struct arbiter_tenant *tenant)
{
	tenant->tag = arbiter->virtual_ns;
}

static void wake(struct arbiter *arbiter, struct arbiter_tenant *tenant, bool rested)
{
	if (rested && is_behind(tenant->tag, arbiter->virtual_ns))
		tenant->tag = arbiter->virtual_ns;
}

static struct arbiter_tenant *choose(struct arbiter *arbiter)
{
	advance_virtual(arbiter);
	return find_least(arbiter);
}

static void charge(struct arbiter *arbiter, struct arbiter_tenant *tenant, uint64_t device_ns,
		   uint32_t units)
{
	(void)units;
	tenant->tag += tag_units(tenant, device_ns);
	limit_tag(arbiter, tenant);
	advance_virtual(arbiter);
}

/* Returns the tenant whose guarantee has waited longest. Guarantees have the budgets of caps. */
static struct arbiter_tenant *find_guaranteed(const struct arbiter *arbiter)
{
	struct arbiter_tenant *first = NULL;

	ARBITER_FOR_EACH (tenant, arbiter) {
		unsigned int pct = tenant->share.guarantee_pct;

		if (pct == 0 || !arbiter_can_run(arbiter, tenant) ||
		    tenant->guarantee_budget < arbiter_budget_min(arbiter, pct))
			continue;
		if (!first || tenant->guarantee_budget * first->share.guarantee_pct >
				      first->guarantee_budget * pct)
			first = tenant;
	}
	return first;
}

static struct arbiter_tenant *guarantee_choose(struct arbiter *arbiter)
{
	struct arbiter_tenant *tenant = find_guaranteed(arbiter);
	bool guaranteed = tenant != NULL;

	if (!guaranteed)
		tenant = choose(arbiter);
	tenant->guaranteed = guaranteed;
	return tenant;
}

static uint64_t guarantee_slice(const struct arbiter *arbiter, const struct arbiter_tenant *tenant)
{
	if (!tenant->guaranteed)
		return arbiter->options.slice_ns;
	return arbiter_min(arbiter->options.slice_ns, (uint64_t)tenant->guarantee_budget / 100);
}

/* Time that no other tenant wanted is not taken from the guarantee. */
static void guarantee_charge(struct arbiter *arbiter, struct arbiter_tenant *tenant,
			     uint64_t device_ns, uint32_t units)
{
	if (tenant->guaranteed && arbiter->contended)
		arbiter_spend(&tenant->guarantee_budget, device_ns);
	else
		charge(arbiter, tenant, device_ns, units);
}

const struct arbiter_rule arbiter_rule_fair = {
	.join = join,
	.wake = wake,
	.choose = choose,
	.charge = charge,
};

const struct arbiter_rule arbiter_rule_guarantee = {
	.join = join,
	.wake = wake,
	.choose = guarantee_choose,
	.slice = guarantee_slice,
	.charge = guarantee_charge,
};
