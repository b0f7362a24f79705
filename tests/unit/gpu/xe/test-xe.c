/* SPDX-License-Identifier: MIT */
/*
 * The backend xe on plain files in a temporary folder: which functions are vGPUs, caps, restarts,
 * external changes, the older layouts of the settings, and the PMU with a kernel that is a table of
 * events. pwrite() replaces the whole content of a file, as a kernel attribute does.
 */
#include <sys/syscall.h>

#include "gpu/xe/layout.c"
#include "gpu/xe/pmu.h"
#include "tests/unit/gpu/gvt/test-gvt.h"

#define PF  "0000:03:00.0"
#define DEV "bus/pci/drivers/xe/" PF
#define ADM DEV "/sriov_admin"
#define VF1 "0000_03_00.1"
#define VF2 "0000_03_00.2"
#define VF3 "0000_03_00.3"

ssize_t pwrite(int fd, const void *buffer, size_t size, off_t offset)
{
	if (offset == 0 && ftruncate(fd, 0) < 0)
		return -1;
	return syscall(SYS_pwrite64, fd, buffer, size, offset);
}

static void make_profile(const char *function, const char *priorities)
{
	make_dir(ADM "/%s/profile", function);
	write_file("0\n", ADM "/%s/profile/exec_quantum_ms", function);
	write_file("0\n", ADM "/%s/profile/preempt_timeout_us", function);
	write_file(priorities, ADM "/%s/profile/sched_priority", function);
}

/* Links the virtual function to its PCI device, which the driver does when it is enabled. */
static void enable(int vf)
{
	char to[128], from[128];

	snprintf(to, sizeof(to), "../../../0000:03:00.%d", vf);
	snprintf(from, sizeof(from), "%s/" ADM "/vf%d/device", root, vf);
	assert_int_equal(symlink(to, from), 0);
}

static void disable(int vf)
{
	remove_file(ADM "/vf%d/device", vf);
}

/* Creates a physical function with @totalvfs virtual functions, of which @numvfs are enabled. */
static void make_device(int totalvfs, int numvfs)
{
	char name[16];

	make_dir(ADM "/.bulk_profile");
	write_file("", ADM "/.bulk_profile/sched_priority");
	make_profile("pf", "[low] normal high\n");
	for (int vf = 1; vf <= totalvfs; vf++) {
		snprintf(name, sizeof(name), "vf%d", vf);
		make_profile(name, "[low] normal\n");
		if (vf <= numvfs)
			enable(vf);
	}
}

static void expect_quanta(const char *pf, const char *vf1, const char *vf2, const char *vf3)
{
	expect_file(pf, ADM "/pf/profile/exec_quantum_ms");
	expect_file(vf1, ADM "/vf1/profile/exec_quantum_ms");
	expect_file(vf2, ADM "/vf2/profile/exec_quantum_ms");
	expect_file(vf3, ADM "/vf3/profile/exec_quantum_ms");
}

static const struct gpu_ops *const ops = &gpu_xe_ops;
static struct gpu_vgpu *a, *b, *c;

static void attach_all(void)
{
	a = attach_one(ops, VF1);
	b = attach_one(ops, VF2);
	c = attach_one(ops, VF3);
}

static void open_three(void)
{
	make_device(4, 3);
	snprintf(config.state_dir, sizeof(config.state_dir), "%s", root);
	open_gpu(ops);
	attach_all();
}

static void detach_all(void)
{
	ops->detach(a);
	ops->detach(b);
	ops->detach(c);
	a = b = c = NULL;
}

static int end(void)
{
	detach_all();
	return tear_down();
}

static void set_caps(int cap_a, int cap_b, int cap_c)
{
	assert_int_equal(ops->write_cap(a, 0, cap_a), 0);
	assert_int_equal(ops->write_cap(b, 0, cap_b), 0);
	assert_int_equal(ops->write_cap(c, 0, cap_c), 0);
}

/* Closes and opens the GPU, as a restart of the daemon does. */
static void restart(void)
{
	detach_all();
	ops->close(gpu);
	open_gpu(ops);
	attach_all();
}

FIXTURE(set_up, end)

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
	expect_cap(ops, a, 50); /* not "no limit" */
}

