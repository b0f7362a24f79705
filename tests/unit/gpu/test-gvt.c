/* SPDX-License-Identifier: MIT */
/*
 * The GVT-g backend on plain files in a temporary folder. The scenarios on gover-sim test what
 * plain files cannot do: counters, rejected values and expired leases.
 */
#include "tests/unit/gpu/test-gvt.h"

#include <sys/resource.h>

#define A  "aaaaaaaa-0000-0000-0000-000000000001"
#define B  "bbbbbbbb-0000-0000-0000-000000000002"
#define P1 "0000:00:02.0"
#define P2 "0000:03:00.0"

static const struct gpu_ops *const ops = &gpu_gvt_ops;

/* Creates a GPU on the bus, with a type that shows its vendor. */
static void make_parent(const char *name, const char *type)
{
	make_dir("class/mdev_bus/%s/mdev_supported_types/%s", name, type);
	make_dir("bus/mdev/devices");
}

/* Creates a vGPU as in sysfs: a folder below the GPU, and a link to this folder on the bus. */
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
	make_parent("0000:0a:00.0", "nvidia-63"); /* not GVT-g */
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

static void with_several_gpus_each_needs_a_name(void **state)
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

static void sharing_is_written_to_the_file_of_the_gpu(void **state)
{
	struct gpu_traits traits;
	struct gpu_vgpu *vgpu;

	(void)state;
	make_parent(P1, "i915-GVTg_V5_8");
	make_vgpu(P1, A, 30);
	write_file("hard\n", "class/mdev_bus/%s/gover_sharing", P1);
	write_file("40\n", "class/mdev_bus/%s/%s/intel_vgpu/cap_ceiling", P1, A);
	open_gpu(ops);
	assert_int_equal(ops->set_sharing(gpu, true, false, &err), 0);
	ops->traits(gpu, &traits);
	assert_true(traits.guarantees);
	expect_file("guarantee", "class/mdev_bus/%s/gover_sharing", P1);
	vgpu = attach(A);
	assert_int_equal(ops->write_ceiling(vgpu, 75), 0);
	expect_file("75", "class/mdev_bus/%s/%s/intel_vgpu/cap_ceiling", P1, A);
	ops->detach(vgpu);
}

/*
 * Writes @word to gover_sharing, sets the sharing, and compares the file with @becomes. A write
 * does not shorten a plain file, so no test replaces a word by a shorter one.
 */
static void check_default(const char *word, bool guarantee, bool by_default, int result,
			  const char *becomes)
{
	struct gpu_traits traits;
	int r;

	write_file(word, "class/mdev_bus/%s/gover_sharing", P1);
	r = ops->set_sharing(gpu, guarantee, by_default, &err);
	ops->traits(gpu, &traits);
	if (r != result || traits.guarantees != (strcmp(becomes, "guarantee") == 0))
		fail_msg("%s: %d, guarantees %d, %s", word, r, traits.guarantees, err.msg);
	expect_file(becomes, "class/mdev_bus/%s/gover_sharing", P1);
}

static void another_discipline_stays_by_default(void **state)
{
	(void)state;
	make_parent(P1, "i915-GVTg_V5_8");
	write_file("hard\n", "class/mdev_bus/%s/gover_sharing", P1);
	open_gpu(ops);
	check_default("hard", true, true, 0, "guarantee");
	check_default("weight", true, true, 1, "weight");
	assert_non_null(strstr(err.msg, "gover_sharing reads weight, and sharing = auto does not"));
	check_default("weight", false, true, 1, "weight");
	check_default("weight", true, false, 0, "guarantee");
}

static void a_dry_run_takes_the_discipline_in_force(void **state)
{
	(void)state;
	make_parent(P1, "i915-GVTg_V5_8");
	write_file("hard\n", "class/mdev_bus/%s/gover_sharing", P1);
	config.dry_run = true;
	open_gpu(ops);
	check_default("hard", true, true, 1, "hard");
	assert_non_null(strstr(err.msg, "gover_sharing reads hard, and a dry run does not change"));
	check_default("guarantee", true, true, 0, "guarantee");
	check_default("guarantee", false, true, 1, "guarantee");
	check_default("weight", true, true, 1, "weight");
	check_default("hard", true, false, 1, "hard");
	check_default("guarantee", true, false, 0, "guarantee");
	check_default("guarantee", false, false, 1, "guarantee");
	check_default("weight", false, false, 1, "weight");
}

static void check_renewal(int result, const char *was)
{
	char text[GPU_SHARING_MAX] = "";
	int r = ops->renew_sharing(gpu, text);

	if (r != result || (was && strcmp(text, was) != 0))
		fail_msg("%d, \"%s\"", r, text);
}

/* A write does not shorten a plain file, so no test replaces a word by a shorter one. */
static void an_external_change_of_sharing_is_undone(void **state)
{
	struct gpu_vgpu *vgpu;

	(void)state;
	make_parent(P1, "i915-GVTg_V5_8");
	make_vgpu(P1, A, 30);
	open_gpu(ops);
	check_renewal(0, NULL); /* not set yet */
	assert_int_equal(ops->set_sharing(gpu, false, false, &err), 0);
	check_renewal(0, NULL); /* a kernel without the file */
	write_file("cap\n", "class/mdev_bus/%s/gover_sharing", P1);
	check_renewal(1, "cap");
	check_renewal(0, "hard");
	write_file("cap\n", "class/mdev_bus/%s/gover_sharing", P1);
	ops->detach(attach(A)); /* sets it too */
	check_renewal(0, "hard");
	assert_int_equal(ops->set_sharing(gpu, true, false, &err), 0);
	write_file("weight\n", "class/mdev_bus/%s/gover_sharing", P1);
	check_renewal(1, "weight");
	check_renewal(0, "guarantee");
	remove_file("class/mdev_bus/%s/gover_sharing", P1);
	check_renewal(-ENOENT, NULL);
	for (int i = 0; i < 2; i++)
		assert_int_equal(ops->attach(gpu, A, 0, &vgpu, &err), -EOPNOTSUPP);
}

