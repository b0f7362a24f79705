/* SPDX-License-Identifier: MIT */
/*
 * The tree of 2016q4 from plain files in a temporary folder, with lines as the source of that
 * kernel prints them; no such kernel was at hand.
 */
#include "tests/unit/gpu/test-gvt.h"

#define STAT "kernel/debug/vgt/show_qos_stat"

static const struct gpu_ops *const ops = &gpu_igvtg_ops;

static void make_host(void)
{
	make_dir("kernel/vgt/control");
	make_dir("kernel/vgt/vm0");
	make_dir("kernel/vgt/vm3");
	make_dir("kernel/vgt/vm12");
	make_dir("kernel/debug/vgt");
	write_file("VM-0 Sched time: 5 Busy time: 5 vGPU portion: 1 HW utilization: 1\n"
		   "VM-3 Sched time: 123456789012 Busy time: 12345678901 vGPU portion: 40 HW "
		   "utilization: 50\n"
		   "VM-12 Sched time: 18446744073709551615 Busy time: 0vGPU portion: 0 HW "
		   "utilization: 0\n",
		   STAT);
}

static struct gpu_vgpu *attach(const char *id)
{
	struct gpu_vgpu *vgpu;

	if (ops->attach(gpu, id, 0, &vgpu, &err) < 0)
		fail_msg("%s", err.msg);
	return vgpu;
}

static void a_host_of_2016_is_chosen_where_there_is_no_newer_one(void **state)
{
	(void)state;
	assert_null(gpu_auto(&config));
	assert_int_equal(ops->open(&config, &gpu, &err), -EOPNOTSUPP);
	make_host();
	assert_ptr_equal(gpu_auto(&config), ops);
	make_dir("class/mdev_bus/0000:00:02.0/mdev_supported_types/i915-GVTg_V5_8");
	assert_ptr_equal(gpu_auto(&config), &gpu_gvt_ops);
}

static void every_vm_but_the_host_is_a_vgpu(void **state)
{
	struct gpu_traits traits;

	(void)state;
	make_host();
	open_gpu(ops);
	list_all(ops);
	assert_int_equal(strlen(listed), strlen("vm3=0 vm12=0 "));
	assert_non_null(strstr(listed, "vm3=0 "));
	assert_non_null(strstr(listed, "vm12=0 "));
	ops->traits(gpu, &traits);
	assert_true(traits.read_only);
}

static void use_is_the_portion_times_what_was_used_of_it(void **state)
{
	struct gpu_reading reading;
	struct gpu_vgpu *vm3, *vm12;

	(void)state;
	make_host();
	open_gpu(ops);
	vm3 = attach("vm3");
	vm12 = attach("vm12");
	assert_int_equal(ops->read(vm3, 1000000000, &reading), 0);
	assert_true(reading.busy_valid && !reading.cap_valid);
	assert_int_equal(reading.busy_ns, 0); /* since when the first one counts nobody knows */
	assert_int_equal(ops->read(vm3, 2000000000, &reading), 0);
	assert_int_equal(reading.busy_ns, 200000000);
	assert_int_equal(reading.sched_ns, 1000000000);
	assert_int_equal(ops->read(vm12, 2000000000, &reading), 0);
	assert_int_equal(reading.busy_ns, 0);
	assert_int_equal(ops->read(vm3, 2000000000, &reading), 0); /* once for an instant */
	assert_int_equal(reading.busy_ns, 200000000);
	ops->detach(vm3);
	ops->detach(vm12);
}

static void without_debugfs_there_is_no_busy_time(void **state)
{
	struct gpu_reading reading;
	struct gpu_vgpu *vgpu;

	(void)state;
	make_host();
	remove_file(STAT);
	open_gpu(ops);
	vgpu = attach("vm3");
	assert_int_equal(ops->read(vgpu, 1000000000, &reading), 0);
	assert_false(reading.busy_valid);
	remove_file("kernel/vgt/vm3");
	assert_int_equal(ops->read(vgpu, 2000000000, &reading), -ENODEV);
	ops->detach(vgpu);
}

static void nothing_is_written(void **state)
{
	struct gpu_vgpu *vgpu;
	int cap_pct;

	(void)state;
	make_host();
	open_gpu(ops);
	assert_int_equal(ops->attach(gpu, "vm4", 0, &vgpu, &err), -ENOENT);
	assert_int_equal(ops->attach(gpu, "vm0", 0, &vgpu, &err), -ENOENT);
	vgpu = attach("vm3");
	assert_int_equal(ops->read_cap(vgpu, &cap_pct), 0);
	assert_int_equal(cap_pct, 0);
	assert_int_equal(ops->write_cap(vgpu, 0, 50), -EOPNOTSUPP);
	assert_int_equal(ops->create(gpu, "vm4", 50, &err), -EOPNOTSUPP);
	assert_int_equal(ops->destroy(gpu, "vm3", &err), -EOPNOTSUPP);
	ops->detach(vgpu);
}

#define RIGGED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIGGED(a_host_of_2016_is_chosen_where_there_is_no_newer_one),
		RIGGED(every_vm_but_the_host_is_a_vgpu),
		RIGGED(use_is_the_portion_times_what_was_used_of_it),
		RIGGED(without_debugfs_there_is_no_busy_time),
		RIGGED(nothing_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
