/* SPDX-License-Identifier: MIT */
/* Tests how the daemon handles failed, unconfirmed and external cap writes over several ticks. */
#include "tests/unit/gover-d/core/test-manager.h"

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

FIXTURE(set_up, tear_down)

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
	assert_int_equal(vgpu("a")->cap_pct, device("a")->cap_pct);
	assert_int_equal(vgpu("a")->expected_cap_pct, device("a")->cap_pct);
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
	tick(KEPT_CAP_READINGS);   /* the driver keeps the cap that was written again */
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
	assert_int_equal(vgpu("b")->cap_pct, 35);
	device("b")->write_errno = device("b")->read_cap_errno = 0;
	device("b")->demand = 0;
	tick(1);
	assert_int_equal(vgpu("b")->cap_pct, 20);
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
		assert_int_equal(vgpu("a")->cap_pct, cap_pct);
		assert_int_equal(count_decisions("foreign_write", NULL), 0);
	}
	assert_int_equal(count_decisions("hold", "written"), 3);
	assert_int_equal(count_decisions("hold", "observed"), 0);
}

TEST(a_smaller_contract_is_written_in_every_mode)
{
	struct contract values = {.terms = {.initial_cap_pct = 60}};

	start();
	sell("a", 80, 0);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++, values.terms.initial_cap_pct -= 10) {
		assert_int_equal(change_mode(modes[i]), 0);
		assert_int_equal(change("a", CONTRACT_INITIAL_CAP, values), 0);
		assert_int_equal(device("a")->cap_pct, values.terms.initial_cap_pct);
	}
}

TEST(an_unwritten_hold_keeps_its_alert_until_release)
{
	const struct contract release = {.held = false};

	start();
	sell("a", 80, 0);
	device("a")->write_errno = EIO;
	(void)hold("a", 40);
	tick(1);
	assert_non_null(find_active_alert(ALERT_WRITE_FAILED, "a"));
	tick(10);
	/* The cap is still 80 %, not 40 %. */
	assert_non_null(find_active_alert(ALERT_WRITE_FAILED, "a"));
	assert_int_equal(change("a", CONTRACT_HELD, release), 0);
	tick(4);
	assert_null(find_active_alert(ALERT_WRITE_FAILED, "a"));
}
