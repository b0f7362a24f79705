/* SPDX-License-Identifier: MIT */
/*
 * Tests the simulated sysfs trees without a mount: their layout, their files, and the errors of a
 * kernel. tests/kernel/xe/abi.py compares the folder sriov_admin with the kernel's document.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "sim/host/tree.h"
#include "tests/unit/unit.h"

#define GPU    "/devices/pci0000:00/0000:00:02.0"
#define TYPES  GPU "/mdev_supported_types"
#define EIGHTH TYPES "/i915-GVTg_V5_8"
#define HALF   TYPES "/i915-GVTg_V5_2"
#define A      "aaaaaaaa-0000-0000-0000-000000000001"
#define B      "bbbbbbbb-0000-0000-0000-000000000002"
#define VGPU   GPU "/" A
#define GROUP  VGPU "/intel_vgpu"

static struct tree *tree;

static int set_up(void)
{
	tree = tree_new(TREE_GVT, 2, 8);
	return 0;
}

static int set_up_xe(void)
{
	tree = tree_new(TREE_XE, 2, 9);
	return 0;
}

static int tear_down(void)
{
	tree = tree_free(tree);
	return 0;
}

FIXTURE(set_up, tear_down)

static struct tree_node node_at(const char *path)
{
	struct tree_node node;

	if (tree_find(tree, path, &node) < 0)
		fail_msg("%s: missing", path);
	return node;
}

static int put(const char *path, const char *text)
{
	struct tree_node node;
	int r = tree_find(tree, path, &node);

	return r < 0 ? r : tree_write(&node, text, strlen(text));
}

static void expect(const char *path, const char *text)
{
	struct tree_node node = node_at(path);
	char is[TREE_TEXT_MAX];
	int n = tree_read(&node, is);

	assert_true(n > 0);
	is[n] = '\0';
	assert_string_equal(is, text);
}

static long long number_at(const char *path)
{
	struct tree_node node = node_at(path);
	char text[TREE_TEXT_MAX];
	long long value;

	assert_true(tree_read(&node, text) > 0);
	assert_int_equal(sscanf(text, "%lld", &value), 1);
	return value;
}

static void set_time(uint64_t to_ms)
{
	tree_set_now(tree, to_ms * NS_PER_MS);
}

TEST(a_created_vgpu_appears_at_all_its_sysfs_paths)
{
	static const struct {
		const char *path, *text;
	} links[] = {
		{"/class/mdev_bus/0000:00:02.0", "../../devices/pci0000:00/0000:00:02.0"},
		{"/bus/mdev/devices/" A, "../../../devices/pci0000:00/0000:00:02.0/" A},
		{EIGHTH "/devices/" A, "../../../" A},
		{VGPU "/mdev_type", "../mdev_supported_types/i915-GVTg_V5_8"},
	};
	struct tree_node node;

	assert_int_equal(tree_find(tree, VGPU, &node), -ENOENT);
	assert_int_equal(put(EIGHTH "/create", A "\n"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		char text[TREE_LINK_MAX];

		node = node_at(links[i].path);
		assert_true(S_ISLNK(tree_mode(&node)));
		tree_link_text(&node, text);
		assert_string_equal(text, links[i].text);
	}
	expect(GROUP "/vgpu_id", "1\n");
	expect(GROUP "/cap", "12\n");
	assert_int_equal(put(VGPU "/remove", "1"), 0);
	assert_int_equal(tree_find(tree, "/bus/mdev/devices/" A, &node), -ENOENT);
}

static uint64_t inode_of(const char *path)
{
	const struct tree_node node = node_at(path);

	return tree_inode(&node);
}

TEST(a_vgpu_that_is_created_again_has_other_inodes)
{
	static const char *const paths[] = {VGPU, GROUP, (GROUP "/cap"), ("/bus/mdev/devices/" A)};
	uint64_t was[ARRAY_SIZE(paths)];

	assert_int_equal(put(EIGHTH "/create", A), 0);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		was[i] = inode_of(paths[i]);
		assert_int_equal(inode_of(paths[i]), was[i]);
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(was[k], was[i]);
	}
	assert_int_equal(put(VGPU "/remove", "1"), 0);
	assert_int_equal(put(EIGHTH "/create", A), 0);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		assert_int_not_equal(inode_of(paths[i]), was[i]);
}

TEST(only_directories_have_children)
{
	struct tree_node node;

	assert_int_equal(tree_find(tree, "/", &node), 0);
	assert_int_equal(tree_find(tree, "/bus/", &node), 0);
	assert_int_equal(tree_find(tree, "/bu", &node), -ENOENT);
	assert_int_equal(tree_find(tree, "/buses", &node), -ENOENT);
	assert_int_equal(tree_find(tree, EIGHTH "/name/x", &node), -ENOTDIR);
	assert_int_equal(tree_find(tree, "/class/mdev_bus/0000:00:02.0/x", &node), -ENOTDIR);
}

static const struct {
	const char *path, *text;
	int r;
} writes[] = {
	{EIGHTH "/create", A, -EEXIST},
	{TYPES "/i915-GVTg_V5_4/create", "AAAAAAAA-0000-0000-0000-000000000001", -EEXIST},
	{EIGHTH "/create", "aaaaaaaa-0000-0000-0000-00000000000", -EINVAL},
	{EIGHTH "/create", "aaaaaaaa-0000-0000-0000-00000000000g", -EINVAL},
	{EIGHTH "/create", "", -EINVAL},
	{EIGHTH "/name", "x", -EACCES},
	{GROUP "/busy_time", "0", -EACCES},
	{GROUP "/sched_time", "0", -EACCES},
	{GROUP "/vgpu_id", "0", -EACCES},
	{GROUP "/cap", "101", -EINVAL},
	{GROUP "/cap", "-1", -EINVAL},
	{GROUP "/cap", "4294967295", -EINVAL},
	{GROUP "/cap", "4294967296", -ERANGE},
	{GROUP "/cap", "99999999999999999999999", -ERANGE},
	{GROUP "/cap", "ten", -EINVAL},
	{GROUP "/cap", "10 ", -EINVAL},
	{GROUP "/cap", "10\n\n", -EINVAL},
	{GROUP "/cap", "", -EINVAL},
	{GROUP "/initial_cap", "101", -EINVAL},
	{GROUP "/cap_lease_ms", "4294967296", -ERANGE},
	{GROUP "/cap_lease_ms", "-1", -EINVAL},
	{GROUP "/cap_ceiling", "101", -EINVAL},
	{GROUP "/cap_ceiling", "4294967296", -ERANGE},
	{GROUP "/cap_ceiling", "", -EINVAL},
	{GPU "/gover_sharing", "soft", -EINVAL},
	{GPU "/gover_sharing", "cap", -EINVAL},
	{GPU "/gover_sharing", "weight", -EINVAL},
	{GPU "/gover_sharing", "Hard", -EINVAL},
	{GPU "/gover_sharing", "hard ", -EINVAL},
	{GPU "/gover_sharing", "guarantees", -EINVAL},
	{GPU "/gover_sharing", "", -EINVAL},
	{VGPU "/load", "101", -EINVAL},
	{VGPU "/load", "glxgear", -EINVAL},
	{VGPU "/load", "", -EINVAL},
	{VGPU "/remove", "yes", -EINVAL},
	{VGPU "/remove", "0", 0},
	{GROUP "/cap", "0", 0},
	{GROUP "/cap", "100\n", 0},
	{GROUP "/cap_lease_ms", "4294967295", 0},
	{GROUP "/cap_ceiling", "0", 0},
	{GPU "/gover_sharing", "guarantee\n", 0},
	{GPU "/gover_sharing", "guarantee", 0},
	{VGPU "/load", "100", 0},
	{VGPU "/load", "glmark2", 0},
	{VGPU "/load", "frame:gpu_ms=1,cpu_ms=2", 0},
};

TEST(writes_that_a_kernel_rejects_fail)
{
	assert_int_equal(put(EIGHTH "/create", A), 0);
	for (size_t i = 0; i < ARRAY_SIZE(writes); i++)
		if (put(writes[i].path, writes[i].text) != writes[i].r)
			fail_msg("row %zu: %s", i, writes[i].path);
	expect(VGPU "/load", "frame:gpu_ms=1,cpu_ms=2\n");
	expect(GROUP "/cap", "100\n");
	expect(GPU "/gover_sharing", "guarantee\n");
}

TEST(a_nul_byte_is_rejected)
{
	struct tree_node cap;

	assert_int_equal(put(EIGHTH "/create", A), 0);
	cap = node_at(GROUP "/cap");
	assert_int_equal(tree_write(&cap, "5\0", 2), -EINVAL);
}

TEST(file_modes_apply_to_root_too)
{
	struct tree_node name, create;
	char text[TREE_TEXT_MAX];

	name = node_at(EIGHTH "/name");
	create = node_at(EIGHTH "/create");
	assert_int_equal(tree_check_access(&name, true, false), 0);
	assert_int_equal(tree_check_access(&name, false, true), -EACCES);
	assert_int_equal(tree_check_access(&name, true, true), -EACCES);
	assert_int_equal(tree_check_access(&create, true, false), -EACCES);
	assert_int_equal(tree_check_access(&create, false, true), 0);
	assert_int_equal(tree_read(&create, text), -EACCES);
}

TEST(graphics_memory_limits_the_number_of_vgpus)
{
	expect(EIGHTH "/available_instances", "8\n");
	expect(HALF "/available_instances", "2\n");
	assert_int_equal(put(HALF "/create", A), 0);
	expect(EIGHTH "/available_instances", "4\n");
	expect(HALF "/available_instances", "1\n");
	expect(TYPES "/i915-GVTg_V5_1/available_instances", "0\n");
	assert_int_equal(put(TYPES "/i915-GVTg_V5_1/create", B), -ENOSPC);
	assert_int_equal(put("/class/mdev_bus/0000:00:02.0/remove", "1"), -ENOTDIR);
	assert_int_equal(put(VGPU "/remove", "1"), 0);
	assert_int_equal(put(TYPES "/i915-GVTg_V5_1/create", B), 0);
}

TEST(a_uuid_is_unique_on_the_host)
{
	assert_int_equal(put(EIGHTH "/create", A), 0);
	assert_int_equal(put("/devices/pci0000:00/0000:01:00.0/mdev_supported_types/"
			     "i915-GVTg_V5_8/create",
			     A),
			 -EEXIST);
	assert_int_equal(put("/devices/pci0000:00/0000:01:00.0/mdev_supported_types/"
			     "i915-GVTg_V5_8/create",
			     B),
			 0);
	expect("/devices/pci0000:00/0000:01:00.0/" B "/intel_vgpu/vgpu_id", "1\n");
}

TEST(an_open_file_of_a_removed_vgpu_returns_enodev)
{
	struct tree_node cap, again;
	char text[TREE_TEXT_MAX];

	assert_int_equal(put(EIGHTH "/create", A), 0);
	cap = node_at(GROUP "/cap");
	tree_hold(&cap);
	assert_int_equal(put(VGPU "/remove", "1"), 0);
	assert_int_equal(tree_read(&cap, text), -ENODEV);
	assert_int_equal(tree_write(&cap, "5", 1), -ENODEV);
	assert_int_equal(put(EIGHTH "/create", A), 0); /* a new vGPU with the same name */
	again = node_at(GROUP "/cap");
	assert_int_equal(tree_read(&cap, text), -ENODEV);
	assert_int_equal(tree_read(&again, text), 3);
	tree_release(&cap);
}

