/* SPDX-License-Identifier: MIT */
/*
 * The life of a turn: it begins, its limits follow what is reported, it drains, it ends. FairGV
 * 3.2.2 (a holder without work yields after a limit) and 3.3.2 (a holder that has used its slice
 * releases the device); the lease is our own.
 */
#include "compute/arbiter/rule.h"

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
	uint64_t left_ns = arbiter_cap_left_ns(turn->tenant);

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

/* The times below are counted from the beginning of contention, because without it none matters. */
static uint64_t contested_since(const struct arbiter *arbiter, uint64_t since_ns)
{
	return arbiter_max(since_ns, arbiter->contended_since_ns);
}

static uint64_t idle_end_ns(const struct arbiter *arbiter)
{
	const struct arbiter_tenant *holder = arbiter->turn.tenant;

	return arbiter_max(holder->changed_at_ns, arbiter->turn.began_ns) +
	       arbiter_hold_ns(arbiter, holder);
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

	if (arbiter_cap_left_ns(turn->tenant) <= turn->tenant->in_flight_ns)
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
	arbiter_finish(arbiter, ARBITER_REASON_REVOKED);
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
	arbiter_advance(arbiter, now_ns);
	see_contention(arbiter);
	if (arbiter->turn.state != ARBITER_FREE)
		review(arbiter);
	if (arbiter->turn.state == ARBITER_FREE && another_can_run(arbiter))
		begin(arbiter);
	if (ret_turn)
		*ret_turn = arbiter->turn;
	return arbiter->turn.state != ARBITER_FREE;
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

void arbiter_finish(struct arbiter *arbiter, enum arbiter_reason reason)
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

void arbiter_end_turn(struct arbiter *arbiter, uint64_t now_ns)
{
	arbiter_advance(arbiter, now_ns);
	if (arbiter->turn.state == ARBITER_RUN)
		arbiter_finish(arbiter, ARBITER_REASON_YIELDED);
	else if (arbiter->turn.state == ARBITER_DRAIN)
		arbiter_finish(arbiter, arbiter->turn.reason);
}

void arbiter_revoke(struct arbiter *arbiter, struct arbiter_tenant *tenant, uint64_t now_ns)
{
	arbiter_advance(arbiter, now_ns);
	if (arbiter_holds(arbiter, tenant))
		revoke(arbiter);
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
		at_ns = arbiter_suspect_until_ns(arbiter, tenant);
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
	if (!arbiter->contended && arbiter_cap_left_ns(turn->tenant) == ARBITER_NEVER)
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
