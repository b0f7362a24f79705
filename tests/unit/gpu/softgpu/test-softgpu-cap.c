/* SPDX-License-Identifier: MIT */
/*
 * The caps of softgpu in both versions of control groups, on plain files: the weight and the limit
 * of each cap. test-softgpu-guarantee tests them with the kernel.
 */
#include "tests/unit/base/linux/test-cgroup.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

#include "gpu/softgpu/softgpu.c"

static const struct softgpu_scale hard = {.gpu_cores = 1};
static const struct softgpu_scale guarantee = {.gpu_cores = 1, .guarantees = true};

static const char *weight_file(void)
{
	static char file[64];

	snprintf(file, sizeof(file), "g/%s", host.version->weight_file);
	return file;
}

/* Makes group g with a limit in percent of one core (0: none) and a weight. */
static void set_group(int limit_pct, int weight)
{
	char text[32];

	put("g/cpuacct.usage", "0");
	put("g/cpu.stat", "usage_usec 0\n");
	snprintf(text, sizeof(text), "%d", limit_pct ? limit_pct * 100 : -1);
	put("g/cpu.cfs_quota_us", text);
	put("g/cpu.cfs_period_us", "10000");
	if (limit_pct)
		snprintf(text, sizeof(text), "%d 10000", limit_pct * 100);
	else
		snprintf(text, sizeof(text), "max 10000");
	put("g/cpu.max", text);
	snprintf(text, sizeof(text), "%d", weight);
	put(weight_file(), text);
}

static struct cgroup_files open_group(void)
{
	struct cgroup_files files;

	assert_int_equal(cgroup_open(&host, "g", &files), 0);
	return files;
}

static int make_group(void)
{
	int r = make_top();

	if (r == 0)
		folder("g");
	return r;
}

FIXTURE(make_group, temp_folder_remove)

TEST(every_share_is_exact_and_differs_from_the_default_weight)
{
	static const int most[] = {262144, 10000}; /* the largest weights of the kernel */

	for (int version = 1; version <= 2; version++) {
		struct cgroup_files files;

		one_mount(version, -1);
		for (int pct = 1; pct <= 100; pct++) {
			int weight, is;

			set_group(50, 0);
			put(weight_file(), "");
			files = open_group();
			assert_int_equal(cgroup_write_share(&files, pct), 0);
			weight = atoi(get(weight_file()));
			assert_int_equal(weight, pct * host.version->weight_of_1_pct);
			assert_in_range(weight, 2, most[version - 1]);
			assert_int_not_equal(weight, host.version->default_weight);
			assert_int_equal(cgroup_read_share(&files, &is), 1);
			assert_int_equal(is, pct);
			cgroup_close(&files);
		}
		files = open_group();
		assert_int_equal(cgroup_write_share(&files, 0), -EINVAL);
		assert_int_equal(cgroup_write_share(&files, 101), -EINVAL);
		cgroup_close(&files);
	}
}

TEST(other_weights_are_rounded_and_the_default_is_no_share)
{
	static const struct {
		int version, weight, pct, result;
	} rows[] = {
		{1, 1024, 0, 0}, {1, 2503, 1, 1},    {1, 2, 1, 0},	  {1, 3754, 1, 0},
		{1, 3755, 2, 0}, {1, 126000, 50, 0}, {1, 250300, 100, 1}, {1, 262144, 100, 0},
		{2, 100, 0, 0},	 {2, 99, 1, 1},	     {2, 1, 1, 0},	  {2, 148, 1, 0},
		{2, 149, 2, 0},	 {2, 4950, 50, 1},   {2, 9900, 100, 1},	  {2, 10000, 100, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cgroup_files files;
		int pct = -1;

		one_mount(rows[i].version, -1);
		set_group(50, rows[i].weight);
		files = open_group();
		assert_int_equal(cgroup_read_share(&files, &pct), rows[i].result);
		assert_int_equal(pct, rows[i].pct);
		cgroup_close(&files);
	}
}

TEST(the_cap_is_the_limit_or_the_share)
{
	static const struct {
		const char *rule;
		const struct softgpu_scale *scale;
		int limit_pct, share_pct, cap_pct; /* share_pct 0: the weight of a new group */
		double share;
	} rows[] = {
		{"hard: the limit", &hard, 30, 0, 30, 0.3},
		{"hard: the weight is ignored", &hard, 30, 20, 30, 0.3},
		{"hard: no limit", &hard, 0, 0, 0, 1},
		{"guarantee: the share", &guarantee, 50, 20, 20, 0.2},
		{"guarantee: the share is the ceiling", &guarantee, 20, 20, 20, 0.2},
		{"guarantee: no ceiling", &guarantee, 0, 20, 20, 0.2},
		{"guarantee: a limit below the share is the cap", &guarantee, 10, 20, 10, 0.1},
		{"guarantee: a limit without a share is about 1 %", &guarantee, 30, 0, 1, 0.01},
		{"guarantee: neither", &guarantee, 0, 0, 0, 1},
	};

	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		size_t k = i / 2;
		struct cgroup_files files;
		double share;
		int cap;

		print_message("# version %zu: %s\n", i % 2 + 1, rows[k].rule);
		one_mount((int)(i % 2) + 1, -1);
		set_group(rows[k].limit_pct,
			  rows[k].share_pct ? rows[k].share_pct * host.version->weight_of_1_pct
					    : host.version->default_weight);
		files = open_group();
		assert_int_equal(cap_read(&files, rows[k].scale, 0, &share, &cap), 0);
		assert_int_equal(cap, rows[k].cap_pct);
		assert_true(fabs(share - rows[k].share) < 1e-9);
		cgroup_close(&files);
	}
}