TEST(caps_become_quanta)
{
	open_three();
	expect_cap(ops, a, 0);
	set_caps(20, 30, 40);
	expect_quanta("1", "2", "3", "4");
	expect_cap(ops, a, 20);
	expect_cap(ops, b, 30);
	expect_cap(ops, c, 40);
	expect_file("100000", ADM "/vf1/profile/preempt_timeout_us");
	expect_file("0", ADM "/vf4/profile/preempt_timeout_us");
	expect_file("0", ADM "/vf4/profile/exec_quantum_ms");
	assert_int_equal(ops->write_cap(a, 0, 0), -EINVAL);
	assert_int_equal(ops->write_cap(a, 0, 101), -EINVAL);
}

TEST(a_new_cap_changes_its_own_quantum_and_that_of_the_host)
{
	open_three();
	set_caps(20, 30, 40);
	assert_int_equal(ops->write_cap(c, 0, 30), 0);
	expect_quanta("2", "2", "3", "3");
}

TEST(a_timeout_of_the_administrator_stays)
{
	open_three();
	write_file("40000\n", ADM "/vf1/profile/preempt_timeout_us");
	set_caps(20, 30, 40);
	expect_file("40000", ADM "/vf1/profile/preempt_timeout_us");
}

TEST(caps_survive_a_restart)
{
	open_three();
	write_file("3\n", ADM "/pf/profile/exec_quantum_ms");
	set_caps(50, 50, 50); /* more than the GPU has: each has a third */
	restart();
	expect_cap(ops, a, 50);
	expect_cap(ops, b, 50);
	set_caps(1, 1, 1); /* the smallest slice is worth more than the cap */
	restart();
	expect_cap(ops, a, 1);
	expect_cap(ops, c, 1);
}

TEST(an_external_change_is_a_part_of_the_round)
{
	open_three();
	set_caps(20, 30, 40);
	write_file("8\n", ADM "/vf1/profile/exec_quantum_ms");
	expect_cap(ops, a, 50); /* 8 of 8 + 3 + 4 + 1 ms */
	expect_cap(ops, b, 30);
	write_file("0\n", ADM "/vf1/profile/exec_quantum_ms");
	expect_cap(ops, a, 0);
}

/* --- a driver that gives each function 16 ms when virtual functions are enabled --- */

static void give_defaults(void)
{
	write_file("16\n", ADM "/pf/profile/exec_quantum_ms");
	for (int vf = 1; vf <= 3; vf++) {
		write_file("16\n", ADM "/vf%d/profile/exec_quantum_ms", vf);
		write_file("16000\n", ADM "/vf%d/profile/preempt_timeout_us", vf);
	}
}

static void open_with_defaults(void)
{
	make_device(4, 3);
	give_defaults();
	snprintf(config.state_dir, sizeof(config.state_dir), "%s", root);
	open_gpu(ops);
	attach_all();
}

/* Disables all functions and enables them again between two looks of the daemon. */
static void enable_again(void)
{
	char from[512], to[512], name[32];

	for (int vf = 1; vf <= 3; vf++) { /* the links have other numbers than before */
		snprintf(name, sizeof(name), "../../../0000:03:00.%d", vf);
		snprintf(from, sizeof(from), "%s/" ADM "/vf%d/fresh", root, vf);
		snprintf(to, sizeof(to), "%s/" ADM "/vf%d/device", root, vf);
		assert_int_equal(symlink(name, from), 0);
		assert_int_equal(rename(from, to), 0);
	}
	give_defaults();
}

TEST(a_default_of_the_driver_is_no_slice_of_the_host)
{
	open_with_defaults();
	expect_cap(ops, a, 25);
	set_caps(20, 30, 40);
	expect_quanta("1", "2", "3", "4");
	expect_file("16000", ADM "/vf1/profile/preempt_timeout_us"); /* a limit of the driver */
	for (int vf = 1; vf <= 3; vf++)
		disable(vf);
	list_all(ops);
	expect_file("16", ADM "/pf/profile/exec_quantum_ms"); /* as it was found */
}

