/* SPDX-License-Identifier: MIT */
/*
 * The arbiter: turns, leases, idle periods, the shares of each discipline, and exact values. A
 * tenant of the rig always has work or none, its units have one length, and one unit is in flight
 * at a time.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "compute/arbiter/arbiter.h"
#include "tests/unit/unit.h"

#define RIG_TENANTS 8
#define US	    1000ULL
#define UNIT	    (200 * US)
#define SLICE	    (6 * NS_PER_MS)
#define LEASE	    (80 * NS_PER_MS)

struct rig {
	uint64_t now_ns;
	struct arbiter arbiter;
	struct arbiter_tenant tenants[RIG_TENANTS];
	uint64_t unit_ns[RIG_TENANTS];
	int n;
	uint64_t idle_ns; /* time without a turn */
};

static struct rig rig;

static void rig_start(const char *discipline)
{
	memset(&rig, 0, sizeof(rig));
	rig.now_ns = 1000 * NS_PER_S;
	arbiter_start(&rig.arbiter, arbiter_discipline_find(discipline), NULL, rig.now_ns);
}

static struct arbiter_tenant *rig_add(struct arbiter_share share, uint64_t unit_ns)
{
	struct arbiter_tenant *tenant = &rig.tenants[rig.n];

	rig.unit_ns[rig.n++] = unit_ns;
	arbiter_add(&rig.arbiter, tenant, &share, rig.now_ns);
	if (unit_ns > 0)
		arbiter_want(&rig.arbiter, tenant, 0, rig.now_ns);
	return tenant;
}

/* Returns the turn, after a turn that drains has ended. */
static struct arbiter_turn rig_turn(void)
{
	struct arbiter_turn turn;

	arbiter_pick(&rig.arbiter, rig.now_ns, &turn);
	if (turn.state == ARBITER_DRAIN) {
		arbiter_end_turn(&rig.arbiter, rig.now_ns);
		arbiter_pick(&rig.arbiter, rig.now_ns, &turn);
		assert_int_not_equal(turn.state, ARBITER_DRAIN);
	}
	return turn;
}

/* Starts @n tenants of equal weight that always have work. Returns the one that has the turn. */
static struct arbiter_tenant *rig_begin(const char *discipline, int n)
{
	rig_start(discipline);
	while (n-- > 0)
		rig_add((struct arbiter_share){.weight = 1}, UNIT);
	return rig_turn().tenant;
}

/* Runs one unit, or until the next event. Returns the tenant that ran; NULL: the device idled. */
static struct arbiter_tenant *rig_step(uint64_t to_ns)
{
	struct arbiter_turn turn = rig_turn();
	uint64_t next_ns = arbiter_next_event_ns(&rig.arbiter);

	if (turn.state == ARBITER_RUN && turn.tenant->wants) {
		uint64_t unit_ns = rig.unit_ns[turn.tenant - rig.tenants];

		arbiter_want(&rig.arbiter, turn.tenant, unit_ns, rig.now_ns);
		rig.now_ns += unit_ns;
		arbiter_charge(&rig.arbiter, turn.tenant, unit_ns, 1, rig.now_ns);
		arbiter_want(&rig.arbiter, turn.tenant, 0, rig.now_ns);
		return turn.tenant;
	}
	next_ns = next_ns < to_ns ? next_ns : to_ns;
	assert_true(next_ns > rig.now_ns);
	rig.idle_ns += next_ns - rig.now_ns;
	rig.now_ns = next_ns;
	return NULL;
}

static void rig_run(uint64_t ns)
{
	uint64_t to_ns = rig.now_ns + ns;

	while (rig.now_ns < to_ns)
		rig_step(to_ns);
}

/* Runs for @ns. Returns the device time that @tenant got. */
static uint64_t gained(const struct arbiter_tenant *tenant, uint64_t ns)
{
	uint64_t before_ns = tenant->busy_ns;

	rig_run(ns);
	return tenant->busy_ns - before_ns;
}

static struct arbiter_tenant *other_of(const struct arbiter_tenant *tenant)
{
	return &rig.tenants[tenant == &rig.tenants[0]];
}

static struct arbiter_turn pick_after(uint64_t ns)
{
	struct arbiter_turn turn;

	rig.now_ns += ns;
	arbiter_pick(&rig.arbiter, rig.now_ns, &turn);
	return turn;
}

static void rig_stop(struct arbiter_tenant *tenant)
{
	arbiter_idle(&rig.arbiter, tenant, rig.now_ns);
}

static void rig_wake(struct arbiter_tenant *tenant)
{
	arbiter_want(&rig.arbiter, tenant, 0, rig.now_ns);
}

static void assert_near(uint64_t value, uint64_t want, uint64_t tolerance)
{
	assert_in_range(value, want > tolerance ? want - tolerance : 0, want + tolerance);
}

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
	assert_near(gained(sly, NS_PER_S), NS_PER_S / 2, 20 * NS_PER_MS + SLICE);
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

/*
 * Two tenants of equal weight. The first always requests the device and never submits. If
 * @false_reports, it reports work in flight in each turn and none after it. Returns what the second
 * gets, in percent.
 */
