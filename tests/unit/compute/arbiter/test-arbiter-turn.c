/* SPDX-License-Identifier: MIT */
/* The arbiter: the life of a turn, leases, idle periods. */
#include "tests/unit/compute/arbiter/test-arbiter-rig.h"
#include "tests/unit/unit.h"

static const struct arbiter_share one = {.weight = 1};

TEST(without_requests_no_tenant_has_the_turn)
{
	struct arbiter_turn turn;

	rig_start("fair");
	assert_false(arbiter_pick(&rig.arbiter, rig.now_ns, &turn));
	assert_int_equal(turn.state, ARBITER_FREE);
	assert_null(turn.tenant);
	rig_add(one, 0);
	assert_false(arbiter_pick(&rig.arbiter, rig.now_ns, NULL));
	assert_true(arbiter_next_event_ns(&rig.arbiter) == ARBITER_NEVER);
	arbiter_end_turn(&rig.arbiter, rig.now_ns);
	assert_int_equal(rig.arbiter.turn.id, 0);
}

TEST(a_contended_turn_has_the_slice_and_drains_when_it_is_used)
{
	struct arbiter_tenant *holder, *other;
	struct arbiter_turn turn;

	holder = rig_begin("fair", 2);
	other = other_of(holder);
	turn = pick_after(0);
	assert_int_equal(turn.id, 1);
	assert_int_equal(turn.slice_ns, SLICE);
	assert_int_equal(turn.in_flight_ns, 2 * SLICE);
	assert_int_equal(arbiter_next_event_ns(&rig.arbiter), rig.now_ns + SLICE);
	arbiter_charge(&rig.arbiter, holder, SLICE - 2, 1, rig.now_ns + SLICE);
	arbiter_want(&rig.arbiter, holder, 1, rig.now_ns + SLICE);
	turn = pick_after(SLICE);
	assert_int_equal(turn.state, ARBITER_RUN);
	arbiter_want(&rig.arbiter, holder, 2, rig.now_ns);
	turn = pick_after(0);
	assert_int_equal(turn.state, ARBITER_DRAIN);
	assert_int_equal(turn.reason, ARBITER_REASON_SLICE);
	assert_ptr_equal(turn.tenant, holder);
	assert_int_equal(arbiter_next_event_ns(&rig.arbiter), rig.now_ns + LEASE);
	arbiter_charge(&rig.arbiter, holder, 5, 1, rig.now_ns);
	arbiter_want(&rig.arbiter, holder, 0, rig.now_ns);
	arbiter_end_turn(&rig.arbiter, rig.now_ns);
	assert_int_equal(holder->over_run_ns, 3);
	turn = pick_after(0);
	assert_ptr_equal(turn.tenant, other);
	assert_int_equal(turn.id, 2);
	assert_int_equal(holder->busy_ns, SLICE + 3);
}

TEST(the_slice_of_a_lone_tenant_is_stretched_and_never_drains)
{
	struct arbiter_tenant *holder;
	struct arbiter_turn turn;

	holder = rig_begin("fair", 1);
	turn = pick_after(0);
	assert_int_equal(turn.slice_ns, 100 * NS_PER_MS);
	assert_int_equal(arbiter_next_event_ns(&rig.arbiter), rig.now_ns + 50 * NS_PER_MS);
	for (int i = 0; i < 100; i++) {
		arbiter_charge(&rig.arbiter, holder, 50 * NS_PER_MS, 5, rig.now_ns);
		turn = pick_after(50 * NS_PER_MS);
		assert_int_equal(turn.state, ARBITER_RUN);
		assert_int_equal(turn.id, 1);
		assert_int_equal(turn.slice_ns - turn.used_ns, 100 * NS_PER_MS);
	}
	rig_add(one, UNIT);
	turn = pick_after(0);
	assert_int_equal(turn.state, ARBITER_DRAIN);
	arbiter_end_turn(&rig.arbiter, rig.now_ns);
	assert_int_equal(holder->over_run_ns, 0);
	assert_ptr_equal(pick_after(0).tenant, &rig.tenants[1]);
}

TEST(a_newcomer_waits_for_the_rest_of_a_slice_only)
{
	struct arbiter_tenant *holder;
	struct arbiter_turn turn;

	holder = rig_begin("fair", 1);
	arbiter_charge(&rig.arbiter, holder, SLICE / 3, 5, rig.now_ns);
	rig_add(one, UNIT);
	turn = pick_after(0);
	assert_int_equal(turn.state, ARBITER_RUN);
	assert_int_equal(turn.slice_ns, SLICE);
	/* The time without contention does not count for the limit of twice the slice. */
	assert_int_equal(pick_after(2 * SLICE - 1).state, ARBITER_RUN);
	assert_int_equal(pick_after(1).state, ARBITER_DRAIN);
}

