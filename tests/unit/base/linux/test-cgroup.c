/* SPDX-License-Identifier: MIT */
/*
 * Both versions of control groups, on plain folders and files: mounts, files and the conversion of
 * cores to limits. test-softgpu tests what only a kernel can reject or enforce.
 */
#include "tests/unit/base/linux/test-cgroup.h"

#include <errno.h>
#include <math.h>

static struct err err;

/* Replaces every %s in @mountinfo by the path of the temporary folder. */
static int find(const char *mountinfo)
{
	char path[PATH_MAX], text[4096];
	size_t n = 0;

	for (const char *p = mountinfo; *p; p++) {
		if (p[0] == '%' && p[1] == 's') {
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", temp_folder);
			p++;
		} else {
			text[n++] = *p;
		}
	}
	text[n] = '\0';
	put("mountinfo", text);
	snprintf(path, sizeof(path), "%s/mountinfo", temp_folder);
	return cgroup_find(path, &host, &err);
}

static const struct find_row {
	const char *rule;
	const char *mountinfo;
	int result, version;
	const char *mounts[CGROUP_MOUNTS_MAX]; /* paths below the temporary folder */
	const char *root;
	int usage, cpuset;
	const char *message; /* a part of the error message */
} find_rows[] = {
	{"hierarchies of their own",
	 "1 2 0:1 / %s/cpu rw - cgroup cgroup rw,cpu\n"
	 "1 2 0:2 / %s/cpuacct rw - cgroup cgroup rw,cpuacct\n"
	 "1 2 0:3 / %s/cpuset rw - cgroup cgroup rw,cpuset\n"
	 "1 2 0:4 / %s/memory rw - cgroup cgroup rw,memory\n",
	 0, 1, .mounts = {"cpu", "cpuacct", "cpuset"}, "/", 1, 2, NULL},
	{"one hierarchy with two controllers, optional fields, cpuset not mounted",
	 "1 2 0:1 / %s/cpu rw shared:7 master:1 - cgroup cgroup rw,cpu,cpuacct\n", 0, 1,
	 .mounts = {"cpu"}, "/", 0, -1, NULL},
	{"all three in one", "1 2 0:1 / %s/cpu rw - cgroup cgroup rw,cpuset,cpu,cpuacct\n", 0, 1,
	 .mounts = {"cpu"}, "/", 0, 0, NULL},
	{"a cpuset that may not be written is not used",
	 "1 2 0:1 / %s/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
	 "1 2 0:3 / %s/absent rw - cgroup cgroup rw,cpuset\n",
	 0, 1, .mounts = {"cpu"}, "/", 0, -1, NULL},
	{"in a container the mount shows a part; a name may hold a space; a backslash without "
	 "three "
	 "octal digits is one",
	 "1 2 0:1 /box/a\\040b\\0/x\\09!\\477\\1 %s/with\\040space ro - cgroup cgroup "
	 "rw,cpu,cpuacct\n",
	 0, 1, .mounts = {"with space"}, "/box/a b\\0/x\\09!\\477\\1", 0, -1, NULL},
	{"the first mount of a controller counts",
	 "1 2 0:1 / %s/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
	 "1 2 0:1 / %s/memory rw - cgroup cgroup rw,cpu,cpuacct\n",
	 0, 1, .mounts = {"cpu"}, "/", 0, -1, NULL},
	{"version 1 has the controller even where version 2 is mounted beside it",
	 "1 2 0:9 / %s/unified rw - cgroup2 cgroup2 rw\n"
	 "1 2 0:1 / %s/cpu rw - cgroup cgroup rw,cpu,cpuacct\n",
	 0, 1, .mounts = {"cpu"}, "/", 0, -1, NULL},
	{"version 2", "1 2 0:9 / %s/unified rw - cgroup2 cgroup2 rw,nsdelegate\n", 0, 2,
	 .mounts = {"unified"}, "/", 0, 0, NULL},
	{"version 2 without cpuset", "1 2 0:9 / %s/nocpuset rw - cgroup2 cgroup2 rw\n", 0, 2,
	 .mounts = {"nocpuset"}, "/", 0, -1, NULL},
	{"version 2 without the cpu controller", "1 2 0:9 / %s/nocpu rw - cgroup2 cgroup2 rw\n",
	 -EOPNOTSUPP, 0, .mounts = {NULL}, NULL, 0, 0, "does not list the cpu controller"},
	{"nothing counts CPU time", "1 2 0:1 / %s/cpu rw - cgroup cgroup rw,cpu\n", -EOPNOTSUPP, 0,
	 .mounts = {NULL}, NULL, 0, 0, "cpuacct"},
	{"no control groups; lines without sense are passed over",
	 "1 2 0:1 / / rw - ext4 /dev/vda rw,cpu\nnonsense\n1 2 - cgroup\n", -EOPNOTSUPP, 0,
	 .mounts = {NULL}, NULL, 0, 0, "control groups: none are mounted"},
};