TEST(a_default_is_restored_after_a_restart)
{
	open_with_defaults();
	set_caps(20, 30, 40);
	restart();
	expect_cap(ops, b, 30);
	set_caps(30, 30, 30);
	for (int vf = 1; vf <= 3; vf++)
		disable(vf);
	list_all(ops);
	expect_file("16", ADM "/pf/profile/exec_quantum_ms");
}

TEST(a_slice_of_the_host_is_told_from_the_default)
{
	make_device(4, 3);
	give_defaults();
	write_file("8\n", ADM "/pf/profile/exec_quantum_ms");
	open_gpu(ops);
	attach_all();
	set_caps(20, 30, 40);
	expect_quanta("8", "13", "20", "27");
	/* The driver overwrites it when the functions are enabled again. */
	enable_again();
	list_all(ops);
	detach_all();
	attach_all();
	set_caps(20, 30, 40);
	expect_quanta("8", "13", "20", "27");
	for (int vf = 1; vf <= 3; vf++)
		disable(vf);
	list_all(ops);
	expect_file("8", ADM "/pf/profile/exec_quantum_ms");
}

TEST(functions_that_are_enabled_again_with_the_default_take_nothing_from_caps)
{
	open_three();
	set_caps(20, 30, 40);
	expect_quanta("1", "2", "3", "4");
	enable_again();
	list_all(ops);
	detach_all();
	attach_all();
	expect_cap(ops, a, 25);
	set_caps(20, 30, 40);
	expect_quanta("1", "2", "3", "4");
}

static void write_memory(const char *text)
{
	write_file(text, "xe-" PF ".caps");
}

TEST(a_default_is_no_remembered_cap_after_a_reboot)
{
	open_with_defaults();
	write_memory("gover-xe 1 " PF " own 5 found 7 at 99999999999\n"
		     "0 cap 0 16 before 0 16\n1 cap 40 16 before 40 16\n");
	restart();
	expect_cap(ops, a, 25); /* 16 of 16 + 16 + 16 + 16 ms */
	set_caps(20, 30, 40);
	expect_quanta("1", "2", "3", "4");
}

TEST(a_default_is_no_remembered_cap_of_an_earlier_life)
{
	open_with_defaults();
	write_memory("gover-xe 1 " PF " own 1 found 16 at 1\n1 cap 40 16 before 40 16 link 1\n");
	restart();
	expect_cap(ops, a, 25);
	write_memory("gover-xe 1 " PF " own 1 found 16\n1 cap 40 16 before 40 16\n");
	restart();
	expect_cap(ops, a, 40); /* an earlier release wrote the file */
}

TEST(a_damaged_memory_is_not_used)
{
	static const char *const texts[] = {
		"gover-xe 1 " PF " own 1 found 16 at\n1 cap 40 16 before 40 16\n",
		"gover-xe 1 " PF " own 1 found 16 at 1 x\n1 cap 40 16 before 40 16\n",
		"gover-xe 1 " PF " own 0 found 16 at 1\n1 cap 40 16 before 40 16\n",
		"gover-xe 1 " PF " own 1 found 16 at 1\n1 cap 40 16 before 40 16 link\n",
		"gover-xe 1 " PF " own 1 found 16 at 1\n1 cap 40 16 before 40 16 link 1 x\n",
	};

	open_with_defaults();
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		write_memory(texts[i]);
		restart();
		expect_cap(ops, a, 25);
	}
}

/* Otherwise a vGPU would have more than its cap although no program has written its quantum. */
TEST(an_external_change_leaves_the_shares_of_the_others)
{
	open_three();
	set_caps(20, 30, 40);
	write_file("1\n", ADM "/vf3/profile/exec_quantum_ms");
	expect_cap(ops, c, 14); /* 1 of 2 + 3 + 1 + 1 ms */
	list_all(ops);
	expect_quanta("7", "4", "6", "3");
	expect_cap(ops, c, 14);
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
	expect_cap(ops, a, 20);
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
}

