/* SPDX-License-Identifier: MIT */
/* The backend xe on plain files: which functions are vGPUs, caps, restarts, external changes. */
#include "tests/unit/gpu/xe/test-xe.h"

static const struct gpu_ops *const ops = &gpu_xe_ops;
static struct gpu_vgpu *a, *b, *c;

static void open_three(void)
{
	make_device(4, 3);
	snprintf(config.state_dir, sizeof(config.state_dir), "%s", root);
	open_gpu(ops);
	a = attach_one(ops, VF1);
	b = attach_one(ops, VF2);
	c = attach_one(ops, VF3);
}

static void detach_all(void)
{
	ops->detach(a);
	ops->detach(b);
	ops->detach(c);
}

static void set_caps(int cap_a, int cap_b, int cap_c)
{
	assert_int_equal(ops->write_cap(a, 0, cap_a), 0);
	assert_int_equal(ops->write_cap(b, 0, cap_b), 0);
	assert_int_equal(ops->write_cap(c, 0, cap_c), 0);
}

static void expect_cap(struct gpu_vgpu *vgpu, int cap_pct)
{
	int is_pct;

	assert_int_equal(ops->read_cap(vgpu, &is_pct), 0);
	assert_int_equal(is_pct, cap_pct);
}

/* Closes and opens the GPU, as a restart of the daemon does. */
static void restart(void)
{
	detach_all();
	ops->close(gpu);
	open_gpu(ops);
	a = attach_one(ops, VF1);
	b = attach_one(ops, VF2);
	c = attach_one(ops, VF3);
}

FIXTURE(set_up, tear_down)

TEST(enabled_functions_are_vgpus)
{
	struct gpu_traits traits;

	make_device(4, 2);
	assert_ptr_equal(gpu_auto(&config), ops);
	open_gpu(ops);
	list_all(ops);
	assert_string_equal(listed, VF1 "=0 " VF2 "=0 ");
	ops->traits(gpu, &traits);
	assert_false(traits.creates);
	assert_int_equal(traits.floor_pct, 2);
	enable(3);
	disable(1); /* functions are enabled from the first on, so the others are gone too */
	list_all(ops);
	assert_string_equal(listed, "");
	enable(1);
	list_all(ops);
	assert_string_equal(listed, VF1 "=0 " VF2 "=0 " VF3 "=0 ");
	assert_int_equal(ops->create(gpu, "x", 10, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.msg, PF "/sriov_numvfs"));
}

TEST(a_function_that_cannot_be_read_delays_the_others)
{
	make_device(2, 0);
	open_gpu(ops);
	write_file("9\n", ADM "/vf1/profile/exec_quantum_ms");
	write_file("x\n", ADM "/vf2/profile/exec_quantum_ms");
	enable(1);
	enable(2);
	assert_true(ops->list(gpu, found_one, NULL) < 0);
	write_file("9\n", ADM "/vf2/profile/exec_quantum_ms");
	list_all(ops);
	assert_string_equal(listed, VF1 "=0 " VF2 "=0 ");
	a = attach_one(ops, VF1);
	expect_cap(a, 50); /* not "no limit" */
	ops->detach(a);
}

TEST(caps_become_quanta)
{
	open_three();
	expect_cap(a, 0);
	set_caps(20, 30, 40);
	expect_quanta("1", "2", "3", "4");
	expect_cap(a, 20);
	expect_cap(b, 30);
	expect_cap(c, 40);
	expect_file("100000", ADM "/vf1/profile/preempt_timeout_us");
	expect_file("0", ADM "/vf4/profile/preempt_timeout_us");
	expect_file("0", ADM "/vf4/profile/exec_quantum_ms");
	assert_int_equal(ops->write_cap(a, 0, 0), -EINVAL);
	assert_int_equal(ops->write_cap(a, 0, 101), -EINVAL);
	detach_all();
}

