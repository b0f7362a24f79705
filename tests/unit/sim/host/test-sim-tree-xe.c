/* SPDX-License-Identifier: MIT */
/*
 * The simulated tree of an SR-IOV host: VFs, links, files and errors. tests/kernel/xe/abi.py
 * compares the folder sriov_admin with the kernel's document.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "sim/host/tree.h"
#include "tests/unit/unit.h"

#define PF    "/devices/pci0000:00/0000:00:02.0/"
#define ADMIN PF "sriov_admin/"

static struct tree *tree;

static int setup(void)
{
	tree = tree_new(TREE_XE, 2, 9);
	return 0;
}

static int teardown(void)
{
	tree = tree_free(tree);
	return 0;
}

FIXTURE(setup, teardown)

static int put(const char *path, const char *text)
{
	struct tree_node node;
	int r = tree_find(tree, path, &node);

	return r < 0 ? r : tree_write(&node, text, strlen(text));
}

static int get_error(const char *path)
{
	char text[TREE_TEXT_MAX];
	struct tree_node node;
	int r = tree_find(tree, path, &node);

	return r < 0 ? r : tree_read(&node, text);
}

static void assert_text(const char *path, const char *want)
{
	char text[TREE_TEXT_MAX];
	struct tree_node node;
	int n;

	assert_int_equal(tree_find(tree, path, &node), 0);
	n = tree_read(&node, text);
	assert_true(n > 0 && text[n - 1] == '\n');
	text[n - 1] = '\0';
	assert_string_equal(text, want);
}

static int64_t number(const char *path)
{
	char text[TREE_TEXT_MAX];
	struct tree_node node;
	int n;

	assert_int_equal(tree_find(tree, path, &node), 0);
	n = tree_read(&node, text);
	assert_true(n > 0);
	text[n] = '\0';
	return strtoll(text, NULL, 10);
}

TEST(writes_of_numvfs_have_the_errors_of_the_kernel)
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
		assert_text(PF "sriov_numvfs", rows[i].now);
	}
	assert_text(PF "sriov_totalvfs", "9");
	assert_int_equal(put(PF "sriov_totalvfs", "1"), -EACCES);
}

static uint64_t inode_of(const char *path)
{
	struct tree_node node;

	assert_int_equal(tree_find(tree, path, &node), 0);
	return tree_inode(&node);
}

TEST(a_vf_that_is_enabled_again_has_another_link)
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

TEST(enabled_vfs_have_links_and_pci_devices)
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

TEST(counters_follow_quanta_and_loads)
{
	assert_int_equal(put(PF "sriov_numvfs", "2"), 0);
	assert_int_equal(put(ADMIN ".bulk_profile/sched_priority", "normal"), 0);
	assert_int_equal(put(ADMIN "pf/profile/exec_quantum_ms", "5"), 0);
	assert_int_equal(put(ADMIN "vf1/profile/exec_quantum_ms", "2"), 0);
	assert_int_equal(put(ADMIN "vf2/profile/exec_quantum_ms", "3"), 0);
	assert_int_equal(put(PF "gover_sim/vf1", "100"), 0);
	tree_set_now(tree, 10 * NS_PER_S);
	assert_in_range(number(ADMIN "vf1/counters/engine_active_ticks"), 38300000, 38500000);
	assert_in_range(number(ADMIN "vf1/counters/engine_total_ticks"), 38300000, 38500000);
	assert_in_range(number(ADMIN "vf2/counters/engine_total_ticks"), 57500000, 57700000);
	assert_int_equal(number(ADMIN "vf2/counters/engine_active_ticks"), 0);
	assert_int_equal(number(ADMIN "vf3/counters/engine_total_ticks"), 0);
	/* The other GPU is not affected. */
	assert_text("/devices/pci0000:00/0000:01:00.0/sriov_admin/pf/profile/exec_quantum_ms", "0");
}

TEST(loads_are_percent_or_endless)
{
	assert_int_equal(put(PF "gover_sim/vf1", "50"), -ENODEV);
	assert_int_equal(put(PF "sriov_numvfs", "1"), 0);
	assert_int_equal(put(PF "gover_sim/vf1", "101"), -EINVAL);
	assert_int_equal(put(PF "gover_sim/vf1", "255"), -EINVAL);
	assert_int_equal(put(PF "gover_sim/vf1", "busy"), -EINVAL);
	assert_int_equal(put(PF "gover_sim/vf1", "endless\n"), 0);
	assert_text(PF "gover_sim/vf1", "endless");
	assert_int_equal(put(PF "gover_sim/pf", "7"), 0);
	assert_text(PF "gover_sim/pf", "7");
	assert_int_equal(put(ADMIN "vf1/stop", "1"), 0);
	tree_set_now(tree, NS_PER_S);
	assert_int_equal(number(ADMIN "vf1/counters/engine_active_ticks"), 0);
	assert_int_equal(put(PF "sriov_numvfs", "0"), 0);
	assert_text(PF "gover_sim/vf1", "0");
}

TEST(faults_are_errors_of_profiles_only)
{
	assert_int_equal(put(PF "gover_sim/fault", "ENOENT"), -EINVAL);
	assert_int_equal(put(PF "gover_sim/fault", "EIO"), 0);
	assert_text(PF "gover_sim/fault", "EIO");
	assert_int_equal(put(ADMIN "vf1/profile/exec_quantum_ms", "5"), -EIO);
	assert_text(ADMIN "vf1/profile/exec_quantum_ms", "0");
	assert_int_equal(put(PF "sriov_numvfs", "1"), 0);
	assert_int_equal(put(PF "gover_sim/fault", "EUCLEAN"), 0);
	assert_int_equal(get_error(ADMIN "vf1/profile/exec_quantum_ms"), -EUCLEAN);
	assert_int_equal(put(ADMIN "vf1/profile/exec_quantum_ms", "5"), 0);
	assert_text(ADMIN "vf1/counters/engine_active_ticks", "0");
	assert_int_equal(put(PF "gover_sim/fault", "none"), 0);
	assert_text(ADMIN "vf1/profile/exec_quantum_ms", "5");
}

TEST(booleans_are_those_of_the_kernel)
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

	assert_text(PF "sriov_drivers_autoprobe", "1");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(put(PF "sriov_drivers_autoprobe", rows[i].text), rows[i].want);
		assert_text(PF "sriov_drivers_autoprobe", rows[i].now);
	}
}