TEST(the_quantum_of_a_function_that_is_enabled_is_no_external_change)
{
	int cap_pct;

	open_three();
	assert_int_equal(ops->lease.read_initial_cap(a, &cap_pct), 0);
	assert_int_equal(cap_pct, 0);
	set_caps(20, 30, 40);
	disable(3);
	list_all(ops);
	ops->detach(c);
	write_file("9\n", ADM "/vf3/profile/exec_quantum_ms");
	enable(3);
	c = attach_one(ops, VF3);
	expect_cap(ops, c, 47); /* 9 of 5 + 2 + 3 + 9 ms */
	assert_int_equal(ops->lease.read_initial_cap(c, &cap_pct), 0);
	assert_int_equal(cap_pct, 47);
	assert_int_equal(ops->write_cap(c, 0, 40), 0);
	assert_int_equal(ops->lease.read_initial_cap(c, &cap_pct), 0);
	assert_int_equal(cap_pct, 47);
	restart();
	assert_int_equal(ops->lease.read_initial_cap(c, &cap_pct), 0);
	assert_int_equal(cap_pct, 0); /* set by another program while the daemon was not running */
}

TEST(sharing_is_a_priority)
{
	char was[GPU_SHARING_MAX];
	struct gpu_traits traits;

	make_device(2, 1);
	open_gpu(ops);
	assert_int_equal(ops->sharing.set(gpu, false, false, &err), 0);
	expect_file("normal", ADM "/.bulk_profile/sched_priority");
	ops->traits(gpu, &traits);
	assert_false(traits.guarantees);
	assert_int_equal(ops->sharing.renew(gpu, was), 1); /* the plain files still have low */
	assert_string_equal(was, "guarantee");
	write_file("low [normal] high\n", ADM "/pf/profile/sched_priority");
	write_file("low [normal]\n", ADM "/vf1/profile/sched_priority");
	assert_int_equal(ops->sharing.renew(gpu, was), 0);
	write_file("low normal [high]\n", ADM "/pf/profile/sched_priority");
	assert_int_equal(ops->sharing.set(gpu, true, true, &err), 1);
	assert_non_null(
		strstr(err.msg, "have sharing high, and sharing = auto does not change it"));
	assert_int_equal(ops->sharing.set(gpu, true, false, &err), 0);
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
	assert_int_equal(ops->observe.physical(gpu, 0, &at_ns, &busy_ns), 0);
	assert_int_equal(busy_ns, 400);
}

/* --- a driver that is unbound and bound again --- */

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
	attach_all();
	set_caps(20, 30, 40);
	expect_quanta("1", "2", "3", "4");
	expect_cap(ops, a, 20);
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
}

/* Folders of a device with two GTs in each layout. The names of PF and VF are filled in. */
static const struct tree {
	const char *layout, *driver;
	const char *functions[2]; /* folders with the settings of a function */
	const char *if_idle[2];
} trees[] = {
	{"debugfs", "xe",
	 .functions = {"kernel/debug/dri/" PF "/sriov/%s/tile0/gt0",
		       "kernel/debug/dri/" PF "/sriov/%s/tile0/gt1"},
	 .if_idle = {"kernel/debug/dri/" PF "/sriov/pf/tile0/gt0",
		     "kernel/debug/dri/" PF "/sriov/pf/tile0/gt1"}},
	{"debugfs-gt", "xe",
	 .functions = {"kernel/debug/dri/" PF "/gt0/%s", "kernel/debug/dri/" PF "/gt1/%s"},
	 .if_idle = {"kernel/debug/dri/" PF "/gt0/pf", "kernel/debug/dri/" PF "/gt1/pf"}},
	{"prelim_iov", "i915",
	 .functions = {"bus/pci/drivers/i915/" PF "/drm/card0/prelim_iov/%s/gt0",
		       "bus/pci/drivers/i915/" PF "/drm/card0/prelim_iov/%s/gt1"},
	 .if_idle = {"bus/pci/drivers/i915/" PF "/drm/card0/prelim_iov/pf/gt0/policies",
		     "bus/pci/drivers/i915/" PF "/drm/card0/prelim_iov/pf/gt1/policies"}},
	{"iov", "i915",
	 .functions = {"bus/pci/drivers/i915/" PF "/drm/card1/iov/%s/gt0",
		       "bus/pci/drivers/i915/" PF "/drm/card1/iov/%s/gt1"},
	 .if_idle = {"bus/pci/drivers/i915/" PF "/drm/card1/iov/pf/gt0/policies",
		     "bus/pci/drivers/i915/" PF "/drm/card1/iov/pf/gt1/policies"}},
};