TEST(the_first_cap_makes_the_initial_cap_read_only)
{
	assert_int_equal(put(EIGHTH "/create", A), 0);
	assert_int_equal(put(GROUP "/initial_cap", "40"), 0);
	expect(GROUP "/cap", "40\n");
	assert_int_equal(put(GROUP "/cap", "30"), 0);
	assert_int_equal(put(GROUP "/initial_cap", "50"), -EPERM);
	expect(GROUP "/initial_cap", "40\n");
}

TEST(an_expired_lease_restores_the_initial_cap)
{
	assert_int_equal(put(EIGHTH "/create", A), 0);
	assert_int_equal(put(GROUP "/initial_cap", "40"), 0);
	assert_int_equal(put(GROUP "/cap_lease_ms", "300"), 0);
	assert_int_equal(put(GROUP "/cap", "30"), 0);
	set_time(250);
	expect(GROUP "/cap", "30\n");
	assert_int_equal(put(GROUP "/cap_lease_ms", "300"), 0);
	set_time(500);
	expect(GROUP "/cap", "30\n");
	set_time(650);
	expect(GROUP "/cap", "40\n");
	expect(GROUP "/cap_lease_ms", "300\n");
}

TEST(counters_follow_the_caps)
{
	assert_int_equal(put(EIGHTH "/create", A), 0);
	assert_int_equal(put(EIGHTH "/create", B), 0);
	assert_int_equal(put(GROUP "/initial_cap", "30"), 0);
	assert_int_equal(put(VGPU "/load", "100"), 0);
	assert_int_equal(put(GPU "/" B "/load", "5"), 0);
	set_time(1000);
	tree_advance(tree);
	set_time(11000);
	/* In the first slot, the cap is 12, the initial cap of the vGPU type. */
	assert_in_range(number_at(GROUP "/busy_time"), 3272000000, 3292000000);
	assert_int_equal(number_at(GROUP "/sched_time"), 3282000000);
	assert_in_range(number_at(GPU "/" B "/intel_vgpu/busy_time"), 540000000, 560000000);
}

