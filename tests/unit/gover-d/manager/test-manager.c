/* SPDX-License-Identifier: MIT */
/*
 * Cap writes of the daemon over several ticks: writes that fail, are not confirmed, are not kept by
 * the driver or are overwritten externally, and caps that must be brought within their contract.
 */
#include "tests/unit/gover-d/manager/test-manager.h"

/* Runs until the next tick would move unused cap from vGPU a to vGPU b. */
static void run_until_before_steal(void)
{
	start();
	sell("a", 80, 0.05);
	sell("b", 50, BUSY);
	assert_int_equal(device("a")->cap_pct, 80);
	assert_int_equal(device("b")->cap_pct, 20);
	tick(3);
	assert_int_equal(count_decisions("steal", NULL), 0);
}

TEST(the_third_breach_causes_a_steal_in_the_same_tick)
{
	run_until_before_steal();
	tick(1);
	assert_int_equal(count_decisions("steal", "written"), 1);
	assert_int_equal(vgpu("b")->tally.steals_in, 1);
	assert_int_equal(vgpu("a")->tally.steals_out, 1);
	assert_true(device("b")->cap_pct > 20);
	assert_int_equal(device("a")->cap_pct + device("b")->cap_pct, 100);
}

static void expect_no_steals(void)
{
	for (const struct vgpu *v = gpu->vgpus; v; v = v->next) {
		assert_int_equal(v->tally.steals_in, 0);
		assert_int_equal(v->tally.steals_out, 0);
	}
}

TEST(a_failed_write_is_not_counted_as_a_steal)
{
	run_until_before_steal();
	device("a")->write_errno = EIO;
	tick(1);
	assert_int_equal(count_decisions("steal", "failed"), 1);
	assert_int_equal(device("a")->cap_pct, 80);
	assert_int_equal(device("b")->cap_pct, 20); /* vGPU a released no capacity */
	expect_no_steals();
}

TEST(a_write_without_effect_is_not_counted_as_a_steal)
{
	run_until_before_steal();
	device("a")->ignores_writes = true;
	tick(1);
	assert_int_equal(count_decisions("steal", "failed"), 1);
	expect_no_steals();
}

TEST(a_write_failed_alert_lasts_until_writes_succeed)
{
	run_until_before_steal();
	device("a")->write_errno = EIO;
	tick(1);
	assert_non_null(find_active_alert(ALERT_WRITE_FAILED, "a"));
	tick(5);
	assert_non_null(find_active_alert(ALERT_WRITE_FAILED, "a"));
	device("a")->write_errno = 0;
	tick(5);
	assert_null(find_active_alert(ALERT_WRITE_FAILED, "a"));
}

TEST(a_write_failed_alert_clears_when_the_write_is_no_longer_needed)
{
	run_until_before_steal();
	device("a")->write_errno = EIO;
	tick(1);
	assert_non_null(find_active_alert(ALERT_WRITE_FAILED, "a"));
	device("b")->demand = 0;
	tick(5);
	assert_null(find_active_alert(ALERT_WRITE_FAILED, "a"));
}

TEST(an_own_write_that_cannot_be_read_back_is_not_foreign)
{
	run_until_before_steal();
	device("a")->read_cap_errno = EIO;
	tick(1);
	assert_int_equal(count_decisions("steal", "failed"), 1);
	assert_true(device("a")->cap_pct < 80); /* the write itself succeeded */
	device("a")->read_cap_errno = 0;
	device("b")->demand = 0;
	tick(2);
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
	assert_false(vgpu("a")->contract.held);
	assert_int_equal(vgpu("a")->cap.pct, device("a")->cap_pct);
	assert_int_equal(vgpu("a")->cap.expected_pct, device("a")->cap_pct);
}