TEST(a_new_cap_changes_its_own_quantum_and_that_of_the_host)
{
	open_three();
	set_caps(20, 30, 40);
	assert_int_equal(ops->write_cap(c, 0, 30), 0);
	expect_quanta("2", "2", "3", "3");
	detach_all();
}

TEST(a_timeout_of_the_administrator_stays)
{
	open_three();
	write_file("40000\n", ADM "/vf1/profile/preempt_timeout_us");
	set_caps(20, 30, 40);
	expect_file("40000", ADM "/vf1/profile/preempt_timeout_us");
	detach_all();
}

TEST(caps_survive_a_restart)
{
	open_three();
	write_file("3\n", ADM "/pf/profile/exec_quantum_ms");
	set_caps(50, 50, 50); /* more than the GPU has: each has a third */
	restart();
	expect_cap(a, 50);
	expect_cap(b, 50);
	set_caps(1, 1, 1); /* the smallest slice is worth more than the cap */
	restart();
	expect_cap(a, 1);
	expect_cap(c, 1);
	detach_all();
}

TEST(an_external_change_is_a_part_of_the_round)
{
	open_three();
	set_caps(20, 30, 40);
	write_file("8\n", ADM "/vf1/profile/exec_quantum_ms");
	expect_cap(a, 50); /* 8 of 8 + 3 + 4 + 1 ms */
	expect_cap(b, 30);
	write_file("0\n", ADM "/vf1/profile/exec_quantum_ms");
	expect_cap(a, 0);
	detach_all();
}

/* Otherwise a vGPU would have more than its cap although no program has written its quantum. */
TEST(an_external_change_leaves_the_shares_of_the_others)
{
	open_three();
	set_caps(20, 30, 40);
	write_file("1\n", ADM "/vf3/profile/exec_quantum_ms");
	expect_cap(c, 14); /* 1 of 2 + 3 + 1 + 1 ms */
	list_all(ops);
	expect_quanta("7", "4", "6", "3");
	expect_cap(c, 14);
	detach_all();
}

TEST(the_host_keeps_a_slice_that_was_written_for_it)
{
	open_three();
	set_caps(20, 30, 40);
	write_file("8\n", ADM "/pf/profile/exec_quantum_ms");
	list_all(ops);
	expect_quanta("8", "13", "20", "27");
	write_file("0\n", ADM "/pf/profile/exec_quantum_ms"); /* the driver does this */
	list_all(ops);
	expect_quanta("8", "13", "20", "27");
	expect_cap(a, 20);
	detach_all();
}

TEST(a_function_that_is_disabled_is_gone)
{
	struct gpu_reading reading;

	open_three();
	set_caps(20, 30, 40);
	disable(3);
	assert_int_equal(ops->read(c, 0, &reading), -ENODEV);
	assert_int_equal(ops->write_cap(c, 0, 10), -ENODEV);
	list_all(ops);
	expect_quanta("5", "2", "3", "4"); /* the host takes its slice, so the others keep theirs */
	disable(1);
	disable(2);
	list_all(ops);
	assert_string_equal(listed, "");
	expect_file("0", ADM "/pf/profile/exec_quantum_ms"); /* as it was found */
	detach_all();
}

TEST(a_function_that_is_enabled_again_is_another_one)
{
	int cap_pct;

	open_three();
	disable(3);
	make_dir("keeps/the/number/of/the/link"); /* a file system may give it to a new file */
	enable(3);
	list_all(ops);
	if (ops->read_cap(c, &cap_pct) == 0) {
		print_message("# this file system gave the new link the same number\n");
		skip();
	}
	assert_int_equal(ops->read_cap(c, &cap_pct), -ENODEV);
	detach_all();
}

