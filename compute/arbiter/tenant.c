/* SPDX-License-Identifier: MIT */
/* The tenants of a device, and what is reported about them. turn.c decides. */
#include "compute/arbiter/rule.h"

static const struct arbiter_options defaults = {
	.slice_ns = 6000000, /* FairGV 3.2.1, for non-preemptive devices */
	/* A longer slice saves nothing: a drain of 0.1 ms in 100 ms is 0.1 %. */
	.stretch_ns = 100000000,
	/* Two batches of one slice keep the device busy while the host prepares the next. */
	.in_flight_ns = 12000000,
	/* Twice the slice and the lease are less than one slice + 100 ms. */
	.lease_ns = 80000000,
	.hold_min_ns = 100000,
	/* A hold as long as a slice leaves the device idle (Fig. 10 in bench-compute-sim.c). */
	.hold_max_ns = 500000,
	.idle_min_ns = 2000000,
	/* About the time for which Linux lets six threads wait on one core. */
	.idle_max_ns = 20000000,
};

static uint64_t or_default(uint64_t value, uint64_t usual)
{
	/* Products with 100 percent and sums with a time must not overflow. */
	return value == 0 ? usual : arbiter_min(value, ARBITER_CHARGE_MAX_NS);
}

static struct arbiter_options complete(const struct arbiter_options *given)
{
	struct arbiter_options options = defaults;

	if (!given)
		return options;
	options.slice_ns = or_default(given->slice_ns, defaults.slice_ns);
	options.stretch_ns = or_default(given->stretch_ns, defaults.stretch_ns);
	options.in_flight_ns = or_default(given->in_flight_ns, defaults.in_flight_ns);
	options.lease_ns = or_default(given->lease_ns, defaults.lease_ns);
	options.hold_min_ns = or_default(given->hold_min_ns, defaults.hold_min_ns);
	options.hold_max_ns = or_default(given->hold_max_ns, defaults.hold_max_ns);
	options.idle_min_ns = or_default(given->idle_min_ns, defaults.idle_min_ns);
	options.idle_max_ns = or_default(given->idle_max_ns, defaults.idle_max_ns);
	return options;
}

bool arbiter_holds(const struct arbiter *arbiter, const struct arbiter_tenant *tenant)
{
	return arbiter->turn.tenant == tenant;
}

/*
 * Without this limit, a tenant that has just wasted a lease would get the next one as soon as the
 * threads of all others are not scheduled for an instant, whatever it owes.
 */
uint64_t arbiter_suspect_until_ns(const struct arbiter *arbiter,
				  const struct arbiter_tenant *tenant)
{
	uint64_t until_ns = 0;

	if (!tenant->suspect)
		return 0;
	ARBITER_FOR_EACH (other, arbiter) {
		uint64_t end_ns = other->changed_at_ns + arbiter->options.idle_max_ns;

		/* A thread that has missed its turn shows a sign of life later. */
		if (other->stalled)
			end_ns = other->seen_ns + 2 * arbiter->options.idle_max_ns;
		if (other != tenant && other->turns > 0 && (!other->wants || other->stalled))
			until_ns = arbiter_max(until_ns, end_ns);
	}
	return until_ns;
}

bool arbiter_can_run(const struct arbiter *arbiter, const struct arbiter_tenant *tenant)
{
	unsigned int cap = tenant->share.cap_pct;

	return tenant->wants && !tenant->stalled && !tenant->unfinished &&
	       arbiter->now_ns >= arbiter_suspect_until_ns(arbiter, tenant) &&
	       (cap == 0 || tenant->cap_budget >= arbiter_budget_min(arbiter, cap));
}

void arbiter_start(struct arbiter *arbiter, const struct arbiter_discipline *discipline,
		   const struct arbiter_options *options, uint64_t now_ns)
{
	*arbiter = (struct arbiter){
		.discipline = discipline ? discipline : &arbiter_disciplines[0],
		.options = complete(options),
		.now_ns = now_ns,
		.refill_at_ns = now_ns,
	};
}