TEST(a_holder_that_stops_loses_its_turn_when_the_lease_is_over)
{
	struct arbiter_tenant *holder, *other;
	struct arbiter_turn turn;
	uint64_t begun_ns;

	holder = rig_begin("fair", 2);
	other = other_of(holder);
	begun_ns = rig.now_ns;
	arbiter_want(&rig.arbiter, holder, 2 * SLICE, rig.now_ns);
	assert_int_equal(pick_after(0).state, ARBITER_DRAIN);
	assert_ptr_equal(pick_after(LEASE - 1).tenant, holder);
	turn = pick_after(1);
	assert_ptr_equal(turn.tenant, other);
	assert_true(rig.now_ns - begun_ns <= SLICE + 100 * NS_PER_MS);
	assert_int_equal(holder->revoked, 1);
	/* It gets no turn before it shows a sign of life and its work has finished. */
	arbiter_end_turn(&rig.arbiter, rig.now_ns);
	assert_ptr_equal(pick_after(0).tenant, other);
	arbiter_charge(&rig.arbiter, holder, 0, 1, rig.now_ns);
	arbiter_end_turn(&rig.arbiter, rig.now_ns);
	assert_ptr_equal(pick_after(0).tenant, other);
	arbiter_want(&rig.arbiter, holder, 0, rig.now_ns);
	/* The time for which it kept the device counts as used. */
	assert_int_equal(holder->wasted_ns, LEASE);
	arbiter_charge(&rig.arbiter, other, LEASE - 1, 1, rig.now_ns);
	arbiter_end_turn(&rig.arbiter, rig.now_ns);
	assert_ptr_equal(pick_after(0).tenant, other);
	arbiter_charge(&rig.arbiter, other, 2, 1, rig.now_ns);
	arbiter_end_turn(&rig.arbiter, rig.now_ns);
	assert_ptr_equal(pick_after(0).tenant, holder);
}

TEST(a_holder_with_false_reports_loses_its_turn)
{
	struct arbiter_tenant *holder;
	uint64_t begun_ns;

	holder = rig_begin("fair", 2);
	begun_ns = rig.now_ns;
	while (pick_after(NS_PER_MS).tenant == holder)
		arbiter_want(&rig.arbiter, holder, 1, rig.now_ns);

	assert_true(rig.now_ns - begun_ns <= SLICE + 100 * NS_PER_MS);
}

TEST(a_holder_that_is_alive_and_submits_nothing_drains)
{
	struct arbiter_tenant *holder = rig_begin("fair", 2);

	pick_after(SLICE);
	arbiter_charge(&rig.arbiter, holder, 0, 1, rig.now_ns);
	assert_int_equal(pick_after(SLICE).state, ARBITER_DRAIN);
	assert_int_equal(holder->revoked, 0);
}

TEST(without_contention_a_silent_holder_keeps_its_turn)
{
	struct arbiter_tenant *holder = rig_begin("fair", 1);

	assert_ptr_equal(pick_after(10 * LEASE).tenant, holder);
	rig_add(one, UNIT);
	assert_ptr_equal(pick_after(0).tenant, holder);
	assert_ptr_equal(pick_after(2 * SLICE - 1).tenant, holder);
	/* It has not noticed its turn. */
	assert_ptr_equal(pick_after(1).tenant, &rig.tenants[1]);
	assert_int_equal(holder->revoked, 1);
}

TEST(a_silent_holder_with_work_of_an_earlier_turn_loses_its_turn)
{
	struct arbiter_tenant *silent, *other;

	other = rig_begin("fair", 2);
	silent = other_of(other);
	/* Its last turn ended shortly before its work, and it was stopped then. */
	arbiter_want(&rig.arbiter, silent, UNIT, rig.now_ns);
	arbiter_charge(&rig.arbiter, other, SLICE, 1, rig.now_ns + 1);
	rig.now_ns += SLICE;
	assert_ptr_equal(rig_turn().tenant, silent);
	assert_ptr_equal(pick_after(2 * SLICE - 1).tenant, silent);
	assert_ptr_equal(pick_after(1).tenant, other);
	assert_true(silent->revoked == 1 && silent->unfinished);
}

TEST(a_removed_holder_is_followed_at_once)
{
	struct arbiter_tenant *holder = rig_begin("fair", 2), *other = other_of(holder);

	arbiter_remove(&rig.arbiter, holder, rig.now_ns);
	assert_int_equal(rig.arbiter.turn.reason, ARBITER_REASON_REMOVED);
	assert_ptr_equal(pick_after(0).tenant, other);
	arbiter_remove(&rig.arbiter, other, rig.now_ns);
	assert_int_equal(rig.arbiter.n_tenants, 0);
	assert_null(pick_after(0).tenant);
}

