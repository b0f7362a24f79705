/* SPDX-License-Identifier: MIT */
/* Tests drivers that acknowledge the write of a cap and do not keep it. */
#include "tests/unit/gover-d/core/test-manager.h"

#define HOUR 3600

/* The policy takes cap from vGPU a, which is idle, for vGPU b. */
static void start_with_busy_b(void)
{
	start();
	sell("a", 80, 0.05);
	sell("b", 50, BUSY);
	tick(1);
}

static void expect_no_hold(void)
{
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
	assert_false(vgpu("a")->contract.held || vgpu("b")->contract.held);
	assert_null(find_active_alert(ALERT_FOREIGN_WRITE, "a"));
	assert_null(find_active_alert(ALERT_FOREIGN_WRITE, "b"));
}

static void expect_bounded(int writes, int64_t decisions)
{
	const struct alert *alert = find_active_alert(ALERT_WRITE_FAILED, "a");

	expect_no_hold();
	assert_non_null(alert);
	assert_non_null(strstr(alert->text, "the driver does not keep the cap of vGPU a"));
	assert_null(find_active_alert(ALERT_HELD_OVERLOADED, "a"));
	/* one attempt a minute, and some before the pauses are that long; vGPU b is written, too */
	assert_in_range(fake.writes - writes, 50, 240);
	assert_in_range(decisions_last_id(m->decisions) - decisions, 0, 400);
	assert_int_equal(device("a")->cap_pct, 80);
}

FIXTURE(set_up, tear_down)

TEST(an_ignored_write_is_repeated_once_a_minute)
{
	int64_t decisions;
	int writes;

	start_with_busy_b();
	device("a")->ignores_writes = true;
	writes = fake.writes, decisions = decisions_last_id(m->decisions);
	tick(HOUR);
	expect_bounded(writes, decisions);
}

TEST(a_cap_that_returns_after_a_write_is_no_external_change)
{
	int64_t decisions;
	int writes;

	start_with_busy_b();
	device("a")->forgets_writes = true;
	writes = fake.writes, decisions = decisions_last_id(m->decisions);
	tick(HOUR);
	expect_bounded(writes, decisions);
	assert_in_range(count_decisions("adopt", "failed"), 50, 80);
}

TEST(caps_move_again_when_the_driver_keeps_them)
{
	start_with_busy_b();
	device("a")->forgets_writes = true;
	tick(60);
	assert_int_equal(device("b")->cap_pct, 20);
	device("a")->forgets_writes = false;
	tick(180);
	expect_no_hold();
	assert_null(find_active_alert(ALERT_WRITE_FAILED, "a"));
	assert_int_equal(vgpu("a")->kept.n_lost, 0);
	assert_int_equal(device("b")->cap_pct, 50);
}

/* A hold is written again with the same pauses. */
TEST(a_hold_that_is_not_kept_is_reported)
{
	int writes;

	start();
	sell("a", 80, 0);
	device("a")->forgets_writes = true;
	assert_int_equal(hold("a", 30), 0);
	writes = fake.writes;
	tick(HOUR);
	assert_int_equal(vgpu("a")->contract.held_cap_pct, 30);
	assert_false(vgpu("a")->foreign);
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
	assert_non_null(find_active_alert(ALERT_WRITE_FAILED, "a"));
	assert_in_range(fake.writes - writes, 50, 80);
	device("a")->forgets_writes = false;
	tick(120);
	assert_int_equal(device("a")->cap_pct, 30);
	assert_null(find_active_alert(ALERT_WRITE_FAILED, "a"));
}

/* Another cap, or the old cap after the write was kept for some readings. */
TEST(other_changes_are_external)
{
	start();
	sell("a", 80, 0);
	assert_int_equal(hold("a", 30), 0);
	device("a")->cap_pct = 31;
	tick(1);
	assert_int_equal(count_decisions("foreign_write", "noted"), 1);
	assert_int_equal(hold("a", 40), 0);
	tick(KEPT_CAP_READINGS);
	device("a")->cap_pct = 31;
	tick(1);
	assert_int_equal(count_decisions("foreign_write", "noted"), 2);
	assert_int_equal(vgpu("a")->cap_pct, 31);
}