FIXTURE(make_top, temp_folder_remove)

TEST(finds_the_hierarchies_of_the_host)
{
	for (size_t i = 0; i < 6; i++)
		folder((const char *[]){"cpu", "cpuacct", "cpuset", "memory", "with space",
					"unified"}[i]);
	folder("nocpu");
	folder("nocpuset");
	put("unified/cgroup.controllers", "cpuset cpu io memory pids\n");
	put("nocpuset/cgroup.controllers", "cpu\n");
	put("nocpu/cgroup.controllers", "cpuset hugetlb\n");
	for (const struct find_row *row = find_rows; row < find_rows + ARRAY_SIZE(find_rows);
	     row++) {
		int r = find(row->mountinfo);
		int n = 0;

		print_message("# %s\n", row->rule);
		assert_int_equal(r, row->result);
		if (r < 0) {
			assert_non_null(strstr(err.msg, row->message));
			continue;
		}
		assert_int_equal(host.version->number, row->version);
		for (; n < CGROUP_MOUNTS_MAX && row->mounts[n]; n++)
			assert_string_equal(host.mounts[n].path + strlen(temp_folder) + 1,
					    row->mounts[n]);
		assert_int_equal(host.n_mounts, n);
		assert_string_equal(host.mounts[0].root, row->root);
		assert_int_equal(host.usage, row->usage);
		assert_int_equal(host.cpuset, row->cpuset);
	}
}

TEST(an_unreadable_mountinfo_is_reported)
{
	assert_int_equal(cgroup_find("/nowhere/mountinfo", &host, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "/nowhere/mountinfo"));
}

TEST(finds_the_group_of_a_process)
{
	static const struct {
		int version;
		const char *root, *text, *group; /* NULL: none */
	} rows[] = {
		{1, "/", "2:cpuacct:/no\n1:cpu:/gover/gpu0/a\n0::/no\n", "gover/gpu0/a"},
		{1, "/", "3:cpu,cpuacct:/g/x\n", "g/x"},
		{1, "/", "3:cpuacct,cpu:/g/x:y\n", "g/x:y"},
		{1, "/", "9:cpuset:/g/x\n8:name=cpu:/g/y\n", NULL},
		{1, "/box", "1:cpu:/box/g/a\n", "g/a"},
		{1, "/box", "1:cpu:/boxer/g/a\n", NULL},
		{1, "/box", "1:cpu:/box\n", NULL},
		{2, "/", "1:cpu:/no\n0::/gover/gpu0/a\n", "gover/gpu0/a"},
		{2, "/", "0::/\n", ""},
		{2, "/", "10::/g\n", NULL},
		{2, "/", "", NULL},
		{2, "/", "0:", NULL},
	};
	char group[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int r;

		one_mount(rows[i].version, -1);
		strcpy(host.mounts[0].root, rows[i].root);
		r = cgroup_parse_member(&host, rows[i].text, group);
		assert_int_equal(r, rows[i].group ? 0 : -ENOENT);
		if (rows[i].group)
			assert_string_equal(group, rows[i].group);
	}
}

