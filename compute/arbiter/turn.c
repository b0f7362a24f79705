/* SPDX-License-Identifier: MIT */
/*
 * The tenants of a device and what is reported about them, their budgets, and the life of a turn:
 * it begins, its limits follow what is reported, it drains, it ends. FairGV 3.2.2 (a holder without
 * work yields after a limit) and 3.3.2 (a holder that has used its slice releases the device); the
 * lease is our own.
 *
 * A budget of a cap or guarantee is in percent x ns and grows by pct in each nanosecond, so that
 * nothing is rounded. It is reduced by what is charged, and can become negative by an over-run,
 * which the tenant then pays back.
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

static uint64_t cap_left_ns(const struct arbiter_tenant *tenant)
{
	if (tenant->share.cap_pct == 0)
		return ARBITER_NEVER;
	return tenant->cap_budget > 0 ? (uint64_t)tenant->cap_budget / 100 : 0;
}

static uint64_t hold_ns(const struct arbiter *arbiter, const struct arbiter_tenant *tenant)
{
	const struct arbiter_options *options = &arbiter->options;

	/* Waiting is in vain for a tenant with longer gaps. */
	if (tenant->gap_ns > options->hold_max_ns)
		return options->hold_min_ns;
	return arbiter_clamp(2 * tenant->gap_ns, options->hold_min_ns, options->hold_max_ns);
}

