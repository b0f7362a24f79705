/* SPDX-License-Identifier: MIT */
/*
 * The GVT-g backend on a tree of plain files in a temporary folder: they stand still and take
 * anything, so what a kernel counts, refuses and ends is not here but in the scenarios on
 * gover-sim.
 */
#include "tests/unit/gpu/test-gvt.h"

#include <sys/resource.h>

#define A  "aaaaaaaa-0000-0000-0000-000000000001"
#define B  "bbbbbbbb-0000-0000-0000-000000000002"
#define P1 "0000:00:02.0"
#define P2 "0000:03:00.0"

static const struct gpu_ops *const ops = &gpu_gvt_ops;

/* A GPU on the bus, with a type that says whose it is. */
static void make_parent(const char *name, const char *type)
{
	make_dir("class/mdev_bus/%s/mdev_supported_types/%s", name, type);
	make_dir("bus/mdev/devices");
}

/* As in sysfs: the vGPU stands below its GPU, the bus has a link. */
static void make_vgpu(const char *parent, const char *id, int cap_pct)
{
	char from[128], to[160];

	make_dir("class/mdev_bus/%s/%s/intel_vgpu", parent, id);
	write_file("1\n", "class/mdev_bus/%s/%s/intel_vgpu/vgpu_id", parent, id);
	write_file("1000000\n", "class/mdev_bus/%s/%s/intel_vgpu/busy_time", parent, id);
	write_file("2000000\n", "class/mdev_bus/%s/%s/intel_vgpu/sched_time", parent, id);
	write_file(cap_pct == 0 ? "0\n" : "30\n", "class/mdev_bus/%s/%s/intel_vgpu/cap", parent,
		   id);
	write_file("40\n", "class/mdev_bus/%s/%s/intel_vgpu/initial_cap", parent, id);
	write_file("0\n", "class/mdev_bus/%s/%s/intel_vgpu/cap_lease_ms", parent, id);
	snprintf(to, sizeof(to), "../../../class/mdev_bus/%s/%s", parent, id);
	snprintf(from, sizeof(from), "%s/bus/mdev/devices/%s", root, id);
	assert_int_equal(symlink(to, from), 0);
}

static struct gpu_vgpu *attach(const char *id)
{
	struct gpu_vgpu *vgpu;

	if (ops->attach(gpu, id, 0, &vgpu, &err) < 0)
		fail_msg("%s", err.msg);
	return vgpu;
}

/* --- which GPU --- */

static void the_only_gpu_need_not_be_named(void **state)
{
	struct gpu_traits traits;

	(void)state;
	make_parent(P1, "i915-GVTg_V5_8");
	make_parent("0000:0a:00.0", "nvidia-63"); /* not one of ours */
	make_vgpu(P1, A, 30);
	assert_ptr_equal(gpu_auto(&config), ops);
	open_gpu(ops);
	ops->traits(gpu, &traits);
	assert_int_equal(traits.step_pct, 1);
	assert_int_equal(traits.floor_pct, 1);
	assert_int_equal(traits.share, GPU_HARD_CAP);
	assert_false(traits.creates);
	list_all(ops);
	assert_string_equal(listed, A "=40 ");
}

static void of_several_each_is_named(void **state)
{
	(void)state;
	make_parent(P1, "i915-GVTg_V5_8");
	make_parent(P2, "i915-GVTg_V5_4");
	make_vgpu(P1, A, 30);
	make_vgpu(P2, B, 30);
	assert_ptr_equal(gpu_auto(&config), ops);
	assert_int_equal(ops->open(&config, &gpu, &err), -EINVAL);
	assert_non_null(strstr(err.msg, P1));
	assert_non_null(strstr(err.msg, P2));
	strcpy(config.parent, P2);
	open_gpu(ops);
	list_all(ops);
	assert_string_equal(listed, B "=40 ");
}

static void a_gpu_that_is_not_there_is_refused_with_those_that_are(void **state)
{
	(void)state;
	make_parent(P1, "i915-GVTg_V5_8");
	strcpy(config.parent, P2);
	assert_null(gpu_auto(&config));
	assert_int_equal(ops->open(&config, &gpu, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.msg, "only " P1));
}