/* Returns the same ratio as to_ratio() of kernel/sched/core.c of Linux. Control groups of version 1
 * compare these ratios. */
static uint64_t kernel_ratio(const struct cgroup_limit *limit)
{
	return ((uint64_t)limit->quota_us * 1000 << 20) / ((uint64_t)limit->period_us * 1000);
}

TEST(every_cap_has_a_valid_limit_that_reads_back)
{
	static const double sizes[] = {0.01, 0.1, 1.0 / 3, 0.5, 1, 1.5, 2, 3, 7.9, 64, 512};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct cgroup_limit parent = cgroup_limit_parent(sizes[i]);

		assert_true(fabs(cgroup_limit_cores(&parent) - sizes[i]) <= 1e-5);
		for (int cap = 1; cap <= 100; cap++) {
			double cores = sizes[i] * cap / 100;
			struct cgroup_limit limit = cgroup_limit_for(cores);

			if (cores < CGROUP_CORES_MIN * 0.999)
				continue;
			assert_in_range(limit.period_us, 10000, 100000);
			assert_true(limit.quota_us >= 1000);
			assert_int_equal(limit.burst_us, limit.quota_us);
			assert_true(kernel_ratio(&limit) <= kernel_ratio(&parent));
			assert_int_equal(lround(cgroup_limit_cores(&limit) / sizes[i] * 100), cap);
			assert_true(fabs(cgroup_limit_cores(&limit) / cores - 1) <= 0.001);
		}
	}
}

TEST(version_1_reads_usage_and_limit)
{
	static const struct {
		const char *quota, *period, *usage;
		int result;
		struct cgroup_limit limit;
	} rows[] = {
		{"5000\n", "10000\n", "123456789012\n", 0, {5000, 10000, 0}},
		{"-1\n", "100000\n", "0\n", 0, {0, 100000, 0}},
		{"-2\n", "100000\n", "0\n", -EINVAL, {0}},
		{"ten\n", "100000\n", "0\n", -EINVAL, {0}},
		{"5000\n", "\n", "0\n", -EINVAL, {0}},
		{"5000\n", "0\n", "0\n", -EINVAL, {0}},
		{"0\n", "100000\n", "0\n", -EINVAL, {0}},
	};

	one_mount(1, -1);
	folder("g");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cgroup_limit limit = {7, 7, 7};
		struct cgroup_files files;
		uint64_t usage;

		put("g/cpu.cfs_quota_us", rows[i].quota);
		put("g/cpu.cfs_period_us", rows[i].period);
		put("g/cpuacct.usage", rows[i].usage);
		assert_int_equal(cgroup_open(&host, "g", &files), 0);
		assert_int_equal(files.version->read_limit(&files, &limit), rows[i].result);
		if (rows[i].result == 0)
			assert_memory_equal(&limit, &rows[i].limit, sizeof(limit));
		assert_int_equal(files.version->read_usage(&files, &usage), 0);
		assert_int_equal(usage, strtoull(rows[i].usage, NULL, 10));
		cgroup_close(&files);
	}
}

