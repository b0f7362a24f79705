/* SPDX-License-Identifier: MIT */
/*
 * Tests vGPUs that another program removes and creates again with the same id: the new device gets
 * the contract and the last cap of the vGPU, and no cap of it is an external change.
 */
#include "tests/unit/gover-d/core/test-manager.h"

#define INITIAL_PCT 12 /* the cap of a new device */

/* Removes the device of vGPU a, and creates another one in its place before the next tick. */
static void create_a_again(int cap_pct, int initial_cap_pct)
{
	uint64_t identity = device("a")->identity;

	device("a")->exists = false;
	tick(1);
	*device("a") = (struct gpu_vgpu){
		.exists = true,
		.cap_pct = cap_pct,
		.initial_cap_pct = initial_cap_pct,
		.identity = identity + 1,
	};
}

/* Sells vGPU a with 60 % and holds it at 37 %. */
static void start_with_a(bool leases)
{
	fake.external_vgpus = true;
	fake.leases = leases;
	*device("a") = (struct gpu_vgpu){.exists = true,
					 .cap_pct = INITIAL_PCT,
					 .initial_cap_pct = leases ? INITIAL_PCT : 0,
					 .identity = 1};
	start();
	sell("a", 60, 0);
	assert_int_equal(hold("a", 37), 0);
	tick(3);
	assert_int_equal(device("a")->cap_pct, 37);
}

static void expect_last_cap(void)
{
	assert_int_equal(device("a")->cap_pct, 37);
	assert_int_equal(vgpu("a")->cap_pct, 37);
	assert_int_equal(vgpu("a")->contract.held_cap_pct, 37); /* the hold of the operator */
	assert_false(vgpu("a")->foreign);
	assert_int_equal(count_decisions("foreign_write", NULL), 0);
	assert_null(find_active_alert(ALERT_FOREIGN_WRITE, "a"));
}

static const char *last_why(const char *kind)
{
	for (int64_t id = decisions_last_id(m->decisions); id > 0; id--) {
		const struct decision *d = decisions_after(m->decisions, id - 1);

		if (d && d->id == id && strcmp(decision_kind_name(d->kind), kind) == 0)
			return d->why;
	}
	fail_msg("no decision of kind %s", kind);
	return NULL;
}

FIXTURE(set_up, tear_down)

TEST(a_new_device_gets_the_last_cap)
{
	start_with_a(true);
	create_a_again(INITIAL_PCT, INITIAL_PCT);
	tick(1);
	expect_last_cap();
	assert_int_equal(count_decisions("missing", "noted"), 1);
	assert_non_null(strstr(last_why("adopt"), "it was removed and created again"));
	tick(5);
	expect_last_cap();
}

/* A new control group has no limit, and its backend has no initial cap. */
TEST(a_first_cap_is_no_external_change_if_the_backend_has_no_initial_cap)
{
	start_with_a(false);
	create_a_again(0, 0);
	tick(1);
	expect_last_cap();
	tick(5);
	expect_last_cap();
}

/* The cap in force differs from the initial cap of the new device: another program wrote it. */
TEST(a_cap_that_was_written_to_the_new_device_is_an_external_change)
{
	start_with_a(true);
	create_a_again(25, INITIAL_PCT);
	tick(1);
	assert_int_equal(count_decisions("foreign_write", "noted"), 1);
	assert_int_equal(device("a")->cap_pct, 25);
}

TEST(later_writes_to_the_new_device_are_external_changes)
{
	start_with_a(false);
	create_a_again(0, 0);
	tick(1 + KEPT_CAP_READINGS);
	expect_last_cap();
	device("a")->cap_pct = 0;
	tick(1);
	assert_int_equal(count_decisions("foreign_write", "noted"), 1);
}

/* The device is removed between the reading of its cap and the reading of its initial cap. */
TEST(a_cap_of_a_device_that_was_removed_meanwhile_is_not_judged)
{
	start_with_a(true);
	device("a")->cap_pct = INITIAL_PCT;
	device("a")->ends_at_read_initial = true;
	tick(1);
	create_a_again(INITIAL_PCT, INITIAL_PCT);
	tick(2);
	expect_last_cap();
	create_a_again(INITIAL_PCT, INITIAL_PCT);
	device("a")->ends_at_read_initial = true;
	tick(2);
	create_a_again(INITIAL_PCT, INITIAL_PCT);
	tick(2);
	expect_last_cap();
}

TEST(a_device_that_is_removed_during_the_first_write_does_not_lose_the_last_cap)
{
	int last_pct, intent_pct;

	start_with_a(true);
	create_a_again(INITIAL_PCT, INITIAL_PCT);
	device("a")->ends_at_write = true;
	tick(2);
	assert_int_equal(count_decisions("adopt", "failed"), 1);
	read_journal("a", &last_pct, &intent_pct);
	assert_int_equal(last_pct, 37);
	assert_int_equal(intent_pct, 37);
	create_a_again(INITIAL_PCT, INITIAL_PCT);
	tick(2);
	expect_last_cap();
}

TEST(counters_of_the_new_device_begin_anew)
{
	start_with_a(true);
	device("a")->demand = BUSY;
	tick(20);
	assert_true(vgpu("a")->row.busy_valid);
	create_a_again(INITIAL_PCT, INITIAL_PCT);
	device("a")->busy_ns = 3e12; /* a counter of another origin */
	tick(1);
	assert_false(vgpu("a")->row.busy_valid);
	tick(1);
	assert_true(vgpu("a")->row.busy_valid);
	assert_true(vgpu("a")->row.load < 0.01);
}
