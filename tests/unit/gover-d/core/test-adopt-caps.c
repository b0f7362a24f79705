/* SPDX-License-Identifier: MIT */
/* Tests that a cap that could not be brought within its contract is corrected as soon as possible.
 */
#include "tests/unit/gover-d/core/test-manager.h"

static int set_initial_cap(const char *id, int initial_cap_pct)
{
	const struct contract values = {.terms = {.initial_cap_pct = initial_cap_pct}};

	return change(id, CONTRACT_INITIAL_CAP, values);
}

/* Sells vGPU a with 50 %, so that its cap is 50 %, and makes the writes of its cap fail. */
static void start_with_failing_writes(void)
{
	start();
	sell("a", 50, 0.1);
	tick(1);
	assert_int_equal(device("a")->cap_pct, 50);
	device("a")->write_errno = EIO;
}

FIXTURE(set_up, tear_down)

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

TEST(a_lease_that_ended_in_mode_observe_is_corrected_in_mode_act)
{
	fake.external_vgpus = fake.leases = true;
	config.gpus[0].gpu.lease_ms = 10000;
	*device("a") = (struct gpu_vgpu){
		.exists = true, .cap_pct = 50, .initial_cap_pct = 50, .cap_written = true};
	start();
	tick(2);
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
	int last_pct, intent_pct;

	fake.external_vgpus = fake.leases = true;
	config.gpus[0].gpu.lease_ms = 10000;
	*device("a") = (struct gpu_vgpu){
		.exists = true, .cap_pct = 50, .initial_cap_pct = 50, .cap_written = true};
	start();
	tick(2);
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
	read_journal("a", &last_pct, &intent_pct);
	assert_int_equal(last_pct, 50);
}