TEST(a_written_cap_keeps_the_ceiling_and_raises_it_if_needed)
{
	static const struct {
		int cap_pct, ceiling_pct, limit_pct;
	} rows[] = {{20, 50, 50}, {70, 50, 70}, {20, 100, 100}, {50, 50, 50}};

	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		size_t k = i / 2;
		struct cgroup_files files;
		double share;
		int cap, ceiling;

		one_mount((int)(i % 2) + 1, -1);
		set_group(10, host.version->default_weight);
		files = open_group();
		assert_int_equal(
			cap_write(&files, &guarantee, rows[k].cap_pct, rows[k].ceiling_pct), 0);
		assert_int_equal(cap_read(&files, &guarantee, 0, &share, &cap), 0);
		assert_int_equal(cap, rows[k].cap_pct);
		assert_int_equal(cap_read_ceiling(&files, &guarantee, &ceiling), 0);
		assert_int_equal(ceiling, rows[k].limit_pct);
		assert_int_equal(cap_write(&files, &guarantee, 0, 50), -EINVAL);
		assert_int_equal(cap_write(&files, &guarantee, 101, 50), -EINVAL);
		cgroup_close(&files);
	}
}

TEST(groups_of_the_other_sharing_are_converted_once)
{
	static const struct {
		const char *rule;
		const struct softgpu_scale *from, *to;
		int limit_pct, share_pct; /* before; -1: a weight that an operator has set */
		int new_limit_pct, new_share_pct;
	} rows[] = {
		{"to hard: the share is the limit", &guarantee, &hard, 90, 20, 20, 0},
		{"to hard: a smaller limit stays", &guarantee, &hard, 10, 20, 10, 0},
		{"to hard: no ceiling", &guarantee, &hard, 0, 20, 20, 0},
		{"hard stays", &hard, &hard, 30, 0, 30, 0},
		{"hard: a weight that is not a share stays", &hard, &hard, 30, -1, 30, -1},
		{"to guarantee: the limit is the share", &hard, &guarantee, 30, 0, 30, 30},
		{"to guarantee: no limit", &hard, &guarantee, 0, 0, 0, 0},
		{"guarantee stays", &guarantee, &guarantee, 90, 20, 90, 20},
		{"guarantee: another weight stays", &guarantee, &guarantee, 90, -1, 90, -1},
	};
	static const int foreign = 777;

	for (size_t i = 0; i < 4 * ARRAY_SIZE(rows); i++) {
		size_t k = i / 4;
		int version = (int)(i % 2) + 1, limit_pct, weight, times = (int)(i / 2 % 2) + 1;
		struct cgroup_files files;
		double share;

		print_message("# version %d, %d time(s): %s\n", version, times, rows[k].rule);
		one_mount(version, -1);
		set_group(rows[k].limit_pct,
			  rows[k].share_pct < 0 ? foreign
			  : rows[k].share_pct > 0
				  ? rows[k].share_pct * host.version->weight_of_1_pct
				  : host.version->default_weight);
		for (int t = 0; t < times; t++) {
			files = open_group();
			assert_int_equal(cap_convert(&files, rows[k].to), 0);
			cgroup_close(&files);
			/* A plain file keeps the end of a longer old text. */
			weight = atoi(get(weight_file()));
			if (rows[k].new_share_pct == 0 && rows[k].share_pct > 0) {
				char text[16];

				snprintf(text, sizeof(text), "%d", host.version->default_weight);
				assert_memory_equal(get(weight_file()), text, strlen(text));
				put(weight_file(), text);
				weight = host.version->default_weight;
			}
		}
		assert_int_equal(weight,
				 rows[k].new_share_pct < 0 ? foreign
				 : rows[k].new_share_pct > 0
					 ? rows[k].new_share_pct * host.version->weight_of_1_pct
					 : host.version->default_weight);
		files = open_group();
		assert_int_equal(cap_read(&files, &hard, 0, &share, &limit_pct), 0);
		assert_int_equal(limit_pct, rows[k].new_limit_pct);
		cgroup_close(&files);
	}
}

TEST(without_a_weight_there_is_no_guarantee)
{
	char path[PATH_MAX];

	for (int version = 1; version <= 2; version++) {
		struct cgroup_files files;
		double share;
		int cap;

		one_mount(version, -1);
		set_group(50, 1);
		snprintf(path, sizeof(path), "%s/%s", temp_folder, weight_file());
		assert_int_equal(unlink(path), 0);
		files = open_group();
		assert_true(files.weight < 0);
		assert_int_equal(cgroup_write_share(&files, 20), -EOPNOTSUPP);
		assert_int_equal(cgroup_clear_share(&files), -EOPNOTSUPP);
		assert_int_equal(cap_write(&files, &guarantee, 20, 50), -EOPNOTSUPP);
		assert_int_equal(cap_read(&files, &guarantee, 0, &share, &cap), -EOPNOTSUPP);
		assert_int_equal(cap_convert(&files, &guarantee), -EOPNOTSUPP);
		assert_int_equal(cap_convert(&files, &hard), 0);
		assert_int_equal(cap_write(&files, &hard, 20, 0), 0);
		assert_int_equal(cap_read(&files, &hard, 0, &share, &cap), 0);
		assert_int_equal(cap, 20);
		cgroup_close(&files);
	}
}