/* Fills in the name of the function; the formats are those of the table. */
static void folder(const char *format, const char *function, char path[256])
{
	const char *at = strstr(format, "%s");

	snprintf(path, 256, "%.*s%s%s", (int)(at - format), format, function, at + 2);
}

static void make_function(const struct tree *row, const char *function)
{
	char path[256];

	for (int gt = 0; gt < 2; gt++) {
		folder(row->functions[gt], function, path);
		make_dir("%s", path);
		write_file("0\n", "%s/exec_quantum_ms", path);
		write_file("0\n", "%s/preempt_timeout_us", path);
	}
}

static void make_layout(const struct tree *row)
{
	char to[64], from[192];

	make_dir("bus/pci/drivers/%s/" PF, row->driver);
	make_function(row, "pf");
	make_function(row, "vf1");
	make_function(row, "vf2");
	for (int gt = 0; gt < 2; gt++) {
		make_dir("%s", row->if_idle[gt]);
		write_file("0\n", "%s/sched_if_idle", row->if_idle[gt]);
	}
	for (int vf = 1; vf <= 2; vf++) {
		snprintf(to, sizeof(to), "../../../../devices/0000:03:00.%d", vf);
		snprintf(from, sizeof(from), "%s/bus/pci/drivers/%s/" PF "/virtfn%d", root,
			 row->driver, vf - 1);
		assert_true(symlink(to, from) == 0 || errno == EEXIST);
	}
}

static void expect_setting(const struct tree *row, const char *function, const char *value)
{
	char path[256];

	for (int gt = 0; gt < 2; gt++) {
		folder(row->functions[gt], function, path);
		expect_file(value, "%s/exec_quantum_ms", path);
	}
}

static void check_layout(const struct tree *row)
{
	char path[256], was[GPU_SHARING_MAX];
	int cap_pct;

	make_layout(row);
	open_gpu(ops);
	list_all(ops);
	assert_string_equal(listed, VF1 "=0 " VF2 "=0 ");
	assert_int_equal(ops->sharing.set(gpu, false, false, &err), 0);
	expect_file("1", "%s/sched_if_idle", row->if_idle[0]);
	expect_file("1", "%s/sched_if_idle", row->if_idle[1]);
	write_file("0\n", "%s/sched_if_idle", row->if_idle[1]);
	assert_int_equal(ops->sharing.renew(gpu, was), 1);
	assert_string_equal(was, "mixed");
	a = attach_one(ops, VF1);
	b = attach_one(ops, VF2);
	assert_int_equal(ops->write_cap(a, 0, 30), 0);
	assert_int_equal(ops->write_cap(b, 0, 40), 0);
	expect_setting(row, "pf", "3");
	expect_setting(row, "vf1", "3");
	expect_setting(row, "vf2", "4");
	folder(row->functions[1], "vf1", path);
	write_file("9\n", "%s/exec_quantum_ms", path);
	assert_int_equal(ops->read_cap(a, &cap_pct), -EUCLEAN);
	assert_int_equal(ops->write_cap(b, 0, 41), 0); /* it does not stop the others */
	assert_int_equal(ops->write_cap(a, 0, 30), 0);
	expect_setting(row, "vf1", "3");
	expect_cap(ops, a, 30);
	detach_all();
	ops->close(gpu);
	gpu = NULL;
	remove_tree(root);
	make_dir("again");
}

TEST(caps_and_sharing_work_on_each_layout)
{
	for (size_t i = 0; i < ARRAY_SIZE(trees); i++)
		check_layout(&trees[i]);
}

TEST(the_newest_layout_is_used)
{
	struct xe_place *places = calloc(4, sizeof(*places));

	assert_non_null(places);
	make_device(2, 2);
	make_layout(&trees[0]);
	make_layout(&trees[1]);
	assert_int_equal(xe_place_all(root, places, 4), 1);
	assert_string_equal(places[0].layout->name, "sriov_admin");
	free(places);
}