void arbiter_set_discipline(struct arbiter *arbiter, const struct arbiter_discipline *discipline,
			    uint64_t now_ns)
{
	arbiter_advance(arbiter, now_ns);
	arbiter->discipline = discipline ? discipline : &arbiter_disciplines[0];
	arbiter->refill_at_ns = arbiter->now_ns;
	arbiter->credit_pool = 0;
	ARBITER_FOR_EACH (tenant, arbiter) {
		tenant->guaranteed = false;
		tenant->boosted = false;
		tenant->credit = 0;
		tenant->blocks = 0;
		tenant->round = 0;
		if (arbiter->discipline->rule->join)
			arbiter->discipline->rule->join(arbiter, tenant);
	}
	if (arbiter->turn.state == ARBITER_RUN) {
		arbiter->turn.state = ARBITER_DRAIN;
		arbiter->turn.reason = ARBITER_REASON_SLICE;
		arbiter->turn.drains_since_ns = arbiter->now_ns;
	}
}

void arbiter_set_slice(struct arbiter *arbiter, uint64_t slice_ns, uint64_t now_ns)
{
	arbiter_advance(arbiter, now_ns);
	arbiter->options.slice_ns = or_default(slice_ns, defaults.slice_ns);
}

void arbiter_add(struct arbiter *arbiter, struct arbiter_tenant *tenant,
		 const struct arbiter_share *share, uint64_t now_ns)
{
	struct arbiter_tenant *last = arbiter->last;

	arbiter_advance(arbiter, now_ns);
	*tenant = (struct arbiter_tenant){
		.seen_ns = arbiter->now_ns,
		.changed_at_ns = arbiter->now_ns,
	};
	if (!last) {
		tenant->next = tenant;
		tenant->prev = tenant;
		arbiter->last = tenant;
	} else {
		/* The round visits the tenant of the last turn last: insert before it. */
		tenant->next = last;
		tenant->prev = last->prev;
		last->prev->next = tenant;
		last->prev = tenant;
	}
	arbiter->n_tenants++;
	arbiter_apply_share(arbiter, tenant, share);
	if (arbiter->discipline->rule->join)
		arbiter->discipline->rule->join(arbiter, tenant);
}

void arbiter_remove(struct arbiter *arbiter, struct arbiter_tenant *tenant, uint64_t now_ns)
{
	static const struct arbiter_share none = {.weight = ARBITER_WEIGHT_MIN};

	arbiter_idle(arbiter, tenant, now_ns);
	if (arbiter_holds(arbiter, tenant))
		arbiter_finish(arbiter, ARBITER_REASON_REMOVED);
	arbiter_apply_share(arbiter, tenant, &none);
	if (arbiter->last == tenant)
		arbiter->last = tenant->next == tenant ? NULL : tenant->prev;
	tenant->prev->next = tenant->next;
	tenant->next->prev = tenant->prev;
	tenant->next = NULL;
	tenant->prev = NULL;
	arbiter->n_tenants--;
}

void arbiter_set_share(struct arbiter *arbiter, struct arbiter_tenant *tenant,
		       const struct arbiter_share *share, uint64_t now_ns)
{
	arbiter_advance(arbiter, now_ns);
	arbiter_apply_share(arbiter, tenant, share);
}

void arbiter_set_load(struct arbiter_tenant *tenant, const struct arbiter_load *load)
{
	tenant->load = *load;
	tenant->load.bandwidth_permille = (uint32_t)arbiter_min(load->bandwidth_permille, 1000);
	tenant->load.memory_permille = (uint32_t)arbiter_min(load->memory_permille, 1000);
}

static void see(struct arbiter *arbiter, struct arbiter_tenant *tenant)
{
	tenant->seen_ns = arbiter->now_ns;
	tenant->stalled = false;
}