TEST(an_idle_holder_keeps_its_turn_for_a_short_time)
{
	struct arbiter_tenant *holder = rig_begin("fair", 2), *other = other_of(holder);

	arbiter_idle(&rig.arbiter, holder, rig.now_ns);
	assert_int_equal(pick_after(0).state, ARBITER_RUN);
	assert_int_equal(arbiter_next_event_ns(&rig.arbiter), rig.now_ns + 100 * US);
	assert_int_equal(pick_after(100 * US - 1).state, ARBITER_RUN);
	assert_int_equal(pick_after(1).reason, ARBITER_REASON_IDLE);
	assert_ptr_equal(rig_turn().tenant, other);
	/* Without contention, it keeps the turn. */
	arbiter_idle(&rig.arbiter, other, rig.now_ns);
	assert_ptr_equal(pick_after(NS_PER_S).tenant, other);
	assert_true(arbiter_next_event_ns(&rig.arbiter) == ARBITER_NEVER);
	rig_wake(holder);
	assert_ptr_equal(rig_turn().tenant, holder);
}

/* How long an idle holder keeps its turn after gaps of @gap_ns. */
static uint64_t hold_after(uint64_t gap_ns)
{
	struct arbiter_tenant *holder;
	uint64_t since_ns;

	holder = rig_begin("fair", 1);
	for (int i = 0; i < 40; i++) {
		arbiter_idle(&rig.arbiter, holder, rig.now_ns);
		rig.now_ns += gap_ns;
		rig_wake(holder);
	}
	arbiter_idle(&rig.arbiter, holder, rig.now_ns);
	rig_add(one, UNIT);
	since_ns = rig.now_ns;
	while (pick_after(10 * US).state == ARBITER_RUN)
		continue;
	return rig.now_ns - since_ns;
}

TEST(the_time_an_idle_holder_keeps_follows_its_gaps)
{
	assert_int_equal(hold_after(10 * US), 100 * US);
	assert_near(hold_after(200 * US), 400 * US, 20 * US);
	assert_int_equal(hold_after(400 * US), 500 * US);
	/* To wait for longer gaps would waste the device. */
	assert_int_equal(hold_after(600 * US), 100 * US);
	assert_int_equal(hold_after(NS_PER_S), 100 * US);
}

/*
 * The share in per mille of a tenant beside a saturating one of the same weight, where after each
 * two slices its host thread does not run for @gap_ns, of which @excused_ns are reported.
 */
static unsigned int share_with_gaps(uint64_t gap_ns, uint64_t excused_ns)
{
	struct arbiter_tenant *gappy, *other;
	uint64_t used_ns = 0, wakes_ns = 0, end_ns;

	rig_start("fair");
	gappy = rig_add(one, UNIT);
	other = rig_add(one, UNIT);
	end_ns = rig.now_ns + 20 * NS_PER_S;
	while (rig.now_ns < end_ns) {
		if (!gappy->wants && rig.now_ns >= wakes_ns) {
			arbiter_excuse(gappy, excused_ns);
			rig_wake(gappy);
			used_ns = gappy->busy_ns;
		}
		rig_step(gappy->wants ? end_ns : wakes_ns);
		if (gappy->wants && gappy->busy_ns >= used_ns + 2 * SLICE) {
			rig_stop(gappy);
			wakes_ns = rig.now_ns + gap_ns;
		}
	}
	return (unsigned int)(gappy->busy_ns * 1000 / (gappy->busy_ns + other->busy_ns));
}

TEST(a_short_gap_keeps_the_credit_and_an_idle_period_does_not)
{
	/* The other tenant runs for exactly two slices in each gap. */
	assert_in_range(share_with_gaps(8 * NS_PER_MS, 8 * NS_PER_MS), 485, 515);
	/* The limit adapts to gaps that are not reported. */
	assert_in_range(share_with_gaps(8 * NS_PER_MS, 0), 485, 515);
	/* Five slices in each gap. */
	assert_in_range(share_with_gaps(30 * NS_PER_MS, 30 * NS_PER_MS), 280, 292);
	/* A tenant that rested lets the other run once more in each round. */
	assert_in_range(share_with_gaps(30 * NS_PER_MS, 0), 240, 262);
}

TEST(an_idle_time_gives_no_advantage)
{
	struct arbiter_tenant *busy, *rested;

	rig_start("fair");
	busy = rig_add(one, UNIT);
	rested = rig_add(one, UNIT);
	rig_run(NS_PER_S);
	rig_stop(rested);
	rig_run(5 * NS_PER_S);
	assert_near(busy->busy_ns, 5500 * NS_PER_MS, 2 * SLICE);
	rig_wake(rested);
	rig_run(NS_PER_S);
	assert_near(rested->busy_ns, NS_PER_S, 2 * SLICE);
	assert_near(busy->busy_ns, 6 * NS_PER_S, 2 * SLICE);
}