TEST(with_several_gpus_each_needs_its_address)
{
	make_device(1, 1);
	make_dir("bus/pci/drivers/xe/0000:04:00.0/sriov_admin/pf/profile");
	write_file("0\n", "bus/pci/drivers/xe/0000:04:00.0/sriov_admin/pf/profile/exec_quantum_ms");
	assert_int_equal(ops->open(&config, &gpu, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "this host has 2 GPUs with SR-IOV"));
	strcpy(config.parent, PF);
	open_gpu(ops);
	list_all(ops);
	assert_string_equal(listed, VF1 "=0 ");
}

TEST(a_host_without_settings_has_no_gpu)
{
	assert_false(ops->present(&config));
	make_dir("bus/pci/drivers/xe/" PF); /* a driver without SR-IOV */
	assert_false(ops->present(&config));
	assert_int_equal(ops->open(&config, &gpu, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.msg, "no GPU of the drivers xe and i915"));
	strcpy(config.parent, "../..");
	assert_int_equal(ops->open(&config, &gpu, &err), -EOPNOTSUPP);
}

/* Appends a cell with the path of the table, where @word replaces %s. */
static void add_cell(char row[512], const char *path, const char *word)
{
	const char *at = strstr(path, "%s");
	size_t used = strlen(row);
	int before = at ? (int)(at - path) : (int)strlen(path);

	snprintf(row + used, 512 - used, " `%.*s%s%s` |", before, path, at ? word : "",
		 at ? at + 2 : "");
}

TEST(the_guide_lists_each_layout)
{
	CLEANUP_FREE char *text = NULL;
	const char *at;

	assert_int_equal(file_read("docs/sriov.md", 1 << 20, &text, NULL), 0);
	at = text;
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		const struct xe_layout *layout = &layouts[i];
		char row[512] = "\n|";

		add_cell(row, layout->name, "");
		add_cell(row, layout->base, "PF");
		add_cell(row, layout->function, "FUNCTION");
		add_cell(row, layout->sharing, "");
		snprintf(row + strlen(row), sizeof(row) - strlen(row), " %s |\n",
			 layout->has_busy ? "yes" : "no");
		at = strstr(at, row); /* in the order of the search */
		if (!at)
			fail_msg("docs/sriov.md needs the row%s", row);
	}
}

#define PMU	   "bus/event_source/devices/xe_0000_03_00.0"
#define EVENTS_MAX 256

/* An event of the fake kernel: its number, and its group. */
static struct {
	bool open;
	uint64_t config;
	int group_fd;
} events[EVENTS_MAX];
static int n_events, refuse, cpu_is;
static uint32_t type_is;

/* The engines of the fake device: render 0 and copy 0 of GT 0, video 1 of GT 1. */
static bool has_engine(uint64_t of)
{
	uint64_t gt = of >> 60, class = of >> 20 & 0xff, instance = of >> 12 & 0xff;

	return (gt == 0 && class < 2 && instance == 0) || (gt == 1 && class == 2 && instance == 1);
}

static int fake_open(const struct perf_event_attr *attr, int cpu, int group_fd, uint64_t *ret_id)
{
	type_is = attr->type;
	cpu_is = cpu;
	if (refuse)
		return -refuse;
	if (attr->sample_period || (attr->config >> 44 & 0xffff) > 2 || !has_engine(attr->config))
		return -ENOENT;
	assert_true(n_events < EVENTS_MAX);
	events[n_events].open = true;
	events[n_events].config = attr->config;
	events[n_events].group_fd = group_fd;
	*ret_id = 1000 + (uint64_t)n_events;
	return n_events++;
}

/* An active tick counts 1, a total tick 100; the engine and the function add to it. */
static uint64_t value_of(uint64_t of)
{
	uint64_t function = of >> 44 & 0xffff, class = of >> 20 & 0xff;

	return ((of & 0xfff) == 2 ? 1 : 100) + 10 * class + 1000 * function;
}

static ssize_t fake_read(int fd, void *buffer, size_t size)
{
	uint64_t *out = buffer;
	size_t at = 3;

	assert_true(events[fd].open);
	assert_int_equal(events[fd].group_fd, -1);
	for (int i = n_events - 1; i >= 0; i--) /* not in the order of opening */
		if (events[i].open && (i == fd || events[i].group_fd == fd)) {
			assert_true((at + 2) * sizeof(*out) <= size);
			out[at++] = value_of(events[i].config);
			out[at++] = 1000 + (uint64_t)i;
		}
	out[0] = (at - 3) / 2;
	out[1] = out[2] = 1;
	return (ssize_t)(at * sizeof(*out));
}