/* Returns whether the gap was a real idle period. The smoothed gap follows short gaps only: one
 * long pause predicts no short one. */
static bool end_gap(const struct arbiter *arbiter, struct arbiter_tenant *tenant)
{
	uint64_t gap_ns = arbiter->now_ns - tenant->changed_at_ns;
	bool rested;

	gap_ns -= arbiter_min(tenant->delay_ns, gap_ns);
	rested = arbiter_is_rested(arbiter, tenant, gap_ns);
	if (gap_ns <= arbiter->options.idle_max_ns)
		tenant->gap_ns = tenant->gap_ns - tenant->gap_ns / 4 + gap_ns / 4;
	return rested;
}

void arbiter_want(struct arbiter *arbiter, struct arbiter_tenant *tenant, uint64_t in_flight_ns,
		  uint64_t now_ns)
{
	const struct arbiter_rule *rule = arbiter->discipline->rule;
	bool rested;

	arbiter_advance(arbiter, now_ns);
	see(arbiter, tenant);
	tenant->in_flight_ns = arbiter_min(in_flight_ns, ARBITER_CHARGE_MAX_NS);
	if (tenant->in_flight_ns == 0)
		tenant->unfinished = false;
	if (tenant->wants)
		return;
	rested = end_gap(arbiter, tenant);
	if (rule->wake)
		rule->wake(arbiter, tenant, rested);
	tenant->wants = true;
	tenant->changed_at_ns = arbiter->now_ns;
	tenant->delay_ns = 0;
}

void arbiter_idle(struct arbiter *arbiter, struct arbiter_tenant *tenant, uint64_t now_ns)
{
	arbiter_advance(arbiter, now_ns);
	see(arbiter, tenant);
	tenant->in_flight_ns = 0;
	tenant->unfinished = false;
	if (!tenant->wants)
		return;
	tenant->wants = false;
	tenant->changed_at_ns = arbiter->now_ns;
	tenant->delay_ns = 0;
	if (arbiter->discipline->rule->sleep)
		arbiter->discipline->rule->sleep(arbiter, tenant);
}

void arbiter_excuse(struct arbiter_tenant *tenant, uint64_t ns)
{
	uint64_t left_ns = UINT64_MAX - tenant->delay_ns;

	if (!tenant->wants)
		tenant->delay_ns += arbiter_min(ns, left_ns);
}

void arbiter_beat(struct arbiter *arbiter, struct arbiter_tenant *tenant, uint64_t now_ns)
{
	arbiter_advance(arbiter, now_ns);
	see(arbiter, tenant);
}

void arbiter_charge(struct arbiter *arbiter, struct arbiter_tenant *tenant, uint64_t device_ns,
		    uint32_t units, uint64_t now_ns)
{
	arbiter_advance(arbiter, now_ns);
	if (units > 0)
		see(arbiter, tenant);
	device_ns = arbiter_min(device_ns, ARBITER_CHARGE_MAX_NS);
	arbiter->busy_ns += device_ns;
	tenant->busy_ns += device_ns;
	tenant->units += units;
	if (arbiter_holds(arbiter, tenant)) {
		arbiter->turn.used_ns += device_ns;
		arbiter->turn.units_used += units;
	}
	if (tenant->share.cap_pct > 0)
		arbiter_spend(&tenant->cap_budget, device_ns);
	if (arbiter->discipline->rule->charge)
		arbiter->discipline->rule->charge(arbiter, tenant, device_ns, units);
}

uint64_t arbiter_allotted_ns(const struct arbiter *arbiter, const struct arbiter_tenant *tenant,
			     uint64_t now_ns)
{
	uint64_t ns = now_ns > arbiter->now_ns ? now_ns - arbiter->now_ns : 0;
	unsigned int cap = tenant->share.cap_pct == 0 ? 100 : tenant->share.cap_pct;

	return tenant->sched_ns + ns / 100 * cap + (ns % 100 * cap + tenant->sched_rest) / 100;
}