static bool is_rested(const struct arbiter *arbiter, const struct arbiter_tenant *tenant,
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

	if (tenant->wants || !is_rested(arbiter, tenant, gap_ns))
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

static void advance(struct arbiter *arbiter, uint64_t now_ns)
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

static void apply_share(struct arbiter *arbiter, struct arbiter_tenant *tenant,
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
static uint64_t suspect_until_ns(const struct arbiter *arbiter, const struct arbiter_tenant *tenant)
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
	       arbiter->now_ns >= suspect_until_ns(arbiter, tenant) &&
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
	advance(arbiter, now_ns);
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
	advance(arbiter, now_ns);
	arbiter->options.slice_ns = or_default(slice_ns, defaults.slice_ns);
}

void arbiter_add(struct arbiter *arbiter, struct arbiter_tenant *tenant,
		 const struct arbiter_share *share, uint64_t now_ns)
{
	struct arbiter_tenant *last = arbiter->last;

	advance(arbiter, now_ns);
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
	apply_share(arbiter, tenant, share);
	if (arbiter->discipline->rule->join)
		arbiter->discipline->rule->join(arbiter, tenant);
}

/* The times below are counted from the beginning of contention, because without it none matters. */
static uint64_t contested_since(const struct arbiter *arbiter, uint64_t since_ns)
{
	return arbiter_max(since_ns, arbiter->contended_since_ns);
}

/*
 * Time in the turn in which the device did not work for the holder. A synchronous program has gaps
 * between its units: a turn may contain as much idle time as device time. So may the time from the
 * grant to the first submission, about hold_min_ns. All other time in which the holder reported
 * work counts, because a page that always reports some would take others' time without end.
 */
static uint64_t unused_ns(const struct arbiter *arbiter)
{
	const struct arbiter_turn *turn = &arbiter->turn;
	uint64_t held_ns = arbiter->now_ns - contested_since(arbiter, turn->began_ns);
	uint64_t gaps_ns = turn->idle_ns + arbiter->options.hold_min_ns;
	uint64_t excused_ns = turn->used_ns + arbiter_min(gaps_ns, turn->used_ns);

	return held_ns - arbiter_min(excused_ns, held_ns);
}

/*
 * A holder that submits little or nothing keeps the device from others. If only device time
 * counted, it would have the least tag again and again. So unused time counts in the discipline,
 * not in the device time.
 */
static void charge_waste(struct arbiter *arbiter)
{
	const struct arbiter_turn *turn = &arbiter->turn;
	struct arbiter_tenant *tenant = turn->tenant;
	uint64_t wasted_ns = unused_ns(arbiter);
	/* While the device worked for other tenants, the holder could not use it. */
	uint64_t others_ns = arbiter->busy_ns - arbiter->busy_before_ns - turn->used_ns;

	if (!arbiter->contended)
		return;
	wasted_ns -= arbiter_min(wasted_ns, others_ns);
	tenant->suspect = wasted_ns >= arbiter->options.lease_ns / 2;
	if (wasted_ns == 0)
		return;
	wasted_ns = arbiter_min(wasted_ns, ARBITER_CHARGE_MAX_NS);
	tenant->wasted_ns += wasted_ns;
	if (arbiter->discipline->rule->charge)
		arbiter->discipline->rule->charge(arbiter, tenant, wasted_ns, 0);
}

static void finish(struct arbiter *arbiter, enum arbiter_reason reason)
{
	struct arbiter_turn *turn = &arbiter->turn;
	struct arbiter_tenant *tenant = turn->tenant;

	charge_waste(arbiter);
	if (turn->used_ns > turn->slice_ns)
		tenant->over_run_ns += turn->used_ns - turn->slice_ns;
	arbiter->last = tenant;
	*turn = (struct arbiter_turn){.id = turn->id, .reason = reason};
	if (arbiter->discipline->rule->end)
		arbiter->discipline->rule->end(arbiter, tenant);
}

void arbiter_remove(struct arbiter *arbiter, struct arbiter_tenant *tenant, uint64_t now_ns)
{
	static const struct arbiter_share none = {.weight = ARBITER_WEIGHT_MIN};

	arbiter_idle(arbiter, tenant, now_ns);
	if (arbiter_holds(arbiter, tenant))
		finish(arbiter, ARBITER_REASON_REMOVED);
	apply_share(arbiter, tenant, &none);
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
	advance(arbiter, now_ns);
	apply_share(arbiter, tenant, share);
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
	rested = is_rested(arbiter, tenant, gap_ns);
	if (gap_ns <= arbiter->options.idle_max_ns)
		tenant->gap_ns = tenant->gap_ns - tenant->gap_ns / 4 + gap_ns / 4;
	return rested;
}

void arbiter_want(struct arbiter *arbiter, struct arbiter_tenant *tenant, uint64_t in_flight_ns,
		  uint64_t now_ns)
{
	const struct arbiter_rule *rule = arbiter->discipline->rule;
	bool rested;

	advance(arbiter, now_ns);
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
	advance(arbiter, now_ns);
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

void arbiter_charge(struct arbiter *arbiter, struct arbiter_tenant *tenant, uint64_t device_ns,
		    uint32_t units, uint64_t now_ns)
{
	advance(arbiter, now_ns);
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

static bool another_can_run(const struct arbiter *arbiter)
{
	ARBITER_FOR_EACH (tenant, arbiter)
		if (!arbiter_holds(arbiter, tenant) && arbiter_can_run(arbiter, tenant))
			return true;
	return false;
}

static void see_contention(struct arbiter *arbiter)
{
	bool contended = another_can_run(arbiter);

	if (contended && !arbiter->contended)
		arbiter->contended_since_ns = arbiter->now_ns;
	arbiter->contended = contended;
}

/*
 * Without contention the slice moves on with the used time, so that a lone tenant never drains.
 * When another tenant wants the device, a holder that has used its normal slice has had its turn.
 */
static void set_limits(struct arbiter *arbiter)
{
	const struct arbiter_rule *rule = arbiter->discipline->rule;
	struct arbiter_turn *turn = &arbiter->turn;
	uint64_t left_ns = cap_left_ns(turn->tenant);

	if (arbiter->contended) {
		/* What was used of a stretched slice is no over-run. */
		turn->slice_ns =
			arbiter_max(arbiter->base_ns, arbiter_min(turn->used_ns, turn->slice_ns));
		turn->units = rule->units;
	} else {
		turn->slice_ns =
			turn->used_ns + arbiter_max(arbiter->options.stretch_ns, arbiter->base_ns);
		turn->units = 0;
	}
	if (left_ns != ARBITER_NEVER)
		turn->slice_ns = arbiter_min(turn->slice_ns, turn->used_ns + left_ns);
	turn->units_in_flight = rule->units_in_flight;
	turn->in_flight_ns = arbiter->options.in_flight_ns;
}

static uint64_t idle_end_ns(const struct arbiter *arbiter)
{
	const struct arbiter_tenant *holder = arbiter->turn.tenant;

	return arbiter_max(holder->changed_at_ns, arbiter->turn.began_ns) +
	       hold_ns(arbiter, holder);
}

/* A holder that submits slowly, or whose device time is not reported, must not keep the device. */
static uint64_t time_end_ns(const struct arbiter *arbiter)
{
	return contested_since(arbiter, arbiter->turn.began_ns) + 2 * arbiter->base_ns;
}

static uint64_t lease_end_ns(const struct arbiter *arbiter)
{
	const struct arbiter_turn *turn = &arbiter->turn;
	uint64_t since_ns = turn->state == ARBITER_DRAIN
				    ? turn->drains_since_ns
				    : arbiter_max(turn->began_ns, turn->tenant->seen_ns);

	return contested_since(arbiter, since_ns) + arbiter->options.lease_ns;
}

static bool is_used(const struct arbiter *arbiter)
{
	const struct arbiter_rule *rule = arbiter->discipline->rule;
	const struct arbiter_turn *turn = &arbiter->turn;

	if (turn->used_ns + turn->tenant->in_flight_ns >= turn->slice_ns)
		return true;
	if (turn->units > 0 && turn->units_used >= turn->units)
		return true;
	return (rule->is_spent && rule->is_spent(turn->tenant)) ||
	       arbiter->now_ns >= time_end_ns(arbiter);
}

static enum arbiter_reason why_end(const struct arbiter *arbiter)
{
	const struct arbiter_turn *turn = &arbiter->turn;

	if (cap_left_ns(turn->tenant) <= turn->tenant->in_flight_ns)
		return ARBITER_REASON_CAP;
	if (!arbiter->contended)
		return ARBITER_REASON_NONE;
	if (!turn->tenant->wants && arbiter->now_ns >= idle_end_ns(arbiter))
		return ARBITER_REASON_IDLE;
	return is_used(arbiter) ? ARBITER_REASON_SLICE : ARBITER_REASON_NONE;
}

static void revoke(struct arbiter *arbiter)
{
	struct arbiter_tenant *holder = arbiter->turn.tenant;

	holder->revoked++;
	holder->stalled = true;
	holder->unfinished = holder->in_flight_ns > 0;
	finish(arbiter, ARBITER_REASON_REVOKED);
}

/*
 * The time of the turn is over, and its holder, which was probably stopped, has not noticed it. It
 * may have work in flight from an earlier turn, whose end it has not reported.
 */
static bool is_unnoticed(const struct arbiter *arbiter)
{
	const struct arbiter_turn *turn = &arbiter->turn;

	return arbiter->contended && arbiter->now_ns >= time_end_ns(arbiter) &&
	       turn->tenant->seen_ns <= turn->began_ns && turn->used_ns == 0 &&
	       turn->tenant->in_flight_ns <= arbiter->in_flight_before_ns;
}

static void review(struct arbiter *arbiter)
{
	struct arbiter_turn *turn = &arbiter->turn;

	if (turn->state == ARBITER_RUN) {
		set_limits(arbiter);
		turn->reason = why_end(arbiter);
		if (turn->reason != ARBITER_REASON_NONE) {
			turn->state = ARBITER_DRAIN;
			turn->drains_since_ns = arbiter->now_ns;
		}
	}
	if (is_unnoticed(arbiter) ||
	    (arbiter->contended && arbiter->now_ns >= lease_end_ns(arbiter)))
		revoke(arbiter);
}

static void begin(struct arbiter *arbiter)
{
	const struct arbiter_rule *rule = arbiter->discipline->rule;
	struct arbiter_tenant *tenant = rule->choose(arbiter);

	arbiter->turn = (struct arbiter_turn){
		.tenant = tenant,
		.state = ARBITER_RUN,
		.id = arbiter->turn.id + 1,
		.began_ns = arbiter->now_ns,
	};
	tenant->turns++;
	arbiter->busy_before_ns = arbiter->busy_ns;
	arbiter->in_flight_before_ns = tenant->in_flight_ns;
	arbiter->base_ns = rule->slice ? rule->slice(arbiter, tenant) : arbiter->options.slice_ns;
	see_contention(arbiter);
	set_limits(arbiter);
}

bool arbiter_pick(struct arbiter *arbiter, uint64_t now_ns, struct arbiter_turn *ret_turn)
{
	advance(arbiter, now_ns);
	see_contention(arbiter);
	if (arbiter->turn.state != ARBITER_FREE)
		review(arbiter);
	if (arbiter->turn.state == ARBITER_FREE && another_can_run(arbiter))
		begin(arbiter);
	if (ret_turn)
		*ret_turn = arbiter->turn;
	return arbiter->turn.state != ARBITER_FREE;
}

void arbiter_end_turn(struct arbiter *arbiter, uint64_t now_ns)
{
	advance(arbiter, now_ns);
	if (arbiter->turn.state == ARBITER_RUN)
		finish(arbiter, ARBITER_REASON_YIELDED);
	else if (arbiter->turn.state == ARBITER_DRAIN)
		finish(arbiter, arbiter->turn.reason);
}

/* Returns when the next tenant that waits for its cap, or as a suspect, can run. */
static uint64_t next_budget_ns(const struct arbiter *arbiter)
{
	uint64_t next_ns = ARBITER_NEVER;

	ARBITER_FOR_EACH (tenant, arbiter) {
		unsigned int cap = tenant->share.cap_pct;
		uint64_t missing, at_ns;

		if (!tenant->wants || tenant->stalled || tenant->unfinished ||
		    arbiter_holds(arbiter, tenant))
			continue;
		if (arbiter_can_run(arbiter, tenant))
			return arbiter->now_ns;
		at_ns = suspect_until_ns(arbiter, tenant);
		if (cap > 0 && tenant->cap_budget < arbiter_budget_min(arbiter, cap)) {
			missing = (uint64_t)(arbiter_budget_min(arbiter, cap) - tenant->cap_budget);
			at_ns = arbiter_max(at_ns, arbiter->now_ns + (missing + cap - 1) / cap);
		}
		next_ns = arbiter_min(next_ns, at_ns);
	}
	return next_ns;
}

/*
 * The used time may not have been reported yet. Near the end of the slice, the time to the next
 * event does not become shorter and shorter.
 */
static uint64_t slice_event_ns(const struct arbiter *arbiter)
{
	const struct arbiter_turn *turn = &arbiter->turn;
	uint64_t least_ns = arbiter_max(arbiter->base_ns / 64, 1);
	uint64_t left_ns = turn->used_ns < turn->slice_ns ? turn->slice_ns - turn->used_ns : 0;

	/* Half of a stretched slice: a lone tenant must get more before it has used it. */
	if (!arbiter->contended && cap_left_ns(turn->tenant) == ARBITER_NEVER)
		left_ns /= 2;
	return arbiter->now_ns + arbiter_max(left_ns, least_ns);
}

uint64_t arbiter_next_event_ns(const struct arbiter *arbiter)
{
	const struct arbiter_turn *turn = &arbiter->turn;
	uint64_t next_ns;

	if (turn->state == ARBITER_FREE)
		return next_budget_ns(arbiter);
	next_ns = arbiter->contended ? lease_end_ns(arbiter) : next_budget_ns(arbiter);
	if (turn->state == ARBITER_RUN) {
		if (turn->tenant->wants)
			next_ns = arbiter_min(next_ns, slice_event_ns(arbiter));
		else if (arbiter->contended)
			next_ns = arbiter_min(next_ns, idle_end_ns(arbiter));
		if (arbiter->contended)
			next_ns = arbiter_min(next_ns, time_end_ns(arbiter));
	}
	return arbiter_max(next_ns, arbiter->now_ns);
}

const struct arbiter_discipline arbiter_disciplines[] = {
	{"fair", "shares in proportion to weights; idle time is shared", true, &arbiter_rule_fair},
	{"cap", "caps are hard limits; idle time stays unused", false, &arbiter_rule_cap},
	{"guarantee", "guaranteed shares first; the rest is shared by weight", true,
	 &arbiter_rule_guarantee},
	{"credit", "credit in proportion to weights every 30 ms, as in Xen", true,
	 &arbiter_rule_credit},
	{"vmcg", "rounds of slices and credits by measured load, as in VMCG", true,
	 &arbiter_rule_vmcg},
	{"rr", "round robin with slices in proportion to weights", true, &arbiter_rule_rr},
	{"fcfs", "one unit after the other in the order of requests", true, &arbiter_rule_fcfs},
	{NULL, NULL, false, NULL},
};

static bool same_name(const char *a, const char *b)
{
	while (*a != '\0' && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

const struct arbiter_discipline *arbiter_discipline_find(const char *name)
{
	const struct arbiter_discipline *discipline;

	for (discipline = arbiter_disciplines; discipline->name; discipline++)
		if (same_name(discipline->name, name))
			return discipline;
	return NULL;
}