TEST(version_2_reads_usage_and_limit)
{
	static const struct {
		const char *max, *stat;
		int limit_result, usage_result;
		struct cgroup_limit limit;
		uint64_t usage_ns;
	} rows[] = {
		{"5000 10000\n", "usage_usec 12\nuser_usec 5\nsystem_usec 7\n", 0, 0,
		 .limit = {5000, 10000, 0}, 12000},
		{"max 100000\n", "nr_periods 3\nusage_usec 9007199254740993\n", 0, 0,
		 .limit = {0, 100000, 0}, 9007199254740993000ULL},
		{"0 100000\n", "xusage_usec 12\nusage_usec\n", -EINVAL, -EINVAL, {0}, 0},
		{"5000\n", "usage_usec -1\n", -EINVAL, -EINVAL, {0}, 0},
		{"max max\n", "\n", -EINVAL, -EINVAL, {0}, 0},
	};

	one_mount(2, -1);
	folder("g");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cgroup_limit limit = {7, 7, 7};
		struct cgroup_files files;
		uint64_t usage = 7;

		put("g/cpu.max", rows[i].max);
		put("g/cpu.stat", rows[i].stat);
		assert_int_equal(cgroup_open(&host, "g", &files), 0);
		assert_int_equal(files.version->read_limit(&files, &limit), rows[i].limit_result);
		if (rows[i].limit_result == 0)
			assert_memory_equal(&limit, &rows[i].limit, sizeof(limit));
		assert_int_equal(files.version->read_usage(&files, &usage), rows[i].usage_result);
		assert_int_equal(usage, rows[i].usage_result ? 7 : rows[i].usage_ns);
		cgroup_close(&files);
	}
}

/* test-softgpu tests the order of the writes, because plain files accept any order. */
TEST(a_limit_is_written_with_its_burst_if_supported)
{
	static const struct cgroup_limit wider = {5432, 20000, 5432},
					 narrower = {2109, 10000, 2109};
	struct cgroup_files files;

	folder("g");
	put("g/cpuacct.usage", "0\n");
	put("g/cpu.stat", "usage_usec 0\n");
	put("g/cpu.cfs_quota_us", "1000");
	put("g/cpu.cfs_period_us", "10000");
	put("g/cpu.max", "1000 10000");
	for (int i = 0; i < 4; i++) {
		int version = i % 2 + 1;
		const char *burst = version == 1 ? "g/cpu.cfs_burst_us" : "g/cpu.max.burst";

		one_mount(version, -1);
		if (i >= 2)
			put(burst, "3333");
		assert_int_equal(cgroup_open(&host, "g", &files), 0);
		assert_int_equal(cgroup_write_limit(&files, &wider), 0);
		assert_string_equal(get(burst), i >= 2 ? "5432" : "(none)");
		assert_string_equal(get("g/cpu.cfs_quota_us"), "5432");
		assert_string_equal(get("g/cpu.cfs_period_us"), "20000");
		if (version == 2)
			assert_string_equal(get("g/cpu.max"), "5432 20000");
		assert_int_equal(cgroup_write_limit(&files, &narrower), 0);
		assert_string_equal(get(burst), i >= 2 ? "2109" : "(none)");
		assert_string_equal(get(version == 1 ? "g/cpu.cfs_quota_us" : "g/cpu.max"),
				    version == 1 ? "2109" : "2109 10000");
		cgroup_close(&files);
		put("g/cpu.cfs_quota_us", "5432");
		put("g/cpu.cfs_period_us", "20000");
	}
}

TEST(version_2_enables_only_missing_controllers)
{
	static const struct {
		int cpuset;
		const char *before, *after; /* text of cgroup.subtree_control */
	} rows[] = {
		{-1, "", "+cpu"},	    {-1, "io memory cpu\n", "io memory cpu"},
		{-1, "cpuset\n", "+cpuet"}, /* a plain file keeps "et", the end of the old text */
		{0, "cpu\n", "+cpuset"},    {0, "cpuset cpu\n", "cpuset cpu"},
	};

	folder("g");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		one_mount(2, rows[i].cpuset);
		put("cgroup.subtree_control", rows[i].before);
		assert_int_equal(cgroup_make(&host, "g", &err), 1);
		assert_string_equal(get("cgroup.subtree_control"), rows[i].after);
	}
	one_mount(2, -1);
	put("g/cgroup.subtree_control", "");
	assert_int_equal(cgroup_make(&host, "g/gpu0", &err), 0);
	assert_string_equal(get("g/cgroup.subtree_control"), "+cpu");
}