TEST(the_quantum_of_a_function_that_is_enabled_is_no_external_change)
{
	int cap_pct;

	open_three();
	assert_int_equal(ops->read_initial_cap(a, &cap_pct), 0);
	assert_int_equal(cap_pct, 0);
	set_caps(20, 30, 40);
	disable(3);
	list_all(ops);
	ops->detach(c);
	write_file("9\n", ADM "/vf3/profile/exec_quantum_ms");
	enable(3);
	c = attach_one(ops, VF3);
	expect_cap(c, 47); /* 9 of 5 + 2 + 3 + 9 ms */
	assert_int_equal(ops->read_initial_cap(c, &cap_pct), 0);
	assert_int_equal(cap_pct, 47);
	assert_int_equal(ops->write_cap(c, 0, 40), 0);
	assert_int_equal(ops->read_initial_cap(c, &cap_pct), 0);
	assert_int_equal(cap_pct, 47);
	restart();
	assert_int_equal(ops->read_initial_cap(c, &cap_pct), 0);
	assert_int_equal(cap_pct, 0); /* set by another program while the daemon was not running */
	detach_all();
}

TEST(sharing_is_a_priority)
{
	char was[GPU_SHARING_MAX];
	struct gpu_traits traits;

	make_device(2, 1);
	open_gpu(ops);
	assert_int_equal(ops->set_sharing(gpu, false, false, &err), 0);
	expect_file("normal", ADM "/.bulk_profile/sched_priority");
	ops->traits(gpu, &traits);
	assert_false(traits.guarantees);
	assert_int_equal(ops->renew_sharing(gpu, was), 1); /* the plain files still have low */
	assert_string_equal(was, "guarantee");
	write_file("low [normal] high\n", ADM "/pf/profile/sched_priority");
	write_file("low [normal]\n", ADM "/vf1/profile/sched_priority");
	assert_int_equal(ops->renew_sharing(gpu, was), 0);
	write_file("low normal [high]\n", ADM "/pf/profile/sched_priority");
	assert_int_equal(ops->set_sharing(gpu, true, true, &err), 1);
	assert_non_null(
		strstr(err.msg, "have sharing high, and sharing = auto does not change it"));
	assert_int_equal(ops->set_sharing(gpu, true, false, &err), 0);
	expect_file("low", ADM "/.bulk_profile/sched_priority");
	ops->traits(gpu, &traits);
	assert_true(traits.guarantees);
}

TEST(without_counters_there_is_no_busy_time)
{
	struct gpu_reading reading;

	open_three();
	set_caps(20, 30, 40);
	assert_int_equal(ops->read(a, 1000, &reading), 0);
	assert_false(reading.busy_valid);
	assert_true(reading.cap_valid);
	assert_int_equal(reading.cap_pct, 20);
	assert_int_equal(reading.at_ns, 1000);
	detach_all();
}

static void add_ticks(const char *function, const char *active, const char *total)
{
	make_dir(ADM "/%s/counters", function);
	write_file(active, ADM "/%s/counters/engine_active_ticks", function);
	write_file(total, ADM "/%s/counters/engine_total_ticks", function);
}

TEST(busy_time_is_a_share_of_all_ticks)
{
	struct gpu_reading reading;
	uint64_t at_ns, busy_ns;

	make_device(2, 2);
	add_ticks("pf", "0\n", "0\n");
	add_ticks("vf1", "7\n", "100\n");
	add_ticks("vf2", "7\n", "100\n");
	open_gpu(ops);
	a = attach_one(ops, VF1);
	b = attach_one(ops, VF2);
	assert_int_equal(ops->read(a, 1000, &reading), 0);
	assert_true(reading.busy_valid);
	assert_int_equal(reading.busy_ns, 0);
	assert_int_equal(ops->read(b, 1001, &reading), 0);
	add_ticks("pf", "0\n", "50\n");
	add_ticks("vf1", "37\n", "125\n"); /* 30 of 100 ticks, of which 25 are its own */
	add_ticks("vf2", "17\n", "125\n");
	assert_int_equal(ops->read(a, 2000, &reading), 0);
	assert_true(reading.busy_valid);
	assert_int_equal(reading.busy_ns, 300);
	assert_int_equal(reading.sched_ns, 250);
	add_ticks("vf2", "99\n", "300\n");
	assert_int_equal(ops->read(b, 2001, &reading), 0);
	assert_int_equal(reading.busy_ns, 100); /* of the same instant */
	assert_int_equal(reading.at_ns, 2000);
	assert_int_equal(ops->physical(gpu, 0, &at_ns, &busy_ns), 0);
	assert_int_equal(busy_ns, 400);
	ops->detach(a);
	ops->detach(b);
}