TEST(sharing_decides_whether_caps_are_limits_or_guarantees)
{
	assert_int_equal(put(EIGHTH "/create", A), 0);
	assert_int_equal(put(GROUP "/initial_cap", "60"), 0);
	assert_int_equal(put(GROUP "/cap", "20"), 0);
	assert_int_equal(put(VGPU "/load", "100"), 0);
	expect(GPU "/gover_sharing", "hard\n");
	expect(GROUP "/cap_ceiling", "60\n");
	set_time(1000);
	assert_in_range(number_at(GROUP "/busy_time"), 190000000, 201000000);
	assert_int_equal(put(GPU "/gover_sharing", "guarantee"), 0);
	set_time(2000);
	assert_int_equal(number_at(GROUP "/sched_time"), 392000000);
	assert_in_range(number_at(GROUP "/busy_time"), 790000000, 801000000);
	/* The ceiling no longer follows the initial cap. */
	assert_int_equal(put(GROUP "/cap_ceiling", "0"), 0);
	set_time(3000);
	assert_in_range(number_at(GROUP "/busy_time"), 1750000000, 1801000000);
	assert_int_equal(put(GPU "/gover_sharing", "hard"), 0);
	expect(GROUP "/cap", "20\n");
	expect(GROUP "/initial_cap", "60\n");
	set_time(4000);
	assert_in_range(number_at(GROUP "/busy_time"), 1950000000, 2001000000);
}