static unsigned int share_beside_a_waster(const char *discipline, bool false_reports)
{
	struct arbiter_tenant *waster, *other;
	uint64_t end_ns, next_ns;

	rig_start(discipline);
	waster = rig_add(one, UNIT);
	other = rig_add(one, UNIT);
	end_ns = rig.now_ns + 20 * NS_PER_S;
	while (rig.now_ns < end_ns) {
		struct arbiter_turn turn = pick_after(0);

		if (turn.tenant != waster) {
			arbiter_want(&rig.arbiter, waster, 0, rig.now_ns);
			rig_step(end_ns);
			continue;
		}
		if (false_reports)
			arbiter_want(&rig.arbiter, waster, NS_PER_S, rig.now_ns);
		if (turn.state == ARBITER_DRAIN && !false_reports) {
			arbiter_end_turn(&rig.arbiter, rig.now_ns);
			continue;
		}
		pick_after(0);
		next_ns = arbiter_next_event_ns(&rig.arbiter);
		pick_after(next_ns - rig.now_ns);
	}
	return (unsigned int)(other->busy_ns * 100 / (20 * NS_PER_S));
}

TEST(a_holder_that_submits_nothing_gets_no_more_than_its_share)
{
	assert_in_range(share_beside_a_waster("fair", false), 48, 52);
	assert_in_range(share_beside_a_waster("fair", true), 48, 52);
	assert_in_range(share_beside_a_waster("guarantee", true), 48, 52);
	assert_in_range(share_beside_a_waster("credit", false), 48, 60);
}

TEST(unused_time_of_a_turn_counts_except_gaps)
{
	/* In microseconds. The holder has work, none, and then a request without a submission. */
	static const struct {
		uint64_t used, idle, waits, wasted;
	} rows[] = {
		{3000, 0, 100, 0},     {3000, 2000, 0, 0},	 {3000, 4000, 0, 1000},
		{3000, 0, 2000, 1900}, {3000, 2000, 2000, 1900}, {3000, 4000, 2000, 3000},
		{0, 100, 5000, 5100},
	};

	for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
		struct arbiter_tenant *holder = rig_begin("fair", 2);

		rig.now_ns += rows[row].used * US;
		arbiter_charge(&rig.arbiter, holder, rows[row].used * US, 1, rig.now_ns);
		arbiter_idle(&rig.arbiter, holder, rig.now_ns);
		rig.now_ns += rows[row].idle * US;
		rig_wake(holder);
		rig.now_ns += rows[row].waits * US;
		arbiter_end_turn(&rig.arbiter, rig.now_ns);
		assert_int_equal(holder->wasted_ns, rows[row].wasted * US);
		assert_int_equal(holder->busy_ns, rows[row].used * US);
	}
}

TEST(a_tenant_that_wasted_a_lease_gets_no_turn_in_a_short_gap_of_others)
{
	struct arbiter_tenant *waster = rig_begin("fair", 2), *other = other_of(waster);

	arbiter_want(&rig.arbiter, waster, 2 * SLICE, rig.now_ns);
	pick_after(0);
	assert_ptr_equal(pick_after(LEASE).tenant, other);
	arbiter_want(&rig.arbiter, waster, 0, rig.now_ns);
	arbiter_idle(&rig.arbiter, other, rig.now_ns);
	arbiter_end_turn(&rig.arbiter, rig.now_ns);
	assert_null(pick_after(0).tenant);
	assert_int_equal(arbiter_next_event_ns(&rig.arbiter), rig.now_ns + 20 * NS_PER_MS);
	rig_wake(other);
	assert_ptr_equal(pick_after(NS_PER_MS).tenant, other);
	/* A real idle period is no gap. */
	arbiter_idle(&rig.arbiter, other, rig.now_ns);
	arbiter_end_turn(&rig.arbiter, rig.now_ns);
	assert_null(pick_after(20 * NS_PER_MS - 1).tenant);
	assert_ptr_equal(pick_after(1).tenant, waster);
	/* A turn that wastes little ends the suspicion. */
	rig_wake(other);
	arbiter_charge(&rig.arbiter, waster, SLICE, 1, rig.now_ns);
	assert_ptr_equal(rig_turn().tenant, other);
	arbiter_idle(&rig.arbiter, other, rig.now_ns);
	arbiter_end_turn(&rig.arbiter, rig.now_ns);
	assert_ptr_equal(pick_after(0).tenant, waster);
}

TEST(a_discipline_is_found_by_its_name)
{
	struct arbiter arbiter;

	for (const struct arbiter_discipline *d = arbiter_disciplines; d->name; d++) {
		assert_ptr_equal(arbiter_discipline_find(d->name), d);
		assert_true(strlen(d->text) > 0);
	}
	assert_null(arbiter_discipline_find("fai"));
	assert_null(arbiter_discipline_find("fairer"));
	assert_null(arbiter_discipline_find(""));
	arbiter_start(&arbiter, NULL, NULL, 0);
	assert_string_equal(arbiter.discipline->name, "fair");
}

