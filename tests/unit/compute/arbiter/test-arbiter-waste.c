/* SPDX-License-Identifier: MIT */
/* The arbiter: turns in which the device does not work for the holder. */
#include "tests/unit/compute/arbiter/test-arbiter-rig.h"
#include "tests/unit/unit.h"

static const struct arbiter_share one = {.weight = 1};

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

	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
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