TEST(short_gaps_do_not_add_up_to_a_claim)
{
	struct arbiter_tenant *sly;
	uint64_t before_ns;

	rig_start("fair");
	sly = rig_add(one, 0);
	rig_add(one, UNIT);
	rig.unit_ns[0] = UNIT;
	for (int i = 0; i < 10000; i++) {
		rig_wake(sly);
		rig_step(rig.now_ns + NS_PER_MS);
		rig_stop(sly);
		rig_run(1800 * US);
	}
	rig_wake(sly);
	before_ns = sly->busy_ns;
	rig_run(NS_PER_S);
	assert_near(sly->busy_ns - before_ns, NS_PER_S / 2, 20 * NS_PER_MS + SLICE);
}

TEST(a_capped_tenant_leaves_no_debt_to_a_newcomer)
{
	struct arbiter_tenant *late;

	rig_start("fair");
	rig_add((struct arbiter_share){1, 10, 0}, UNIT);
	rig_add(one, UNIT);
	rig_run(100 * NS_PER_S);
	late = rig_add(one, UNIT);
	rig_run(NS_PER_S);
	assert_near(late->busy_ns, 450 * NS_PER_MS, 3 * SLICE);
}

TEST(an_over_run_is_paid_back)
{
	struct arbiter_tenant *greedy, *other;

	rig_start("fair");
	greedy = rig_add(one, UNIT);
	other = rig_add(one, UNIT);
	rig_turn();
	rig.now_ns += 400 * NS_PER_MS;
	arbiter_charge(&rig.arbiter, greedy, 400 * NS_PER_MS, 1, rig.now_ns);
	rig_wake(other); /* a sign of life: only greedy was delayed */
	rig_run(400 * NS_PER_MS);
	assert_near(other->busy_ns, 400 * NS_PER_MS, SLICE);
	rig_run(200 * NS_PER_MS);
	assert_near(greedy->busy_ns, other->busy_ns, 2 * SLICE);
}

TEST(tags_may_wrap_around)
{
	rig_start("fair");
	rig.arbiter.virtual_ns = UINT64_MAX - (NS_PER_S << 20);
	rig_add(one, UNIT);
	rig_add((struct arbiter_share){.weight = 3}, UNIT);
	rig_run(8 * NS_PER_S);
	assert_true(rig.arbiter.virtual_ns < UINT64_MAX / 2);
	assert_near(rig.tenants[0].busy_ns, 2 * NS_PER_S, 2 * SLICE);
}

/* At weight 1, the difference of two tags would overflow after 2.4 hours. */
TEST(after_hours_a_tenant_that_wakes_gets_its_share)
{
	struct arbiter_tenant *busy, *late;

	rig_start("fair");
	busy = rig_add(one, UNIT);
	late = rig_add(one, 0);
	rig.unit_ns[1] = UNIT;
	rig_turn();
	for (int i = 0; i < 5 * 36000; i++) {
		rig.now_ns += 100 * NS_PER_MS;
		arbiter_charge(&rig.arbiter, busy, 100 * NS_PER_MS, 1, rig.now_ns);
	}
	rig_wake(late);
	rig_run(NS_PER_S);
	assert_near(late->busy_ns, NS_PER_S / 2, 2 * SLICE);
}

TEST(a_turn_can_be_yielded)
{
	struct arbiter_tenant *holder = rig_begin("fair", 2);

	arbiter_charge(&rig.arbiter, holder, 1, 1, rig.now_ns);
	arbiter_end_turn(&rig.arbiter, rig.now_ns);
	assert_int_equal(rig.arbiter.turn.reason, ARBITER_REASON_YIELDED);
	assert_ptr_equal(pick_after(0).tenant, other_of(holder));
}

TEST(a_changed_discipline_drains_the_turn)
{
	rig_begin("fair", 2);
	rig_run(NS_PER_S);
	rig_turn();
	arbiter_set_discipline(&rig.arbiter, arbiter_discipline_find("fcfs"), rig.now_ns);
	assert_int_equal(pick_after(0).state, ARBITER_DRAIN);
	rig_run(NS_PER_S);
	assert_near(rig.tenants[0].busy_ns, NS_PER_S, 2 * SLICE);
}

TEST(a_clock_that_goes_back_is_ignored)
{
	struct arbiter_tenant *holder = rig_begin("fair", 2);

	arbiter_pick(&rig.arbiter, 0, NULL);
	assert_int_equal(rig.arbiter.now_ns, rig.now_ns);
	arbiter_charge(&rig.arbiter, holder, 1, 1, 7);
	assert_ptr_equal(pick_after(0).tenant, holder);
	assert_int_equal(holder->wait_ns, 0);
	pick_after(100);
	assert_int_equal(other_of(holder)->wait_ns, 100);
}