TEST(an_external_write_after_an_unconfirmed_own_write_is_foreign)
{
	run_until_before_steal();
	device("a")->read_cap_errno = EIO;
	tick(1);
	device("a")->read_cap_errno = 0;
	device("a")->cap_pct = 44;
	tick(1);
	assert_int_equal(count_decisions("foreign_write", NULL), 1);
	assert_true(vgpu("a")->contract.held);
	assert_int_equal(vgpu("a")->contract.held_cap_pct, 44);
	assert_non_null(find_active_alert(ALERT_FOREIGN_WRITE, "a"));
}

TEST(a_lease_that_expires_before_a_late_tick_is_not_a_foreign_write)
{
	run_until_before_steal();
	tick(1);
	assert_int_equal(device("a")->cap_pct, 65);
	device("a")->cap_pct = 80;
	device("b")->demand = 0;
	tick_late();
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
	assert_int_equal(device("a")->cap_pct, 65);
	tick(CAP_READINGS);	   /* the driver keeps the cap that was written again */
	device("a")->cap_pct = 80; /* this tick is on time, so no lease can have expired */
	tick(1);
	assert_int_equal(count_decisions("foreign_write", NULL), 1);
	assert_int_equal(device("a")->cap_pct, 80);
}

TEST(a_failed_write_after_an_expired_lease_raises_an_alert)
{
	run_until_before_steal();
	tick(1);
	device("b")->demand = 0;
	device("a")->cap_pct = 80;
	device("a")->write_errno = EIO;
	tick_late();
	assert_non_null(find_active_alert(ALERT_WRITE_FAILED, "a"));
}

TEST(an_unconfirmed_raise_is_resolved_by_the_next_read)
{
	run_until_before_steal();
	device("b")->write_errno = device("b")->read_cap_errno = EIO;
	tick(1);
	/* it is unknown whether the cap is 20 or 35 %: the larger value is assumed */
	assert_int_equal(vgpu("b")->cap.pct, 35);
	device("b")->write_errno = device("b")->read_cap_errno = 0;
	device("b")->demand = 0;
	tick(1);
	assert_int_equal(vgpu("b")->cap.pct, 20);
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
}

/* --- operator requests --- */

static const enum gpu_mode modes[] = {GPU_MODE_ACT, GPU_MODE_OBSERVE, GPU_MODE_FROZEN};

/* A hold is written in every mode. The policy reacts to it only in act mode. */
TEST(a_hold_is_written_in_every_mode)
{
	int cap_pct = 50;

	start();
	sell("a", 80, 0);
	sell("b", 50, 0);
	assert_int_equal(device("b")->cap_pct, 20);
	for (size_t i = ARRAY_SIZE(modes); i-- > 0; cap_pct -= 5) {
		assert_int_equal(change_mode(modes[i]), 0);
		assert_int_equal(hold("a", cap_pct), 0);
		assert_int_equal(device("a")->cap_pct, cap_pct);
		/* In act mode, vGPU b gets the cap that vGPU a releases. */
		assert_int_equal(device("b")->cap_pct, modes[i] == GPU_MODE_ACT ? 50 : 20);
		tick(2);
		assert_int_equal(vgpu("a")->cap.pct, cap_pct);
		assert_int_equal(count_decisions("foreign_write", NULL), 0);
	}
	assert_int_equal(count_decisions("hold", "written"), 3);
	assert_int_equal(count_decisions("hold", "observed"), 0);
}

TEST(a_smaller_contract_is_written_in_every_mode)
{
	int cap_pct = 60;

	start();
	sell("a", 80, 0);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++, cap_pct -= 10) {
		assert_int_equal(change_mode(modes[i]), 0);
		assert_int_equal(set_initial_cap("a", cap_pct), 0);
		assert_int_equal(device("a")->cap_pct, cap_pct);
	}
}