static void a_kernel_without_the_file_has_only_hard_caps(void **state)
{
	struct gpu_traits traits;
	struct gpu_vgpu *vgpu;

	(void)state;
	make_parent(P1, "i915-GVTg_V5_8");
	make_vgpu(P1, A, 30);
	open_gpu(ops);
	assert_int_equal(ops->set_sharing(gpu, false, false, &err), 0);
	assert_int_equal(ops->set_sharing(gpu, true, false, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.msg, "sharing = guarantee: the scheduler of this kernel has "
					"only hard caps, "));
	assert_non_null(strstr(err.msg, P1 "/gover_sharing does not exist (allowed: hard)"));
	ops->traits(gpu, &traits);
	assert_false(traits.guarantees);
	vgpu = attach(A);
	assert_int_equal(ops->write_ceiling(vgpu, 75), -EOPNOTSUPP);
	ops->detach(vgpu);
}

static void a_missing_gpu_is_rejected_with_a_list_of_the_others(void **state)
{
	(void)state;
	make_parent(P1, "i915-GVTg_V5_8");
	strcpy(config.parent, P2);
	assert_null(gpu_auto(&config));
	assert_int_equal(ops->open(&config, &gpu, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.msg, "only " P1));
}

static void a_host_without_mediated_devices_has_no_gpu(void **state)
{
	(void)state;
	assert_null(gpu_auto(&config));
	assert_int_equal(ops->open(&config, &gpu, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.msg, "kvmgt"));
}

/* Without a vGPU type of GVT-g, an existing vGPU of GVT-g shows that the backend is suitable. */
static void a_bus_with_a_vgpu_is_sufficient(void **state)
{
	(void)state;
	make_parent(P1, "of-another-name");
	assert_null(gpu_auto(&config));
	make_vgpu(P1, A, 30);
	make_dir("bus/mdev/devices/" B); /* a device of another vendor, without intel_vgpu */
	make_dir("bus/mdev/devices/power");
	assert_ptr_equal(gpu_auto(&config), ops);
	open_gpu(ops);
	list_all(ops);
	assert_string_equal(listed, A "=40 ");
}

static void each_listing_shows_the_current_vgpus(void **state)
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
	assert_int_equal(ops->list(gpu, found_one, NULL), -ENOENT); /* the GPU was removed */
}

/* --- a vGPU --- */

static void a_reading_contains_the_values_of_the_files(void **state)
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
	assert_int_equal(ops->read(vgpu, 9000, &reading), 0); /* reads the same open files again */
	assert_int_equal(reading.busy_ns, 3000000);
	assert_int_equal(reading.cap_pct, 0);
	ops->detach(vgpu);
}

static void invalid_files_give_no_reading(void **state)
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
	assert_int_equal(reading.cap_errno, EINVAL);
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

static void caps_and_leases_are_written(void **state)
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

static void permission_to_write_can_be_granted_later(void **state)
{
	static const char *const names[] = {"cap", "cap_lease_ms"};
	struct gpu_vgpu *vgpu;
	char path[512];

	(void)state;
	if (geteuid() != 0) {
		print_message("# only root can change its user\n");
		skip();
	}
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

static void a_kernel_without_leases_is_supported(void **state)
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

static void a_stock_kernel_is_reported_with_the_missing_file(void **state)
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

static void a_vgpu_removed_after_the_listing_does_not_exist(void **state)
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
	make_dir("class/mdev_bus/" P1 "/" A "/intel_vgpu"); /* partly removed vGPU */
	assert_int_equal(ops->attach(gpu, A, 0, &vgpu, &err), -ENOENT);
	list_all(ops);
	assert_string_equal(listed, A "=0 ");
}

static void files_are_closed(void **state)
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

static void too_many_open_files_are_reported_with_the_setting(void **state)
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

static void vgpus_cannot_be_created_or_removed(void **state)
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
		RIGGED(sharing_is_written_to_the_file_of_the_gpu),
		RIGGED(another_discipline_stays_by_default),
		RIGGED(a_dry_run_takes_the_discipline_in_force),
		RIGGED(an_external_change_of_sharing_is_undone),
		RIGGED(a_kernel_without_the_file_has_only_hard_caps),
		RIGGED(with_several_gpus_each_needs_a_name),
		RIGGED(a_missing_gpu_is_rejected_with_a_list_of_the_others),
		RIGGED(a_host_without_mediated_devices_has_no_gpu),
		RIGGED(a_bus_with_a_vgpu_is_sufficient),
		RIGGED(each_listing_shows_the_current_vgpus),
		RIGGED(a_reading_contains_the_values_of_the_files),
		RIGGED(invalid_files_give_no_reading),
		RIGGED(the_clock_of_a_faster_host_runs_faster),
		RIGGED(caps_and_leases_are_written),
		RIGGED(permission_to_write_can_be_granted_later),
		RIGGED(a_kernel_without_leases_is_supported),
		RIGGED(a_stock_kernel_is_reported_with_the_missing_file),
		RIGGED(a_vgpu_removed_after_the_listing_does_not_exist),
		RIGGED(files_are_closed),
		RIGGED(too_many_open_files_are_reported_with_the_setting),
		RIGGED(vgpus_cannot_be_created_or_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