/* --- an SR-IOV host --- */

#define PF    GPU "/"
#define ADMIN PF "sriov_admin/"

static void expect_line(const char *path, const char *text)
{
	char line[TREE_TEXT_MAX];

	snprintf(line, sizeof(line), "%s\n", text);
	expect(path, line);
}

TEST_WITH(writes_of_numvfs_have_the_errors_of_the_kernel, set_up_xe, tear_down)
{
	static const struct {
		const char *text;
		int want;
		const char *now;
	} rows[] = {
		{"10", -ERANGE, "0"}, {"65536", -ERANGE, "0"}, {"x", -EINVAL, "0"},
		{"-1", -EINVAL, "0"}, {"0", 0, "0"},	       {"9", 0, "9"},
		{"9", 0, "9"},	      {"3", -EBUSY, "9"},      {"0", 0, "0"},
		{"0x3\n", 0, "3"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(put(PF "sriov_numvfs", rows[i].text), rows[i].want);
		expect_line(PF "sriov_numvfs", rows[i].now);
	}
	expect(PF "sriov_totalvfs", "9\n");
	assert_int_equal(put(PF "sriov_totalvfs", "1"), -EACCES);
}

TEST_WITH(a_vf_that_is_enabled_again_has_another_link, set_up_xe, tear_down)
{
	uint64_t link, folder = inode_of(ADMIN "vf1/profile");

	assert_int_equal(put(PF "sriov_numvfs", "2"), 0);
	link = inode_of(PF "virtfn0");
	assert_int_not_equal(link, inode_of(PF "virtfn1"));
	assert_int_equal(put(PF "sriov_numvfs", "0"), 0);
	assert_int_equal(put(PF "sriov_numvfs", "2"), 0);
	assert_int_not_equal(inode_of(PF "virtfn0"), link);
	assert_int_equal(inode_of(ADMIN "vf1/profile"), folder); /* it exists without VFs, too */
}

TEST_WITH(enabled_vfs_have_links_and_pci_devices, set_up_xe, tear_down)
{
	static const struct {
		const char *path;
		const char *want;
	} rows[] = {
		{"/bus/pci/drivers/xe/0000:00:02.0", "../../../../devices/pci0000:00/0000:00:02.0"},
		{"/bus/pci/devices/0000:00:03.1", "../../../devices/pci0000:00/0000:00:03.1"},
		{PF "driver", "../../../bus/pci/drivers/xe"},
		{PF "virtfn0", "../0000:00:02.1"},
		{PF "virtfn8", "../0000:00:03.1"},
		{ADMIN "pf/device", "../../../0000:00:02.0"},
		{ADMIN "vf6/device", "../../../0000:00:02.6"},
		{"/devices/pci0000:00/0000:00:03.0/physfn", "../0000:00:02.0"},
	};
	struct tree_node node;
	char text[TREE_LINK_MAX];

	assert_int_equal(tree_find(tree, ADMIN "vf6/device", &node), -ENOENT);
	assert_int_equal(tree_find(tree, PF "virtfn0", &node), -ENOENT);
	assert_int_equal(put(PF "sriov_numvfs", "9"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(tree_find(tree, rows[i].path, &node), 0);
		assert_int_equal(node.kind, TREE_LINK);
		tree_link_text(&node, text);
		assert_string_equal(text, rows[i].want);
	}
	/* An open file of a VF that is disabled. */
	assert_int_equal(tree_find(tree, "/devices/pci0000:00/0000:00:02.1/vendor", &node), 0);
	assert_int_equal(put(PF "sriov_numvfs", "0"), 0);
	assert_int_equal(tree_read(&node, (char[TREE_TEXT_MAX]){0}), -ENODEV);
	assert_int_equal(tree_find(tree, "/devices/pci0000:00/0000:00:02.1", &node), -ENOENT);
	assert_int_equal(tree_find(tree, "/class", &node), -ENOENT);
}

TEST_WITH(counters_follow_quanta_and_loads, set_up_xe, tear_down)
{
	assert_int_equal(put(PF "sriov_numvfs", "2"), 0);
	assert_int_equal(put(ADMIN ".bulk_profile/sched_priority", "normal"), 0);
	assert_int_equal(put(ADMIN "pf/profile/exec_quantum_ms", "5"), 0);
	assert_int_equal(put(ADMIN "vf1/profile/exec_quantum_ms", "2"), 0);
	assert_int_equal(put(ADMIN "vf2/profile/exec_quantum_ms", "3"), 0);
	assert_int_equal(put(PF "gover_sim/vf1", "100"), 0);
	tree_set_now(tree, 10 * NS_PER_S);
	assert_in_range(number_at(ADMIN "vf1/counters/engine_active_ticks"), 38300000, 38500000);
	assert_in_range(number_at(ADMIN "vf1/counters/engine_total_ticks"), 38300000, 38500000);
	assert_in_range(number_at(ADMIN "vf2/counters/engine_total_ticks"), 57500000, 57700000);
	assert_int_equal(number_at(ADMIN "vf2/counters/engine_active_ticks"), 0);
	assert_int_equal(number_at(ADMIN "vf3/counters/engine_total_ticks"), 0);
	/* The other GPU is not affected. */
	expect("/devices/pci0000:00/0000:01:00.0/sriov_admin/pf/profile/exec_quantum_ms", "0\n");
}

TEST_WITH(loads_are_percent_or_endless, set_up_xe, tear_down)
{
	assert_int_equal(put(PF "gover_sim/vf1", "50"), -ENODEV);
	assert_int_equal(put(PF "sriov_numvfs", "1"), 0);
	assert_int_equal(put(PF "gover_sim/vf1", "101"), -EINVAL);
	assert_int_equal(put(PF "gover_sim/vf1", "255"), -EINVAL);
	assert_int_equal(put(PF "gover_sim/vf1", "busy"), -EINVAL);
	assert_int_equal(put(PF "gover_sim/vf1", "endless\n"), 0);
	expect(PF "gover_sim/vf1", "endless\n");
	assert_int_equal(put(PF "gover_sim/pf", "7"), 0);
	expect(PF "gover_sim/pf", "7\n");
	assert_int_equal(put(ADMIN "vf1/stop", "1"), 0);
	tree_set_now(tree, NS_PER_S);
	assert_int_equal(number_at(ADMIN "vf1/counters/engine_active_ticks"), 0);
	assert_int_equal(put(PF "sriov_numvfs", "0"), 0);
	expect(PF "gover_sim/vf1", "0\n");
}

TEST_WITH(faults_are_errors_of_profiles_only, set_up_xe, tear_down)
{
	char text[TREE_TEXT_MAX];
	struct tree_node node;

	assert_int_equal(put(PF "gover_sim/fault", "ENOENT"), -EINVAL);
	assert_int_equal(put(PF "gover_sim/fault", "EIO"), 0);
	expect(PF "gover_sim/fault", "EIO\n");
	assert_int_equal(put(ADMIN "vf1/profile/exec_quantum_ms", "5"), -EIO);
	expect(ADMIN "vf1/profile/exec_quantum_ms", "0\n");
	assert_int_equal(put(PF "sriov_numvfs", "1"), 0);
	assert_int_equal(put(PF "gover_sim/fault", "EUCLEAN"), 0);
	node = node_at(ADMIN "vf1/profile/exec_quantum_ms");
	assert_int_equal(tree_read(&node, text), -EUCLEAN);
	assert_int_equal(put(ADMIN "vf1/profile/exec_quantum_ms", "5"), 0);
	expect(ADMIN "vf1/counters/engine_active_ticks", "0\n");
	assert_int_equal(put(PF "gover_sim/fault", "none"), 0);
	expect(ADMIN "vf1/profile/exec_quantum_ms", "5\n");
}

TEST_WITH(booleans_are_those_of_the_kernel, set_up_xe, tear_down)
{
	static const struct {
		const char *text;
		int want;
		const char *now;
	} rows[] = {
		{"0", 0, "0"},	     {"yes", 0, "1"},	 {"off", 0, "0"},
		{"On", 0, "1"},	     {"n", 0, "0"},	 {"o", -EINVAL, "0"},
		{"2", -EINVAL, "0"}, {"", -EINVAL, "0"}, {"1\n", 0, "1"},
	};

	expect(PF "sriov_drivers_autoprobe", "1\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(put(PF "sriov_drivers_autoprobe", rows[i].text), rows[i].want);
		expect_line(PF "sriov_drivers_autoprobe", rows[i].now);
	}
}
