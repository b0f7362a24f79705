/* SPDX-License-Identifier: MIT */
/* The sharing of a GVT-g host: which discipline is set, kept and restored. */
#include "tests/unit/gpu/test-gvt-vgpu.h"

FIXTURE(set_up, tear_down)

TEST(sharing_is_written_to_the_file_of_the_gpu)
{
	struct gpu_traits traits;
	struct gpu_vgpu *vgpu;

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
	int r = ops->renew_sharing(gpu, text);

	if (r != result || (was && strcmp(text, was) != 0))
		fail_msg("%d, \"%s\"", r, text);
}

/* A write does not shorten a plain file, so no test replaces a word by a shorter one. */
TEST(an_external_change_of_sharing_is_undone)
{
	struct gpu_vgpu *vgpu;

	open_one_vgpu();
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

TEST(a_kernel_without_the_file_has_only_hard_caps)
{
	struct gpu_traits traits;
	struct gpu_vgpu *vgpu;

	open_one_vgpu();
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