TEST(a_later_change_of_a_hold_keeps_its_begin)
{
	int64_t held_ms, frozen_ms;

	start();
	sell("a", 50, 0);
	assert_int_equal(hold("a", 20), 0);
	assert_int_equal(change_mode(GPU_MODE_FROZEN), 0);
	held_ms = vgpu("a")->contract.held_since.at_ms;
	frozen_ms = gpu->frozen_since.at_ms;
	assert_true(held_ms > 0 && frozen_ms > 0);
	restart();
	assert_int_equal(hold("a", 25), 0);
	assert_int_equal(change_mode(GPU_MODE_FROZEN), 0);
	assert_int_equal(set_initial_cap("a", 60), 0);
	assert_int_equal(vgpu("a")->contract.held_since.at_ms, held_ms);
	assert_int_equal(gpu->frozen_since.at_ms, frozen_ms);
	assert_int_equal(release("a"), 0);
	assert_int_equal(change_mode(GPU_MODE_OBSERVE), 0);
	assert_int_equal(vgpu("a")->contract.held_since.at_ms, 0);
	assert_int_equal(gpu->frozen_since.at_ms, 0);
}

TEST(an_unwritten_hold_keeps_its_alert_until_release)
{
	start();
	sell("a", 80, 0);
	device("a")->write_errno = EIO;
	(void)hold("a", 40);
	tick(1);
	assert_non_null(find_active_alert(ALERT_WRITE_FAILED, "a"));
	tick(10);
	/* The cap is still 80 %, not 40 %. */
	assert_non_null(find_active_alert(ALERT_WRITE_FAILED, "a"));
	assert_int_equal(release("a"), 0);
	tick(4);
	assert_null(find_active_alert(ALERT_WRITE_FAILED, "a"));
}

/* --- drivers that acknowledge a write and do not keep it --- */

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
	expect_no_hold();
	expect_alert(ALERT_WRITE_FAILED, "a", "the driver does not keep the cap of vGPU a");
	assert_null(find_active_alert(ALERT_HELD_OVERLOADED, "a"));
	/* one attempt a minute, and some before the pauses are that long; vGPU b is written, too */
	assert_in_range(fake.writes - writes, 50, 240);
	assert_in_range(decisions_last_id(m->recorder.decisions) - decisions, 0, 400);
	assert_int_equal(device("a")->cap_pct, 80);
}

TEST(an_ignored_write_is_repeated_once_a_minute)
{
	int64_t decisions;
	int writes;

	start_with_busy_b();
	device("a")->ignores_writes = true;
	writes = fake.writes, decisions = decisions_last_id(m->recorder.decisions);
	tick(HOUR);
	expect_bounded(writes, decisions);
}

TEST(a_cap_that_returns_after_a_write_is_no_external_change)
{
	int64_t decisions;
	int writes;

	start_with_busy_b();
	device("a")->forgets_writes = true;
	writes = fake.writes, decisions = decisions_last_id(m->recorder.decisions);
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
	assert_int_equal(vgpu("a")->cap.write.n_lost, 0);
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
	assert_false(vgpu("a")->cap.foreign);
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
	tick(CAP_READINGS);
	device("a")->cap_pct = 31;
	tick(1);
	assert_int_equal(count_decisions("foreign_write", "noted"), 2);
	assert_int_equal(vgpu("a")->cap.pct, 31);
}

/* --- caps outside of their contract --- */

/* Sells vGPU a with 50 %, so that its cap is 50 %, and makes the writes of its cap fail. */
static void start_with_failing_writes(void)
{
	start();
	sell("a", 50, 0.1);
	tick(1);
	assert_int_equal(device("a")->cap_pct, 50);
	device("a")->write_errno = EIO;
}

TEST(a_held_cap_that_was_not_written_is_written_again)
{
	start_with_failing_writes();
	assert_int_equal(hold("a", 20), 0);
	tick(3);
	assert_int_equal(device("a")->cap_pct, 50);
	assert_non_null(find_active_alert(ALERT_WRITE_FAILED, "a"));
	device("a")->write_errno = 0;
	tick(1);
	assert_int_equal(device("a")->cap_pct, 20);
	tick(5);
	assert_null(find_active_alert(ALERT_WRITE_FAILED, "a"));
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
}