static int fake_close(int fd)
{
	assert_true(events[fd].open);
	events[fd].open = false;
	return 0;
}

static const struct xe_perf fake = {.open = fake_open, .read = fake_read, .close = fake_close};

static int n_open(void)
{
	int n = 0;

	for (int i = 0; i < n_events; i++)
		n += events[i].open;
	return n;
}

static struct xe_place *make_pmu(const char *function_bits)
{
	struct xe_place *place = calloc(1, sizeof(*place));

	n_events = refuse = 0;
	make_device(2, 2);
	make_dir(PMU "/format");
	make_dir(PMU "/events");
	write_file("17\n", PMU "/type");
	write_file("3,5\n", PMU "/cpumask");
	write_file("config:0-11\n", PMU "/format/event");
	write_file("config:12-19\n", PMU "/format/engine_instance");
	write_file("config:20-27\n", PMU "/format/engine_class");
	write_file(function_bits, PMU "/format/function");
	write_file("config:60-63\n", PMU "/format/gt");
	write_file("event=0x02\n", PMU "/events/engine-active-ticks");
	write_file("event=0x03\n", PMU "/events/engine-total-ticks");
	assert_non_null(place);
	assert_int_equal(xe_place_find(root, "", place, &err), 0);
	return place;
}

TEST(a_function_has_one_group_of_all_engines)
{
	struct xe_place *place = make_pmu("config:44-59\n");
	struct xe_counts counts;
	struct xe_pmu *pmu;

	assert_int_equal(xe_pmu_open(place, &fake, &pmu), 0);
	assert_int_equal(type_is, 17);
	assert_int_equal(cpu_is, 3);
	assert_int_equal(n_open(), 0);
	assert_int_equal(xe_pmu_add(pmu, 1), 0);
	assert_int_equal(xe_pmu_add(pmu, 2), 0);
	assert_int_equal(n_open(), 12); /* three engines, two events, two functions */
	assert_int_equal(xe_pmu_read(pmu, 2, &counts), 0);
	assert_int_equal(counts.n_engines, 3);
	assert_int_equal(counts.active[0], 2001);
	assert_int_equal(counts.total[0], 2100);
	assert_int_equal(counts.active[1], 2011);
	assert_int_equal(counts.total[2], 2120);
	assert_int_equal(xe_pmu_add(pmu, 3), -ENOENT); /* more than the device has */
	assert_int_equal(xe_pmu_read(pmu, 3, &counts), -ENOENT);
	assert_int_equal(counts.n_engines, 0);
	xe_pmu_remove(pmu, 1);
	assert_int_equal(n_open(), 6);
	xe_pmu_close(pmu);
	assert_int_equal(n_open(), 0);
	free(place);
}

TEST(a_pmu_that_cannot_count_is_none)
{
	static const struct {
		const char *bits;
		int refuse, result;
	} rows[] = {
		{"config:44-59\n", EACCES, -EACCES}, {"config:44-59\n", EPERM, -EACCES},
		{"config1:0-15\n", 0, -EINVAL},	     {"config:44\n", ENOENT, -ENOENT},
		{"config:44-64\n", 0, -EINVAL},	     {"config:9-3\n", 0, -EINVAL},
	};
	struct xe_place *place;
	struct xe_pmu *pmu;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		place = make_pmu(rows[i].bits);
		refuse = rows[i].refuse;
		assert_int_equal(xe_pmu_open(place, &fake, &pmu), rows[i].result);
		free(place);
		remove_tree(root);
		make_dir("again");
	}
}

TEST(a_kernel_without_functions_is_none)
{
	struct xe_place *place = make_pmu("config:44-59\n");
	struct xe_pmu *pmu;

	remove_file(PMU "/format/function"); /* before Linux 6.16 */
	assert_int_equal(xe_pmu_open(place, &fake, &pmu), -ENOENT);
	free(place);
}