/* Shares in tenths of a percent after 20 s, with the given tolerance. */
static const struct {
	const char *discipline;
	struct arbiter_share of[RIG_TENANTS];
	uint64_t unit_us[RIG_TENANTS];
	unsigned int expected[RIG_TENANTS];
	unsigned int tolerance;
} expectations[] = {
	{"fair", {{1, 0, 0}, {2, 0, 0}, {3, 0, 0}}, {200, 200, 200}, {167, 333, 500}, 2},
	{"fair", {{1, 0, 0}, {1, 0, 0}, {1, 0, 0}}, {200, 1000, 10000}, {333, 333, 333}, 2},
	{"fair", {{10000, 0, 0}, {1, 0, 0}}, {200, 10000}, {1000, 0}, 2},
	{"fair", {{0, 0, 0}, {100, 0, 0}}, {200, 200}, {500, 500}, 2},
	/* A cap on top of fair is hard; the others share the rest by weight. */
	{"fair", {{1, 20, 0}, {1, 0, 0}, {2, 0, 0}}, {200, 200, 200}, {200, 267, 533}, 2},
	{"fair", {{1, 30, 0}}, {200}, {300}, 2},
	{"fair", {{1, 30, 0}, {1, 70, 0}}, {200, 5000}, {300, 700}, 5},
	{"fair", {{1, 10, 0}, {1, 90, 0}}, {5000, 200}, {100, 900}, 5},
	{"fair", {{1, 50, 0}, {1, 0, 0}, {1, 0, 0}}, {200, 200, 200}, {333, 333, 333}, 2},
	{"cap", {{0, 30, 0}, {0, 70, 0}}, {200, 200}, {300, 700}, 5},
	{"cap", {{0, 10, 0}, {0, 90, 0}}, {200, 200}, {100, 900}, 5},
	{"cap", {{0, 10, 0}, {0, 90, 0}}, {10000, 1000}, {100, 900}, 5},
	{"cap", {{0, 1, 0}, {0, 20, 0}}, {200, 300}, {10, 200}, 2},
	{"cap", {{0, 20, 0}, {0, 0, 0}}, {200, 300}, {200, 800}, 5},
	/* The guarantee first, then equal parts of the rest. */
	{"guarantee", {{1, 0, 50}, {1, 0, 0}}, {200, 200}, {750, 250}, 5},
	{"guarantee", {{1, 0, 20}, {1, 0, 30}, {2, 0, 0}}, {200, 200, 200}, {325, 425, 250}, 5},
	{"guarantee", {{1, 0, 50}, {1, 0, 0}}, {10000, 200}, {750, 250}, 5},
	{"guarantee", {{1, 0, 10}, {9, 0, 90}}, {1000, 200}, {100, 900}, 5},
	{"guarantee", {{1, 0, 100}, {9, 0, 100}}, {1000, 200}, {500, 500}, 5},
	{"guarantee", {{1, 20, 50}, {1, 0, 0}}, {200, 200}, {200, 800}, 5},
	{"guarantee", {{1, 0, 10}}, {200}, {1000}, 0},
	{"rr", {{1, 0, 0}, {2, 0, 0}, {3, 0, 0}}, {200, 200, 200}, {167, 333, 500}, 5},
	/* rr does not charge an over-run: a slice of 6 ms beside a unit of 10 ms. */
	{"rr", {{1, 0, 0}, {1, 0, 0}}, {200, 10000}, {375, 625}, 5},
	{"credit", {{1, 0, 0}, {2, 0, 0}, {3, 0, 0}}, {200, 200, 200}, {167, 333, 500}, 5},
	{"credit", {{1, 0, 0}, {1, 0, 0}}, {200, 10000}, {500, 500}, 5},
	/* credit forgives an over-run beyond 30 ms. */
	{"credit", {{1, 0, 0}, {1, 0, 0}}, {200, 150000}, {230, 770}, 20},
	{"vmcg", {{4, 0, 0}, {2, 0, 0}, {1, 0, 0}}, {200, 200, 200}, {571, 286, 143}, 20},
	/* 50 credits are 200 units: 16 + 16 + 8 ms of three rounds, beside two units of 10 ms. */
	{"vmcg", {{1, 0, 0}, {1, 0, 0}}, {200, 10000}, {400, 600}, 5},
	/* One unit each, whatever the weights. */
	{"fcfs", {{3, 0, 0}, {2, 0, 0}, {1, 0, 0}}, {200, 1000, 10000}, {18, 89, 893}, 2},
};

TEST(shares_are_as_the_discipline_says)
{
	for (size_t i = 0; i < ARRAY_SIZE(expectations); i++) {
		uint64_t sum_ns = 0;

		rig_start(expectations[i].discipline);
		for (int j = 0; expectations[i].unit_us[j] > 0; j++)
			rig_add(expectations[i].of[j], expectations[i].unit_us[j] * US);
		rig_run(20 * NS_PER_S);
		for (int j = 0; j < rig.n; j++) {
			uint64_t got = rig.tenants[j].busy_ns / (20 * NS_PER_S / 1000);

			if (got + expectations[i].tolerance < expectations[i].expected[j] ||
			    got > expectations[i].expected[j] + expectations[i].tolerance)
				fail_msg("row %zu (%s), tenant %d: share %u of 1000, not %u", i,
					 expectations[i].discipline, j, (unsigned int)got,
					 expectations[i].expected[j]);
			sum_ns += rig.tenants[j].busy_ns;
		}
		assert_int_equal(sum_ns, rig.arbiter.busy_ns);
	}
}

