/* SPDX-License-Identifier: MIT */
/*
 * The GVT-g backend and its sharing on plain files in a temporary folder. The scenarios on
 * gover-sim test what plain files cannot do: counters, rejected values and expired leases.
 */
#include <sys/resource.h>

#include "tests/unit/gpu/gvt/test-gvt.h"

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

/* Creates a GPU that has the vGPU A. */
static void make_one_vgpu(void)
{
	make_parent(P1, "i915-GVTg_V5_8");
	make_vgpu(P1, A, 30);
}

/* Creates and opens a GPU that has the vGPU A. */
static void open_one_vgpu(void)
{
	make_one_vgpu();
	open_gpu(ops);
}

static struct gpu_vgpu *open_vgpu(void)
{
	open_one_vgpu();
	return attach_one(ops, A);
}

/* --- which GPU --- */

FIXTURE(set_up, tear_down)

TEST(the_only_gpu_need_not_be_named)
{
	struct gpu_traits traits;

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

TEST(with_several_gpus_each_needs_a_name)
{
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

TEST(a_missing_gpu_is_rejected_with_a_list_of_the_others)
{
	make_parent(P1, "i915-GVTg_V5_8");
	strcpy(config.parent, P2);
	assert_null(gpu_auto(&config));
	assert_int_equal(ops->open(&config, &gpu, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.msg, "only " P1));
}

TEST(a_host_without_mediated_devices_has_no_gpu)
{
	assert_null(gpu_auto(&config));
	assert_int_equal(ops->open(&config, &gpu, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.msg, "kvmgt"));
}

/* Without a vGPU type of GVT-g, an existing vGPU of GVT-g shows that the backend is suitable. */
TEST(a_bus_with_a_vgpu_is_sufficient)
{
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

TEST(each_listing_shows_the_current_vgpus)
{
	char path[160];

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

TEST(a_reading_contains_the_values_of_the_files)
{
	struct gpu_reading reading;
	struct gpu_vgpu *vgpu = open_vgpu();

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

TEST(invalid_files_give_no_reading)
{
	static const char *const bad[] = {"", "x\n", "-1\n", "1 2\n", "0x10\n"};
	struct gpu_reading reading;
	struct gpu_vgpu *vgpu = open_vgpu();
	int cap_pct;

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

TEST(the_reason_of_a_missing_reading_is_known)
{
	struct gpu_reading reading;
	struct gpu_vgpu *vgpu = open_vgpu();
	char path[512];

	list_all(ops);
	assert_int_equal(ops->read(vgpu, 0, &reading), 0);
	expect_problem("");
	write_file("x\n", "class/mdev_bus/" P1 "/" A "/intel_vgpu/sched_time");
	assert_int_equal(ops->read(vgpu, 0, &reading), -EINVAL);
	expect_problem("vGPU " A ": sched_time cannot be read: Invalid argument");
	ops->detach(vgpu);
	snprintf(path, sizeof(path), "%s/class/mdev_bus/" P1, root);
	remove_tree(path);
	assert_int_equal(ops->list(gpu, found_one, NULL), -ENOENT);
	expect_problem("/class/mdev_bus/" P1 ": No such file or directory (is the driver loaded?)");
	make_parent(P1, "i915-GVTg_V5_8");
	list_all(ops);
	expect_problem("");
}

TEST(the_clock_of_a_faster_host_runs_faster)
{
	struct gpu_vgpu *vgpu;

	make_one_vgpu();
	config.speed = 10;
	open_gpu(ops);
	vgpu = attach_one(ops, A);
	assert_int_equal(reading_at(ops, vgpu, 7000).at_ns, 70000);
	assert_int_equal(ops->lease.renew(vgpu, 500), 0);
	expect_file("5000", "class/mdev_bus/" P1 "/" A "/intel_vgpu/cap_lease_ms");
	ops->detach(vgpu);
}

TEST(caps_and_leases_are_written)
{
	struct gpu_vgpu *vgpu = open_vgpu();
	int cap_pct;

	assert_int_equal(ops->write_cap(vgpu, 0, 0), -EINVAL);
	assert_int_equal(ops->write_cap(vgpu, 0, 101), -EINVAL);
	assert_int_equal(ops->write_cap(vgpu, 0, 25), 0);
	expect_cap(ops, vgpu, 25);
	assert_int_equal(ops->lease.read_initial_cap(vgpu, &cap_pct), 0);
	assert_int_equal(cap_pct, 40);
	assert_int_equal(ops->lease.renew(vgpu, 60000), 0);
	expect_file("60000", "class/mdev_bus/" P1 "/" A "/intel_vgpu/cap_lease_ms");
	assert_int_equal(ops->lease.write_initial_cap(vgpu, 60, 35), 0);
	assert_int_equal(ops->lease.read_initial_cap(vgpu, &cap_pct), 0);
	assert_int_equal(cap_pct, 60);
	expect_cap(ops, vgpu, 35);
	ops->detach(vgpu);
}

TEST(permission_to_write_can_be_granted_later)
{
	static const char *const names[] = {"cap", "cap_lease_ms"};
	struct gpu_vgpu *vgpu;
	char path[512];

	if (geteuid() != 0) {
		print_message("# only root can change its user\n");
		skip();
	}
	make_one_vgpu();
	assert_int_equal(chmod(root, 0755), 0);
	open_gpu(ops);
	assert_int_equal(seteuid(65534), 0);
	vgpu = attach_one(ops, A);
	assert_int_equal(ops->write_cap(vgpu, 0, 25), -EACCES);
	assert_int_equal(ops->lease.renew(vgpu, 5000), -EACCES);
	assert_int_equal(seteuid(0), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/bus/mdev/devices/" A "/intel_vgpu/%s", root,
			 names[i]);
		assert_int_equal(chmod(path, 0666), 0);
	}
	assert_int_equal(seteuid(65534), 0);
	assert_int_equal(ops->write_cap(vgpu, 0, 25), 0);
	assert_int_equal(ops->lease.renew(vgpu, 5000), 0);
	assert_int_equal(seteuid(0), 0);
	expect_file("25", "bus/mdev/devices/" A "/intel_vgpu/cap");
	ops->detach(vgpu);
}

static void remove_vgpu(const char *parent, const char *id)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/class/mdev_bus/%s/%s", root, parent, id);
	remove_tree(path);
	remove_file("bus/mdev/devices/%s", id);
}

/* On plain files, open files of a removed vGPU still work, so only files that are opened later. */
TEST(a_vgpu_that_is_created_again_is_another_one)
{
	struct gpu_vgpu *vgpu, *second;
	int cap_pct;

	open_one_vgpu();
	vgpu = attach_one(ops, A);
	remove_vgpu(P1, A);
	assert_int_equal(ops->lease.read_initial_cap(vgpu, &cap_pct), -ENODEV);
	make_vgpu(P1, A, 30);
	assert_int_equal(ops->lease.read_initial_cap(vgpu, &cap_pct), -ENODEV);
	assert_int_equal(ops->lease.write_initial_cap(vgpu, 60, 35), -ENODEV);
	assert_int_equal(ops->sharing.write_ceiling(vgpu, 60), -ENODEV);
	expect_file("40", "bus/mdev/devices/" A "/intel_vgpu/initial_cap");
	second = attach_one(ops, A);
	assert_int_equal(ops->lease.read_initial_cap(second, &cap_pct), 0);
	assert_true(ops->identity(second) != 0);
	assert_true(ops->identity(second) != ops->identity(vgpu));
	ops->detach(vgpu);
	vgpu = attach_one(ops, A);
	assert_true(ops->identity(second) == ops->identity(vgpu));
	ops->detach(vgpu);
	ops->detach(second);
}

TEST(a_kernel_without_leases_is_supported)
{
	struct gpu_reading reading;
	struct gpu_vgpu *vgpu;

	make_one_vgpu();
	remove_file("class/mdev_bus/" P1 "/" A "/intel_vgpu/cap_lease_ms");
	open_gpu(ops);
	vgpu = attach_one(ops, A);
	assert_int_equal(ops->read(vgpu, 0, &reading), 0);
	assert_int_equal(ops->lease.renew(vgpu, 60000), -EOPNOTSUPP);
	ops->detach(vgpu);
}

TEST(a_stock_kernel_is_reported_with_the_missing_file)
{
	static const char *const files[] = {"cap", "sched_time", "busy_time"};
	struct gpu_vgpu *vgpu;

	open_one_vgpu();
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

TEST(a_vgpu_removed_after_the_listing_does_not_exist)
{
	struct gpu_vgpu *vgpu;
	char path[160];

	open_one_vgpu();
	assert_int_equal(ops->attach(gpu, B, 0, &vgpu, &err), -ENOENT);
	snprintf(path, sizeof(path), "%s/class/mdev_bus/" P1 "/" A "/intel_vgpu", root);
	remove_tree(path);
	assert_int_equal(ops->attach(gpu, A, 0, &vgpu, &err), -ENOENT);
	make_dir("class/mdev_bus/" P1 "/" A "/intel_vgpu"); /* partly removed vGPU */
	assert_int_equal(ops->attach(gpu, A, 0, &vgpu, &err), -ENOENT);
	list_all(ops);
	assert_string_equal(listed, A "=0 ");
}

TEST(files_are_closed)
{
	struct gpu_vgpu *vgpu;
	int before, after;

	open_one_vgpu();
	before = open_files();
	vgpu = attach_one(ops, A);
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

TEST(too_many_open_files_are_reported_with_the_setting)
{
	struct rlimit limit, small;
	struct gpu_vgpu *vgpu;
	int r;

	open_one_vgpu();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	small = limit;
	small.rlim_cur = (rlim_t)lowest_free_fd() + 2;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &small), 0);
	r = ops->attach(gpu, A, 0, &vgpu, &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(r, -EMFILE);
	assert_non_null(strstr(err.msg, "LimitNOFILE"));
}

TEST(vgpus_cannot_be_created_or_removed)
{
	make_parent(P1, "i915-GVTg_V5_8");
	open_gpu(ops);
	assert_int_equal(ops->create(gpu, A, 50, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.msg, "mdev_supported_types"));
	assert_int_equal(ops->destroy(gpu, A, &err), -EOPNOTSUPP);
	assert_null(ops->observe.physical);
}

TEST(sharing_is_written_to_the_file_of_the_gpu)
{
	struct gpu_traits traits;
	struct gpu_vgpu *vgpu;

	make_one_vgpu();
	write_file("hard\n", "class/mdev_bus/%s/gover_sharing", P1);
	write_file("40\n", "class/mdev_bus/%s/%s/intel_vgpu/cap_ceiling", P1, A);
	open_gpu(ops);
	assert_int_equal(ops->sharing.set(gpu, true, false, &err), 0);
	ops->traits(gpu, &traits);
	assert_true(traits.guarantees);
	expect_file("guarantee", "class/mdev_bus/%s/gover_sharing", P1);
	vgpu = attach_one(ops, A);
	assert_int_equal(ops->sharing.write_ceiling(vgpu, 75), 0);
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
	r = ops->sharing.set(gpu, guarantee, by_default, &err);
	ops->traits(gpu, &traits);
	if (r != result || traits.guarantees != (strcmp(becomes, "guarantee") == 0))
		fail_msg("%s: %d, guarantees %d, %s", word, r, traits.guarantees, err.msg);
	expect_file(becomes, "class/mdev_bus/%s/gover_sharing", P1);
}

TEST(another_discipline_stays_by_default)
{
	make_parent(P1, "i915-GVTg_V5_8");
	write_file("hard\n", "class/mdev_bus/%s/gover_sharing", P1);
	open_gpu(ops);
	check_default("hard", true, true, 0, "guarantee");
	check_default("weight", true, true, 1, "weight");
	assert_non_null(strstr(err.msg, "gover_sharing reads weight, and sharing = auto does not"));
	check_default("weight", false, true, 1, "weight");
	check_default("weight", true, false, 0, "guarantee");
}

TEST(a_dry_run_takes_the_discipline_in_force)
{
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
	int r = ops->sharing.renew(gpu, text);

	if (r != result || (was && strcmp(text, was) != 0))
		fail_msg("%d, \"%s\"", r, text);
}

/* A write does not shorten a plain file, so no test replaces a word by a shorter one. */
TEST(an_external_change_of_sharing_is_undone)
{
	struct gpu_vgpu *vgpu;

	open_one_vgpu();
	check_renewal(0, NULL); /* not set yet */
	assert_int_equal(ops->sharing.set(gpu, false, false, &err), 0);
	check_renewal(0, NULL); /* a kernel without the file */
	write_file("cap\n", "class/mdev_bus/%s/gover_sharing", P1);
	check_renewal(1, "cap");
	check_renewal(0, "hard");
	write_file("cap\n", "class/mdev_bus/%s/gover_sharing", P1);
	ops->detach(attach_one(ops, A)); /* sets it too */
	check_renewal(0, "hard");
	assert_int_equal(ops->sharing.set(gpu, true, false, &err), 0);
	write_file("weight\n", "class/mdev_bus/%s/gover_sharing", P1);
	check_renewal(1, "weight");
	check_renewal(0, "guarantee");
	remove_file("class/mdev_bus/%s/gover_sharing", P1);
	check_renewal(-ENOENT, NULL);
	for (int i = 0; i < 2; i++)
		assert_int_equal(ops->attach(gpu, A, 0, &vgpu, &err), -EOPNOTSUPP);
}

TEST(a_kernel_without_the_file_has_only_hard_caps)
{
	struct gpu_traits traits;
	struct gpu_vgpu *vgpu;

	open_one_vgpu();
	assert_int_equal(ops->sharing.set(gpu, false, false, &err), 0);
	assert_int_equal(ops->sharing.set(gpu, true, false, &err), -EOPNOTSUPP);
	assert_non_null(strstr(err.msg, "sharing = guarantee: the scheduler of this kernel has "
					"only hard caps, "));
	assert_non_null(strstr(err.msg, P1 "/gover_sharing does not exist (allowed: hard)"));
	ops->traits(gpu, &traits);
	assert_false(traits.guarantees);
	vgpu = attach_one(ops, A);
	assert_int_equal(ops->sharing.write_ceiling(vgpu, 75), -EOPNOTSUPP);
	ops->detach(vgpu);
}