static void a_host_without_mediated_devices_has_none(void **state)
{
	(void)state;
	assert_null(gpu_auto(&config));
	assert_int_equal(ops->open(&config, &gpu, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.msg, "kvmgt"));
}

/* Where the types are not told, what stands on the bus counts. */
static void a_bus_with_a_vgpu_is_enough(void **state)
{
	(void)state;
	make_parent(P1, "of-another-name");
	assert_null(gpu_auto(&config));
	make_vgpu(P1, A, 30);
	make_dir("bus/mdev/devices/" B); /* of another vendor: no intel_vgpu */
	make_dir("bus/mdev/devices/power");
	assert_ptr_equal(gpu_auto(&config), ops);
	open_gpu(ops);
	list_all(ops);
	assert_string_equal(listed, A "=40 ");
}

static void vgpus_come_and_go_between_listings(void **state)
{
	char path[160];

	(void)state;
	make_parent(P1, "i915-GVTg_V5_8");
	open_gpu(ops);
	list_all(ops);
	assert_string_equal(listed, "");
	make_vgpu(P1, A, 30);
	list_all(ops);
	assert_string_equal(listed, A "=40 ");
	snprintf(path, sizeof(path), "%s/class/mdev_bus/" P1, root);
	remove_tree(path);
	assert_int_equal(ops->list(gpu, found_one, NULL), -ENOENT); /* the GPU itself went */
}

/* --- a vGPU --- */

static void a_reading_is_what_the_files_say(void **state)
{
	struct gpu_reading reading;
	struct gpu_vgpu *vgpu;

	(void)state;
	make_parent(P1, "i915-GVTg_V5_8");
	make_vgpu(P1, A, 30);
	open_gpu(ops);
	vgpu = attach(A);
	assert_int_equal(ops->read(vgpu, 7000, &reading), 0);
	assert_true(reading.busy_valid && reading.cap_valid && !reading.frames_valid);
	assert_int_equal(reading.at_ns, 7000);
	assert_int_equal(reading.busy_ns, 1000000);
	assert_int_equal(reading.sched_ns, 2000000);
	assert_int_equal(reading.cap_pct, 30);
	write_file("3000000\n", "class/mdev_bus/" P1 "/" A "/intel_vgpu/busy_time");
	write_file("0\n", "class/mdev_bus/" P1 "/" A "/intel_vgpu/cap");
	assert_int_equal(ops->read(vgpu, 9000, &reading), 0); /* the same files, kept open */
	assert_int_equal(reading.busy_ns, 3000000);
	assert_int_equal(reading.cap_pct, 0);
	ops->detach(vgpu);
}

static void what_is_no_number_is_no_reading(void **state)
{
	static const char *const bad[] = {"", "x\n", "-1\n", "1 2\n", "0x10\n"};
	struct gpu_reading reading;
	struct gpu_vgpu *vgpu;
	int cap_pct;

	(void)state;
	make_parent(P1, "i915-GVTg_V5_8");
	make_vgpu(P1, A, 30);
	open_gpu(ops);
	vgpu = attach(A);
	write_file("101\n", "class/mdev_bus/" P1 "/" A "/intel_vgpu/cap");
	assert_int_equal(ops->read(vgpu, 0, &reading), 0);
	assert_true(reading.busy_valid && !reading.cap_valid);
	assert_int_equal(ops->read_cap(vgpu, &cap_pct), -EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		write_file(bad[i], "class/mdev_bus/" P1 "/" A "/intel_vgpu/busy_time");
		assert_int_equal(ops->read(vgpu, 0, &reading), -EINVAL);
	}
	ops->detach(vgpu);
}

static void the_clock_of_a_faster_host_runs_faster(void **state)
{
	struct gpu_reading reading;
	struct gpu_vgpu *vgpu;

	(void)state;
	make_parent(P1, "i915-GVTg_V5_8");
	make_vgpu(P1, A, 30);
	config.speed = 10;
	open_gpu(ops);
	vgpu = attach(A);
	assert_int_equal(ops->read(vgpu, 7000, &reading), 0);
	assert_int_equal(reading.at_ns, 70000);
	assert_int_equal(ops->renew(vgpu, 500), 0);
	expect_file("5000", "class/mdev_bus/" P1 "/" A "/intel_vgpu/cap_lease_ms");
	ops->detach(vgpu);
}