/* --- a driver that is unbound and bound again --- */

static void expect_problem(const char *wanted)
{
	struct err problem = {""};

	ops->problem(gpu, &problem);
	if (wanted[0] ? !strstr(problem.msg, wanted) : problem.msg[0] != '\0')
		fail_msg("the problem is '%s'", problem.msg);
}

TEST(a_driver_that_is_bound_again_is_found_again)
{
	char path[512];

	open_three();
	set_caps(20, 30, 40);
	snprintf(path, sizeof(path), "%s/" DEV, root);
	remove_tree(path);
	assert_int_equal(ops->list(gpu, found_one, NULL), -ENODEV);
	expect_problem("parent = " PF ": not a physical function whose driver has settings");
	assert_int_equal(ops->write_cap(a, 0, 25), -ENODEV);
	detach_all();
	make_device(4, 3);
	list_all(ops);
	assert_string_equal(listed, VF1 "=0 " VF2 "=0 " VF3 "=0 ");
	a = attach_one(ops, VF1);
	b = attach_one(ops, VF2);
	c = attach_one(ops, VF3);
	set_caps(20, 30, 40);
	expect_quanta("1", "2", "3", "4");
	expect_cap(a, 20);
	detach_all();
}

static void set_ticks(const char *active, const char *total)
{
	add_ticks("pf", "0\n", total);
	add_ticks("vf1", active, total);
}

static struct gpu_reading read_at_ms(uint64_t ms)
{
	struct gpu_reading reading;

	assert_int_equal(ops->read(a, ms * 1000000, &reading), 0);
	return reading;
}

TEST(counters_that_stand_still_are_opened_again)
{
	char path[512];

	make_device(1, 1);
	set_ticks("0\n", "0\n");
	open_gpu(ops);
	a = attach_one(ops, VF1);
	set_ticks("10\n", "100\n");
	assert_true(read_at_ms(200).busy_valid);
	expect_problem("");
	/* The open files are those of the old driver now, and nothing changes them. */
	snprintf(path, sizeof(path), "%s/" ADM "/pf/counters", root);
	remove_tree(path);
	snprintf(path, sizeof(path), "%s/" ADM "/vf1/counters", root);
	remove_tree(path);
	set_ticks("5\n", "50\n");
	assert_false(read_at_ms(400).busy_valid);
	expect_problem("the counters of ticks: they do not grow");
	assert_false(read_at_ms(600).busy_valid); /* opened again; a busy time needs two readings */
	set_ticks("25\n", "150\n");
	assert_true(read_at_ms(800).busy_valid);
	expect_problem("");
	ops->detach(a);
}

TEST(missing_counters_are_opened_later_with_growing_delays)
{
	/* The first attempt was made when the GPU was opened. */
	static const uint64_t failing_ms[] = {100000, 100900, 102000, 105900, 106000};

	make_device(1, 1);
	open_gpu(ops);
	a = attach_one(ops, VF1);
	for (size_t i = 0; i < ARRAY_SIZE(failing_ms); i++) {
		assert_false(read_at_ms(failing_ms[i]).busy_valid);
		expect_problem("the counters of ticks: this kernel or driver counts no ticks");
	}
	set_ticks("0\n", "0\n");
	(void)read_at_ms(113900); /* the next attempt is 8 s after that at 106 s */
	expect_problem("the counters of ticks: this kernel or driver counts no ticks");
	(void)read_at_ms(114000);
	set_ticks("10\n", "100\n");
	assert_true(read_at_ms(114200).busy_valid);
	expect_problem("");
	ops->detach(a);
}