/* Starts vmcg with three tenants of the given loads and CPU times. */
static void start_vmcg(const struct arbiter_load *loads)
{
	rig_start("vmcg");
	for (int i = 0; i < 3; i++) {
		rig_add((struct arbiter_share){.weight = 1}, 200 * US);
		arbiter_set_load(&rig.tenants[i], &loads[i]);
	}
}

TEST(vmcg_credits_follow_equation_2)
{
	static const struct {
		struct arbiter_load loads[3];
		unsigned int credits[3];
	} table[] = {
		{{{0}, {0}, {0}}, {33, 33, 33}},
		/* The example of section 6.3. */
		{{{34, 0, 0, 0}, {33, 0, 0, 0}, {33, 0, 0, 0}}, {33, 33, 33}},
		{{{3, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}, {66, 16, 16}},
		/* e : e^(1/4) : 1 */
		{{{0, 1000, 1000, 0}, {0, 500, 500, 0}, {0, 1000, 0, 0}}, {54, 25, 19}},
		{{{0, 9999, 9999, 0}, {0, 1000, 1000, 0}, {0, 1000, 1000, 0}}, {33, 33, 33}},
		{{{UINT32_MAX, 0, 0, 0}, {0}, {0}}, {99, 1, 1}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		start_vmcg(table[i].loads);
		rig_turn();
		for (int j = 0; j < 3; j++)
			assert_int_equal(rig.tenants[j].credit, table[i].credits[j]);
	}
}

TEST(vmcg_slices_follow_the_cpu_time)
{
	static const struct arbiter_load loads[] = {
		{.cpu_ns = 300}, {.cpu_ns = 1200}, {.cpu_ns = 600}};
	static const struct arbiter_load partly[] = {{.cpu_ns = 300}, {.cpu_ns = 1200}, {0}};
	static const struct {
		const struct arbiter_load *loads;
		uint64_t slices_ms[3]; /* in the order of turns */
	} table[] = {{loads, {16, 8, 4}}, {partly, {16, 16, 16}}};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		start_vmcg(table[i].loads);
		for (int j = 0; j < 3; j++) {
			struct arbiter_turn turn = rig_turn();

			assert_int_equal(turn.slice_ns, table[i].slices_ms[j] * NS_PER_MS);
			assert_int_equal(turn.units_in_flight, 4);
			arbiter_end_turn(&rig.arbiter, rig.now_ns);
		}
	}
}

TEST(vmcg_pays_a_credit_for_four_units_and_transfers_the_rest)
{
	static const struct arbiter_load loads[3];
	struct arbiter_tenant *holder;

	start_vmcg(loads);
	holder = rig_turn().tenant;
	arbiter_charge(&rig.arbiter, holder, 1000, 7, rig.now_ns);
	assert_int_equal(holder->credit, 32);
	arbiter_end_turn(&rig.arbiter, rig.now_ns);
	assert_int_equal(holder->credit, 31);
	rig_stop(holder);
	assert_int_equal(holder->credit, 0);
	assert_int_equal(rig.arbiter.credit_pool, 31);
	for (int i = 0; i < 2; i++) {
		struct arbiter_tenant *other = rig_turn().tenant;

		assert_ptr_not_equal(other, holder);
		arbiter_charge(&rig.arbiter, other, 1000, 4 * 33, rig.now_ns);
		assert_int_equal(rig_turn().id, 3 + i);
	}
	/* A new round: 50 credits each, and half of the pool. */
	assert_int_equal(rig.arbiter.turn.tenant->credit, 65);
	assert_int_equal(rig.arbiter.credit_pool, 1);
}

TEST(a_change_of_the_share_is_in_force_at_once)
{
	struct arbiter_tenant *first, *second;

	rig_start("fair");
	first = rig_add((struct arbiter_share){.weight = 100}, 200 * US);
	second = rig_add((struct arbiter_share){.weight = 100}, 200 * US);
	rig_run(NS_PER_S);
	assert_near(first->busy_ns, NS_PER_S / 2, SLICE);
	arbiter_set_share(&rig.arbiter, first, &(struct arbiter_share){.weight = 300}, rig.now_ns);
	assert_near(gained(first, NS_PER_S), 3 * NS_PER_S / 4, 2 * SLICE);
	arbiter_set_share(&rig.arbiter, first, &(struct arbiter_share){.cap_pct = 10}, rig.now_ns);
	assert_near(gained(first, NS_PER_S), NS_PER_S / 10, SLICE);
	arbiter_set_share(&rig.arbiter, first, NULL, rig.now_ns);
	assert_near(gained(first, NS_PER_S), NS_PER_S / 2, 2 * SLICE);
	assert_near(second->busy_ns + first->busy_ns, 4 * NS_PER_S, 1 * NS_PER_MS);
}

TEST(a_share_out_of_range_counts_as_the_limit)
{
	struct arbiter_tenant *tenant;

	rig_start("fair");
	tenant = rig_add((struct arbiter_share){UINT32_MAX, 101, 1000}, 0);
	assert_int_equal(tenant->share.weight, ARBITER_WEIGHT_MAX);
	assert_int_equal(tenant->share.cap_pct, 100);
	assert_int_equal(tenant->share.guarantee_pct, 100);
	arbiter_set_share(&rig.arbiter, tenant, &(struct arbiter_share){0}, rig.now_ns);
	assert_int_equal(tenant->share.weight, ARBITER_WEIGHT_DEFAULT);
}

/* Over each interval, not only over the whole run. */
TEST(a_cap_is_not_exceeded_by_more_than_its_window_and_a_unit)
{
	static const unsigned int caps[] = {1, 5, 30, 70, 99};
	static const uint64_t units[] = {100 * US, 2000 * US, 9000 * US};

	for (size_t i = 0; i < ARRAY_SIZE(caps) * ARRAY_SIZE(units); i++) {
		uint64_t unit_ns = units[i % ARRAY_SIZE(units)], least = 0, cap = caps[i / 3];
		struct arbiter_tenant *capped;

		rig_start("fair");
		capped = rig_add((struct arbiter_share){0, caps[i / 3], 0}, unit_ns);
		rig_add((struct arbiter_share){.weight = 50}, 3 * unit_ns);
		for (int step = 0; step < 20000; step++) {
			uint64_t lead;

			rig_step(rig.now_ns + NS_PER_S);
			/* What it used beyond its cap, plus a constant. */
			lead = (1ULL << 62) + capped->busy_ns * 100 -
			       (rig.now_ns - 1000 * NS_PER_S) * cap;
			least = least == 0 || lead < least ? lead : least;
			assert_true(lead - least <= cap * ARBITER_WINDOW_NS + 100 * unit_ns);
		}
	}
}

TEST(a_niceness_is_a_weight)
{
	static const struct {
		int nice;
		unsigned int weight;
	} table[] = {{0, 100}, {-1, 125}, {1, 80},     {5, 32},	   {-5, 305},
		     {19, 1},  {99, 1},	  {-20, 8673}, {-99, 8673}};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		assert_int_equal(arbiter_weight_of_nice(table[i].nice), table[i].weight);
}

TEST(an_option_of_zero_is_the_default)
{
	static const struct arbiter_options usual = {6 * NS_PER_MS, 100 * NS_PER_MS, 12 * NS_PER_MS,
						     LEASE,	    100 * US,	     500 * US,
						     2 * NS_PER_MS, 20 * NS_PER_MS};
	static const struct arbiter_options set = {1, 2, 3, 4, 5, 6, 7, UINT64_MAX}, none = {0};
	struct arbiter arbiter;

	arbiter_start(&arbiter, NULL, NULL, 0);
	assert_memory_equal(&arbiter.options, &usual, sizeof(usual));
	arbiter_start(&arbiter, NULL, &none, 0);
	assert_memory_equal(&arbiter.options, &usual, sizeof(usual));
	arbiter_start(&arbiter, NULL, &set, 0);
	assert_memory_equal(&arbiter.options, &set, offsetof(struct arbiter_options, idle_max_ns));
	assert_int_equal(arbiter.options.idle_max_ns, ARBITER_CHARGE_MAX_NS);
}

/* Returns the slice of the first turn of tenant @i, in us. */
static uint64_t slice_of(const char *discipline, const struct arbiter_share *shares, int i)
{
	struct arbiter_turn turn;

	rig_start(discipline);
	for (int j = 0; j < 3; j++)
		rig_add(shares[j], UNIT);
	for (int n = 0; n < 20; n++) {
		arbiter_pick(&rig.arbiter, rig.now_ns, &turn);
		if (turn.tenant == &rig.tenants[i])
			return turn.slice_ns / US;
		arbiter_charge(&rig.arbiter, turn.tenant, turn.slice_ns, 1, rig.now_ns);
		arbiter_end_turn(&rig.arbiter, rig.now_ns);
	}
	return 0;
}

TEST(the_slice_is_as_the_discipline_says)
{
	static const struct {
		const char *discipline;
		struct arbiter_share shares[3];
		uint64_t slices_us[3];
	} rows[] = {
		{"fair", {{1, 0, 0}, {2, 0, 0}, {9, 0, 0}}, {6000, 6000, 6000}},
		{"fair", {{1, 1, 0}, {1, 29, 0}, {9, 30, 0}}, {200, 5800, 6000}},
		{"cap", {{1, 1, 0}, {1, 29, 0}, {1, 90, 0}}, {200, 5800, 6000}},
		{"guarantee", {{1, 0, 0}, {1, 0, 10}, {1, 0, 50}}, {6000, 2000, 6000}},
		{"rr", {{1, 0, 0}, {2, 0, 0}, {3, 0, 0}}, {3000, 6000, 9000}},
		{"rr", {{1, 0, 0}, {9998, 0, 0}, {1, 0, 0}}, {100, 17996, 100}},
		{"vmcg", {{1, 0, 0}, {2, 0, 0}, {1000, 0, 0}}, {100, 100, 16000}},
		{"credit", {{1, 0, 0}, {2, 0, 0}, {3, 0, 0}}, {6000, 6000, 6000}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (int j = 0; j < 3; j++)
			assert_int_equal(slice_of(rows[i].discipline, rows[i].shares, j),
					 rows[i].slices_us[j]);
}

TEST(the_budget_of_a_cap_is_limited)
{
	struct arbiter_tenant *tenant;

	rig_start("fair");
	tenant = rig_add((struct arbiter_share){1, 50, 0}, 0);
	assert_int_equal(tenant->cap_budget / 100, SLICE);
	/* An idle tenant saves what a new one has. After a short gap it saves as one that waits. */
	arbiter_pick(&rig.arbiter, rig.now_ns += 2 * NS_PER_MS, NULL);
	assert_int_equal(tenant->cap_budget / 100, 7 * NS_PER_MS);
	arbiter_pick(&rig.arbiter, rig.now_ns += NS_PER_MS, NULL);
	assert_int_equal(tenant->cap_budget / 100, SLICE);
	/* With work: cap x 100 ms. */
	rig_wake(tenant);
	arbiter_pick(&rig.arbiter, rig.now_ns += NS_PER_MS, NULL);
	assert_int_equal(tenant->cap_budget / 100, SLICE + NS_PER_MS / 2);
	arbiter_pick(&rig.arbiter, rig.now_ns += NS_PER_S, NULL);
	assert_int_equal(tenant->cap_budget / 100, 50 * NS_PER_MS);
	/* A lower cap saves less, a debt stays, and a cap after a time without begins anew. */
	arbiter_set_share(&rig.arbiter, tenant, &(struct arbiter_share){1, 20, 0}, rig.now_ns);
	assert_int_equal(tenant->cap_budget / 100, 20 * NS_PER_MS);
	arbiter_charge(&rig.arbiter, tenant, 25 * NS_PER_MS, 1, rig.now_ns);
	arbiter_set_share(&rig.arbiter, tenant, &(struct arbiter_share){1, 90, 0}, rig.now_ns);
	assert_int_equal(tenant->cap_budget / 100, -(int64_t)(5 * NS_PER_MS));
	arbiter_set_share(&rig.arbiter, tenant, NULL, rig.now_ns);
	arbiter_set_share(&rig.arbiter, tenant, &(struct arbiter_share){1, 10, 0}, rig.now_ns);
	assert_int_equal(tenant->cap_budget / 100, 2 * NS_PER_MS);
}

TEST(a_used_cap_ends_the_turn_and_names_the_time_of_the_next)
{
	struct arbiter_tenant *tenant;
	struct arbiter_turn turn;

	rig_start("fair");
	tenant = rig_add((struct arbiter_share){1, 10, 0}, UNIT);
	turn = rig_turn();
	assert_int_equal(turn.slice_ns, 2 * NS_PER_MS);
	assert_int_equal(arbiter_next_event_ns(&rig.arbiter), rig.now_ns + 2 * NS_PER_MS);
	arbiter_charge(&rig.arbiter, tenant, 2 * NS_PER_MS, 1, rig.now_ns);
	arbiter_pick(&rig.arbiter, rig.now_ns, &turn);
	assert_int_equal(turn.reason, ARBITER_REASON_CAP);
	assert_true(arbiter_next_event_ns(&rig.arbiter) == ARBITER_NEVER);
	arbiter_end_turn(&rig.arbiter, rig.now_ns);
	assert_false(arbiter_pick(&rig.arbiter, rig.now_ns, NULL));
	assert_int_equal(arbiter_next_event_ns(&rig.arbiter), rig.now_ns + 20 * NS_PER_MS);
	assert_false(arbiter_pick(&rig.arbiter, rig.now_ns + 20 * NS_PER_MS - 1, NULL));
	assert_true(arbiter_pick(&rig.arbiter, rig.now_ns + 20 * NS_PER_MS, NULL));
	assert_int_equal(tenant->turns, 2);
}

TEST(the_next_event_is_the_first_of_all_limits)
{
	struct arbiter_tenant *holder;
	uint64_t begun_ns;

	holder = rig_begin("fair", 2);
	begun_ns = rig.now_ns;
	/* Near the end of the slice, not more often than base / 64. */
	arbiter_charge(&rig.arbiter, holder, SLICE - 1, 1, rig.now_ns);
	arbiter_pick(&rig.arbiter, rig.now_ns, NULL);
	assert_int_equal(arbiter_next_event_ns(&rig.arbiter), begun_ns + SLICE / 64);
	rig.now_ns += 2 * SLICE - 10;
	arbiter_pick(&rig.arbiter, rig.now_ns, NULL);
	assert_int_equal(arbiter_next_event_ns(&rig.arbiter), begun_ns + 2 * SLICE);
	arbiter_pick(&rig.arbiter, begun_ns + 2 * SLICE, NULL);
	assert_int_equal(rig.arbiter.turn.state, ARBITER_DRAIN);
	assert_int_equal(arbiter_next_event_ns(&rig.arbiter), begun_ns + 2 * SLICE + LEASE);
}

TEST(a_lone_holder_waits_for_the_cap_of_another)
{
	struct arbiter_tenant *capped;

	rig_start("fair");
	capped = rig_add((struct arbiter_share){1, 10, 0}, UNIT);
	arbiter_charge(&rig.arbiter, capped, 3 * NS_PER_MS, 1, rig.now_ns);
	rig_add(one, UNIT);
	assert_ptr_equal(rig_turn().tenant, &rig.tenants[1]);
	assert_false(rig.arbiter.contended);
	assert_int_equal(arbiter_next_event_ns(&rig.arbiter), rig.now_ns + 30 * NS_PER_MS);
	arbiter_pick(&rig.arbiter, rig.now_ns + 30 * NS_PER_MS, NULL);
	assert_true(rig.arbiter.contended);
	assert_int_equal(rig.arbiter.contended_since_ns, rig.now_ns + 30 * NS_PER_MS);
}

TEST(a_sign_of_life_clears_a_revocation)
{
	for (int sign = 0; sign < 4; sign++) {
		struct arbiter_tenant *holder = rig_begin("fair", 2);

		assert_ptr_not_equal(pick_after(2 * SLICE).tenant, holder);
		assert_true(holder->stalled);
		assert_false(holder->unfinished);
		rig.now_ns += 5;
		if (sign == 0)
			arbiter_charge(&rig.arbiter, holder, 1, 0, rig.now_ns);
		else if (sign == 1)
			arbiter_charge(&rig.arbiter, holder, 1, 1, rig.now_ns);
		else if (sign == 2)
			arbiter_idle(&rig.arbiter, holder, rig.now_ns);
		else
			arbiter_want(&rig.arbiter, holder, 7, rig.now_ns);
		assert_int_equal(holder->stalled, sign == 0);
		assert_int_equal(holder->seen_ns, rig.now_ns - (sign == 0 ? 5 + 2 * SLICE : 0));
	}
}

TEST(the_lease_counts_from_the_last_sign_of_life)
{
	struct arbiter_tenant *holder;
	uint64_t begun_ns;

	rig_begin("fair", 2);
	rig.arbiter.options.slice_ns = NS_PER_S;
	arbiter_end_turn(&rig.arbiter, rig.now_ns);
	holder = rig_turn().tenant;
	begun_ns = rig.now_ns;
	assert_int_equal(arbiter_next_event_ns(&rig.arbiter), begun_ns + LEASE);
	arbiter_charge(&rig.arbiter, holder, 0, 1, begun_ns + 50 * NS_PER_MS);
	arbiter_pick(&rig.arbiter, begun_ns + LEASE, NULL);
	assert_ptr_equal(rig.arbiter.turn.tenant, holder);
	assert_int_equal(arbiter_next_event_ns(&rig.arbiter), begun_ns + LEASE + 50 * NS_PER_MS);
	arbiter_pick(&rig.arbiter, begun_ns + LEASE + 50 * NS_PER_MS, NULL);
	assert_ptr_not_equal(rig.arbiter.turn.tenant, holder);
}

TEST(a_removed_tenant_leaves_nothing)
{
	struct arbiter_tenant *a, *b;

	rig_start("guarantee");
	a = rig_add((struct arbiter_share){1, 0, 60}, UNIT);
	b = rig_add((struct arbiter_share){1, 0, 70}, UNIT);
	assert_int_equal(rig.arbiter.guarantee_pct, 130);
	arbiter_remove(&rig.arbiter, a, rig.now_ns);
	assert_int_equal(rig.arbiter.guarantee_pct, 70);
	assert_null(a->next);
	assert_null(a->prev);
	assert_ptr_equal(b->next, b);
	arbiter_remove(&rig.arbiter, b, rig.now_ns);
	assert_int_equal(rig.arbiter.guarantee_pct, 0);
	assert_null(rig.arbiter.last);
	rig.n = 0;
	rig_add(one, UNIT);
	assert_true(arbiter_pick(&rig.arbiter, rig.now_ns, NULL));
}

TEST(the_ring_is_whole_after_any_removal)
{
	for (int i = 0; i < 3; i++) {
		rig_start("rr");
		for (int j = 0; j < 3; j++)
			rig_add(one, UNIT);
		rig_run(NS_PER_S);
		arbiter_remove(&rig.arbiter, &rig.tenants[i], rig.now_ns);
		for (int j = 0; j < 3; j++) {
			struct arbiter_tenant *other =
				&rig.tenants[j == (i + 1) % 3 ? (i + 2) % 3 : (i + 1) % 3];

			if (j == i)
				continue;
			assert_ptr_equal(rig.tenants[j].next, other);
			assert_ptr_equal(rig.tenants[j].prev, other);
		}
	}
}

/* In the order of requests, not of the round: the first of the round asks last. */
TEST(fcfs_serves_in_the_order_of_requests)
{
	static const int asks[] = {3, 1, 2, 0};

	rig_start("fcfs");
	for (int i = 0; i < 4; i++)
		rig_add(one, 0);
	for (int i = 0; i < 4; i++) {
		rig.unit_ns[i] = UNIT;
		arbiter_want(&rig.arbiter, &rig.tenants[asks[i]], 0, rig.now_ns);
	}
	for (int i = 0; i < 40; i++)
		assert_ptr_equal(rig_step(rig.now_ns + NS_PER_S), &rig.tenants[asks[i % 4]]);
}

TEST(an_excuse_counts_for_one_gap_only)
{
	struct arbiter_tenant *tenant;

	rig_start("fair");
	tenant = rig_add(one, UNIT);
	arbiter_excuse(tenant, 5);
	assert_int_equal(tenant->delay_ns, 0);
	rig_stop(tenant);
	arbiter_excuse(tenant, 3 * NS_PER_MS);
	rig.now_ns += NS_PER_MS;
	rig_stop(tenant); /* reported again: the gap goes on */
	assert_int_equal(tenant->delay_ns, 3 * NS_PER_MS);
	assert_int_equal(tenant->changed_at_ns, rig.now_ns - NS_PER_MS);
	rig.now_ns += 3 * NS_PER_MS;
	rig_wake(tenant);
	assert_int_equal(tenant->gap_ns, NS_PER_MS / 4);
	assert_int_equal(tenant->delay_ns, 0);
	rig_stop(tenant);
	arbiter_excuse(tenant, UINT64_MAX);
	arbiter_excuse(tenant, UINT64_MAX);
	assert_true(tenant->delay_ns == UINT64_MAX);
}

TEST(a_changed_discipline_begins_anew)
{
	struct arbiter_tenant *holder = rig_begin("vmcg", 2);

	arbiter_charge(&rig.arbiter, holder, NS_PER_MS, 7, rig.now_ns);
	assert_int_equal(holder->blocks, 3);
	arbiter_set_discipline(&rig.arbiter, arbiter_discipline_find("credit"), rig.now_ns);
	assert_int_equal(holder->credit, 0);
	assert_int_equal(holder->blocks, 0);
	assert_int_equal(holder->round, 0);
	assert_int_equal(rig.arbiter.turn.drains_since_ns, rig.now_ns);
	arbiter_pick(&rig.arbiter, rig.now_ns += 1, NULL); /* a refill: 15 ms each */
	assert_int_equal(holder->credit, 15 * NS_PER_MS);
	rig_stop(holder);
	rig_wake(holder);
	assert_true(holder->boosted);
	arbiter_set_discipline(&rig.arbiter, NULL, rig.now_ns);
	assert_string_equal(rig.arbiter.discipline->name, "fair");
	assert_false(holder->boosted);
}

TEST(credit_and_debt_are_limited_to_a_period)
{
	struct arbiter_tenant *holder = rig_begin("credit", 2);

	arbiter_pick(&rig.arbiter, rig.now_ns += 1, NULL);
	arbiter_charge(&rig.arbiter, holder, NS_PER_S, 1, rig.now_ns);
	assert_int_equal(holder->credit, -(int64_t)(30 * NS_PER_MS));
	arbiter_pick(&rig.arbiter, rig.now_ns += 30 * NS_PER_MS, NULL);
	assert_int_equal(holder->credit, -(int64_t)(15 * NS_PER_MS));
	arbiter_charge(&rig.arbiter, holder, 0, 1, rig.now_ns += 3600 * NS_PER_S);
	assert_int_equal(holder->credit, 30 * NS_PER_MS);
}

TEST(a_large_charge_and_large_loads_do_not_overflow)
{
	struct arbiter_tenant *holder = rig_begin("vmcg", 2);

	arbiter_set_load(&rig.tenants[0], &(struct arbiter_load){.cpu_ns = UINT64_MAX});
	arbiter_set_load(&rig.tenants[1], &(struct arbiter_load){.cpu_ns = UINT64_MAX / 4});
	arbiter_end_turn(&rig.arbiter, rig.now_ns);
	for (int i = 0; i < 2; i++) {
		struct arbiter_turn turn = rig_turn();

		assert_near(turn.slice_ns, (turn.tenant == &rig.tenants[0] ? 16 : 4) * NS_PER_MS,
			    1);
		arbiter_end_turn(&rig.arbiter, rig.now_ns);
	}
	arbiter_charge(&rig.arbiter, holder, UINT64_MAX, UINT32_MAX, rig.now_ns);
	assert_int_equal(holder->busy_ns, ARBITER_CHARGE_MAX_NS);
	arbiter_set_discipline(&rig.arbiter, NULL, rig.now_ns);
	arbiter_set_share(&rig.arbiter, holder, &(struct arbiter_share){1, 1, 0}, rig.now_ns);
	for (int i = 0; i < 200000; i++)
		arbiter_charge(&rig.arbiter, holder, UINT64_MAX, 1, rig.now_ns);
	assert_true(holder->cap_budget == -(1LL << 60));
	/* Its tag is ahead by not more than the difference that can be compared. */
	assert_true((int64_t)(holder->tag - rig.arbiter.virtual_ns) == 1LL << 61);
}