static void caps_and_leases_are_written_where_they_are_read(void **state)
{
	struct gpu_vgpu *vgpu;
	int cap_pct;

	(void)state;
	make_parent(P1, "i915-GVTg_V5_8");
	make_vgpu(P1, A, 30);
	open_gpu(ops);
	vgpu = attach(A);
	assert_int_equal(ops->write_cap(vgpu, 0, 0), -EINVAL);
	assert_int_equal(ops->write_cap(vgpu, 0, 101), -EINVAL);
	assert_int_equal(ops->write_cap(vgpu, 0, 25), 0);
	assert_int_equal(ops->read_cap(vgpu, &cap_pct), 0);
	assert_int_equal(cap_pct, 25);
	assert_int_equal(ops->read_initial_cap(vgpu, &cap_pct), 0);
	assert_int_equal(cap_pct, 40);
	assert_int_equal(ops->renew(vgpu, 60000), 0);
	expect_file("60000", "class/mdev_bus/" P1 "/" A "/intel_vgpu/cap_lease_ms");
	assert_int_equal(ops->write_initial_cap(vgpu, 60, 35), 0);
	assert_int_equal(ops->read_initial_cap(vgpu, &cap_pct), 0);
	assert_int_equal(cap_pct, 60);
	assert_int_equal(ops->read_cap(vgpu, &cap_pct), 0);
	assert_int_equal(cap_pct, 35);
	ops->detach(vgpu);
}

static void the_right_to_write_may_come_later(void **state)
{
	static const char *const names[] = {"cap", "cap_lease_ms"};
	struct gpu_vgpu *vgpu;
	char path[512];

	(void)state;
	if (geteuid() != 0)
		skip(); /* whose files they are is told by who may write them */
	make_parent(P1, "i915-GVTg_V5_8");
	make_vgpu(P1, A, 30);
	assert_int_equal(chmod(root, 0755), 0);
	open_gpu(ops);
	assert_int_equal(seteuid(65534), 0);
	vgpu = attach(A);
	assert_int_equal(ops->write_cap(vgpu, 0, 25), -EACCES);
	assert_int_equal(ops->renew(vgpu, 5000), -EACCES);
	assert_int_equal(seteuid(0), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/bus/mdev/devices/" A "/intel_vgpu/%s", root,
			 names[i]);
		assert_int_equal(chmod(path, 0666), 0);
	}
	assert_int_equal(seteuid(65534), 0);
	assert_int_equal(ops->write_cap(vgpu, 0, 25), 0);
	assert_int_equal(ops->renew(vgpu, 5000), 0);
	assert_int_equal(seteuid(0), 0);
	expect_file("25", "bus/mdev/devices/" A "/intel_vgpu/cap");
	ops->detach(vgpu);
}

static void a_kernel_without_leases_is_fine(void **state)
{
	struct gpu_reading reading;
	struct gpu_vgpu *vgpu;

	(void)state;
	make_parent(P1, "i915-GVTg_V5_8");
	make_vgpu(P1, A, 30);
	remove_file("class/mdev_bus/" P1 "/" A "/intel_vgpu/cap_lease_ms");
	open_gpu(ops);
	vgpu = attach(A);
	assert_int_equal(ops->read(vgpu, 0, &reading), 0);
	assert_int_equal(ops->renew(vgpu, 60000), -EOPNOTSUPP);
	ops->detach(vgpu);
}

static void a_stock_kernel_is_told_by_what_it_lacks(void **state)
{
	static const char *const files[] = {"cap", "sched_time", "busy_time"};
	struct gpu_vgpu *vgpu;

	(void)state;
	make_parent(P1, "i915-GVTg_V5_8");
	make_vgpu(P1, A, 30);
	open_gpu(ops);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		remove_file("class/mdev_bus/" P1 "/" A "/intel_vgpu/%s", files[i]);
		assert_int_equal(ops->attach(gpu, A, 0, &vgpu, &err), -EOPNOTSUPP);
		assert_non_null(strstr(err.msg, files[i]));
	}
	list_all(ops);
	assert_string_equal(listed, A "=40 ");
	remove_file("class/mdev_bus/" P1 "/" A "/intel_vgpu/initial_cap");
	list_all(ops);
	assert_string_equal(listed, A "=0 ");
}