TEST(a_lower_contract_whose_cap_was_not_written_is_applied_later)
{
	start_with_failing_writes();
	assert_int_equal(set_initial_cap("a", 10), 0);
	tick(3);
	assert_int_equal(device("a")->cap_pct, 50);
	device("a")->write_errno = 0;
	tick(1);
	assert_int_equal(device("a")->cap_pct, 10);
}

TEST(a_cap_that_cannot_be_read_back_is_written_again)
{
	start_with_failing_writes();
	device("a")->read_cap_errno = device("a")->reading_cap_errno = EIO;
	assert_int_equal(set_initial_cap("a", 10), 0);
	tick(2);
	device("a")->write_errno = device("a")->read_cap_errno = device("a")->reading_cap_errno = 0;
	tick(1);
	assert_int_equal(device("a")->cap_pct, 10);
}

TEST(a_write_that_fails_in_each_period_is_recorded_once_a_minute)
{
	start_with_failing_writes();
	fake.writes = 0;
	assert_int_equal(hold("a", 20), 0);
	tick(30);
	assert_int_equal(fake.writes, 31);
	assert_int_equal(count_decisions("hold", "failed"), 1);
	assert_int_equal(count_decisions("adopt", NULL), 0);
	tick(31);
	assert_int_equal(count_decisions("hold", "failed"), 2);
	device("a")->write_errno = 0;
	tick(1);
	assert_int_equal(count_decisions("hold", "written"), 1);
	/* the next failure is a new one */
	device("a")->write_errno = EIO;
	assert_int_equal(hold("a", 10), 0);
	assert_int_equal(count_decisions("hold", "failed"), 3);
}

TEST(a_cap_within_its_contract_is_not_written_again)
{
	start_with_failing_writes();
	assert_int_equal(set_initial_cap("a", 60), 0); /* the cap of 50 % stays allowed */
	tick(1);
	device("a")->write_errno = 0;
	fake.writes = 0;
	tick(1);
	assert_int_equal(device("a")->cap_pct, 50);
	assert_int_equal(fake.writes, 0);
}

static void start_with_lease(void)
{
	fake.external_vgpus = fake.leases = true;
	config.gpus[0].gpu.lease_ms = 10000;
	*device("a") = (struct gpu_vgpu){
		.exists = true, .cap_pct = 50, .initial_cap_pct = 50, .cap_written = true};
	start();
	tick(2);
}

TEST(a_lease_that_ended_in_mode_observe_is_corrected_in_mode_act)
{
	start_with_lease();
	assert_int_equal(set_initial_cap("a", 20), 0);
	assert_int_equal(device("a")->cap_pct, 20);
	assert_int_equal(change_mode(GPU_MODE_OBSERVE), 0);
	tick(2);
	device("a")->cap_pct = 50;
	tick(2);
	assert_int_equal(device("a")->cap_pct, 50);
	assert_int_equal(change_mode(GPU_MODE_ACT), 0);
	tick(1);
	assert_int_equal(device("a")->cap_pct, 20);
}

TEST(a_lease_that_ended_since_the_last_tick_in_mode_observe_is_not_foreign)
{
	start_with_lease();
	assert_int_equal(hold("a", 20), 0);
	assert_int_equal(change_mode(GPU_MODE_OBSERVE), 0);
	tick(2);
	device("a")->cap_pct = 50;
	assert_int_equal(change_mode(GPU_MODE_ACT), 0);
	tick(1);
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
	assert_int_equal(device("a")->cap_pct, 20);
	/* the journal contains a cap that has changed in mode observe */
	assert_int_equal(hold("a", 30), 0);
	assert_int_equal(change_mode(GPU_MODE_OBSERVE), 0);
	tick(1);
	device("a")->cap_pct = 50;
	tick(1);
	assert_int_equal(change_mode(GPU_MODE_ACT), 0);
	expect_journal("a", 50);
}