TEST(a_failed_creation_names_the_path_and_leaves_nothing)
{
	char path[PATH_MAX];

	one_mount(2, -1);
	/* the parent has no cgroup.subtree_control */
	assert_int_equal(cgroup_make(&host, "g", &err), -ENOENT);
	assert_non_null(strstr(err.msg, temp_folder));

	/* The parent folder is not a cpuset, so the group can inherit nothing and is removed again.
	 */
	one_mount(1, 0);
	put("cpuset.cpus", "0-3\n");
	assert_int_equal(cgroup_make(&host, "g", &err), -ENOENT);
	snprintf(path, sizeof(path), "%s/g", temp_folder);
	assert_non_null(strstr(err.msg, path));
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(cgroup_make(&host, "above/g", &err), -ENOENT);
}

TEST(a_group_is_created_and_removed_in_every_hierarchy)
{
	char path[PATH_MAX];

	one_mount(1, -1);
	host.n_mounts = 2;
	snprintf(host.mounts[1].path, sizeof(host.mounts[1].path), "%s/second", temp_folder);
	folder("second");
	assert_int_equal(cgroup_remove(&host, "g"), -ENOENT);
	assert_int_equal(cgroup_make(&host, "g", &err), 0);
	snprintf(path, sizeof(path), "%s/second/g", temp_folder);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(cgroup_make(&host, "g", &err), 1);
	put("second/g/cgroup.procs", "1\n22\n333\n");
	put("g/cgroup.procs", "1\n");
	assert_int_equal(cgroup_count(&host, "g"), 3);
	assert_int_equal(cgroup_count(&host, "h"), -ENOENT);
	/* Folder g is not empty, which simulates a group in use. Folder second/g is removed. */
	snprintf(path, sizeof(path), "%s/g/cgroup.procs", temp_folder);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(cgroup_remove(&host, "g"), -ENOTEMPTY);
	snprintf(path, sizeof(path), "%s/g", temp_folder);
	assert_int_equal(access(path, F_OK), -1);
}

TEST(pins_to_the_last_free_cores_and_leaves_one)
{
	static const struct {
		const char *rule, *all, *sibling;
		int cores, result;
		const char *pinned;
	} rows[] = {
		{"the last", "0-3\n", "", 1, 1, "3"},
		{"several, with gaps", "0,2,5-7\n", "", 3, 1, "5,6,7"},
		{"not the sibling's", "0-3\n", "3\n", 1, 1, "2"},
		{"a sibling that may use all owns none", "0-3\n", "0-3\n", 2, 1, "2,3"},
		{"one stays for the rest", "0-3\n", "", 4, 0, ""},
		{"also beside a sibling", "0-3\n", "2-3\n", 2, 0, ""},
		{"a single core", "0\n", "", 1, 0, ""},
		{"a list without sense", "0-x\n", "", 1, -EINVAL, ""},
		{"a list that runs backwards", "3-1\n", "", 1, -EINVAL, ""},
	};

	folder("g");
	folder("g/gpu0");
	folder("g/gpu1");
	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		size_t k = i / 2;

		print_message("# version %zu: %s\n", i % 2 + 1, rows[k].rule);
		one_mount((int)(i % 2) + 1, 0);
		put(i % 2 ? "g/cpuset.cpus.effective" : "g/cpuset.cpus", rows[k].all);
		put("g/gpu0/cpuset.cpus", "");
		put("g/gpu1/cpuset.cpus", rows[k].sibling);
		assert_int_equal(cgroup_pin(&host, "g/gpu0", rows[k].cores), rows[k].result);
		assert_string_equal(get("g/gpu0/cpuset.cpus"), rows[k].pinned);
	}
	one_mount(1, -1);
	assert_int_equal(cgroup_pin(&host, "g/gpu0", 1), 0);
}

TEST(counts_the_cores_of_groups)
{
	one_mount(2, 0);
	put("cpuset.cpus.effective", "1,3-5\n");
	assert_int_equal(cgroup_cores(&host), 4);
	one_mount(2, -1);
	assert_int_equal(cgroup_cores(&host), sysconf(_SC_NPROCESSORS_ONLN));
}