static void one_that_went_between_the_listing_and_the_look_is_not_there(void **state)
{
	struct gpu_vgpu *vgpu;
	char path[160];

	(void)state;
	make_parent(P1, "i915-GVTg_V5_8");
	make_vgpu(P1, A, 30);
	open_gpu(ops);
	assert_int_equal(ops->attach(gpu, B, 0, &vgpu, &err), -ENOENT);
	snprintf(path, sizeof(path), "%s/class/mdev_bus/" P1 "/" A "/intel_vgpu", root);
	remove_tree(path);
	assert_int_equal(ops->attach(gpu, A, 0, &vgpu, &err), -ENOENT);
	make_dir("class/mdev_bus/" P1 "/" A "/intel_vgpu"); /* half gone: not even its number */
	assert_int_equal(ops->attach(gpu, A, 0, &vgpu, &err), -ENOENT);
	list_all(ops);
	assert_string_equal(listed, A "=0 ");
}

static void files_are_let_go_of(void **state)
{
	struct gpu_vgpu *vgpu;
	int before, after;

	(void)state;
	make_parent(P1, "i915-GVTg_V5_8");
	make_vgpu(P1, A, 30);
	open_gpu(ops);
	before = open_files();
	vgpu = attach(A);
	assert_true(open_files() > before);
	ops->detach(vgpu);
	remove_file("class/mdev_bus/" P1 "/" A "/intel_vgpu/cap");
	assert_true(ops->attach(gpu, A, 0, &vgpu, &err) < 0);
	list_all(ops);
	after = open_files();
	assert_int_equal(before, after);
	ops->detach(NULL);
	ops->close(NULL);
}

static void too_many_open_files_are_told_with_what_to_do(void **state)
{
	struct rlimit limit, small;
	struct gpu_vgpu *vgpu;
	int r;

	(void)state;
	make_parent(P1, "i915-GVTg_V5_8");
	make_vgpu(P1, A, 30);
	open_gpu(ops);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	small = limit;
	small.rlim_cur = (rlim_t)lowest_free_fd() + 2;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &small), 0);
	r = ops->attach(gpu, A, 0, &vgpu, &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(r, -EMFILE);
	assert_non_null(strstr(err.msg, "LimitNOFILE"));
}

static void vgpus_are_made_and_removed_by_others(void **state)
{
	(void)state;
	make_parent(P1, "i915-GVTg_V5_8");
	open_gpu(ops);
	assert_int_equal(ops->create(gpu, A, 50, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.msg, "mdev_supported_types"));
	assert_int_equal(ops->destroy(gpu, A, &err), -EOPNOTSUPP);
	assert_null(ops->physical);
}

#define RIGGED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIGGED(the_only_gpu_need_not_be_named),
		RIGGED(of_several_each_is_named),
		RIGGED(a_gpu_that_is_not_there_is_refused_with_those_that_are),
		RIGGED(a_host_without_mediated_devices_has_none),
		RIGGED(a_bus_with_a_vgpu_is_enough),
		RIGGED(vgpus_come_and_go_between_listings),
		RIGGED(a_reading_is_what_the_files_say),
		RIGGED(what_is_no_number_is_no_reading),
		RIGGED(the_clock_of_a_faster_host_runs_faster),
		RIGGED(caps_and_leases_are_written_where_they_are_read),
		RIGGED(the_right_to_write_may_come_later),
		RIGGED(a_kernel_without_leases_is_fine),
		RIGGED(a_stock_kernel_is_told_by_what_it_lacks),
		RIGGED(one_that_went_between_the_listing_and_the_look_is_not_there),
		RIGGED(files_are_let_go_of),
		RIGGED(too_many_open_files_are_told_with_what_to_do),
		RIGGED(vgpus_are_made_and_removed_by_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
