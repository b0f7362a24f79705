/* SPDX-License-Identifier: MIT */
/* The older layouts of the settings: caps and sharing on each of them. */
#include "tests/unit/gpu/xe/test-xe.h"

#include "base/file.h"
#include "gpu/xe/layout.h"

static const struct gpu_ops *const ops = &gpu_xe_ops;

/* Folders of a device with two GTs in each layout. The names of PF and VF are filled in. */
static const struct row {
	const char *layout, *driver;
	const char *functions[2]; /* folders with the settings of a function */
	const char *if_idle[2];
} rows[] = {
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

static void make_function(const struct row *row, const char *function)
{
	char path[256];

	for (int gt = 0; gt < 2; gt++) {
		folder(row->functions[gt], function, path);
		make_dir("%s", path);
		write_file("0\n", "%s/exec_quantum_ms", path);
		write_file("0\n", "%s/preempt_timeout_us", path);
	}
}

static void make_layout(const struct row *row)
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

static void expect_setting(const struct row *row, const char *function, const char *value)
{
	char path[256];

	for (int gt = 0; gt < 2; gt++) {
		folder(row->functions[gt], function, path);
		expect_file(value, "%s/exec_quantum_ms", path);
	}
}

static void check_layout(const struct row *row)
{
	char path[256], was[GPU_SHARING_MAX];
	struct gpu_vgpu *a, *b;
	int cap_pct;

	make_layout(row);
	open_gpu(ops);
	list_all(ops);
	assert_string_equal(listed, VF1 "=0 " VF2 "=0 ");
	assert_int_equal(ops->set_sharing(gpu, false, false, &err), 0);
	expect_file("1", "%s/sched_if_idle", row->if_idle[0]);
	expect_file("1", "%s/sched_if_idle", row->if_idle[1]);
	write_file("0\n", "%s/sched_if_idle", row->if_idle[1]);
	assert_int_equal(ops->renew_sharing(gpu, was), 1);
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
	assert_int_equal(ops->read_cap(a, &cap_pct), 0);
	assert_int_equal(cap_pct, 30);
	ops->detach(a);
	ops->detach(b);
	ops->close(gpu);
	gpu = NULL;
	remove_tree(root);
	make_dir("again");
}

FIXTURE(set_up, tear_down)

TEST(caps_and_sharing_work_on_each_layout)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_layout(&rows[i]);
}

TEST(the_newest_layout_is_used)
{
	struct xe_place *places = calloc(4, sizeof(*places));

	assert_non_null(places);
	make_device(2, 2);
	make_layout(&rows[0]);
	make_layout(&rows[1]);
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
	const struct xe_layout *layout;
	const char *at;

	assert_int_equal(file_read("docs/sriov.md", 1 << 20, &text, NULL), 0);
	at = text;
	for (int i = 0; (layout = xe_layout_at(i)); i++) {
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
