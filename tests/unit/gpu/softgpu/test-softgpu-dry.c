/* SPDX-License-Identifier: MIT */
/*
 * softgpu in a dry run with the kernel of this host: existing groups are read and not changed, and
 * no group is created. The test is skipped if no control group can be written.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/gpu/test-gpu.h"

static const struct gpu_ops *const ops = &gpu_softgpu_ops;
static struct gpu_config config, dry;
static struct cgroup_host host;
static struct gpu *gpu;
static struct err err;

static int set_up(void)
{
	int r = cgroup_find(CGROUP_MOUNTINFO, &host, &err);

	strcpy(config.name, "gpu0");
	snprintf(config.root, sizeof(config.root), "gover-test-%d/below", (int)getpid());
	config.capacity_cores = 1;
	dry = config;
	dry.dry_run = true;
	if (r >= 0)
		r = ops->open(&config, &gpu, &err);
	if (r >= 0)
		ops->close(gpu);
	return r;
}

static bool any_group_exists(void)
{
	char top[PATH_MAX];

	cgroup_parent(config.root, top);
	return group_exists(&host, top);
}

static void count(void *userdata, const char *id, int initial_cap_pct)
{
	(void)id, (void)initial_cap_pct;
	(*(int *)userdata)++;
}

TEST(missing_groups_are_reported_and_not_created)
{
	uint64_t at_ns, busy_ns;
	struct gpu_vgpu *vgpu;
	int n = 0;

	assert_int_equal(ops->open(&dry, &gpu, &err), 1);
	assert_non_null(strstr(err.msg, "below/gpu0 does not exist"));
	assert_non_null(strstr(err.msg, "dry run"));
	assert_false(any_group_exists());
	assert_int_equal(ops->list(gpu, count, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(ops->attach(gpu, "a", 0, &vgpu, &err), -ENOENT);
	assert_true(ops->observe.physical(gpu, 0, &at_ns, &busy_ns) < 0);
	ops->close(gpu);
	assert_false(any_group_exists());
}

TEST(existing_groups_are_read_and_not_changed)
{
	struct gpu *watched;
	struct gpu_vgpu *vgpu;
	int n = 0;

	assert_int_equal(ops->open(&config, &gpu, &err), 0);
	assert_int_equal(ops->create(gpu, "a", 37, &err), 0);
	err.msg[0] = '\0';
	assert_int_equal(ops->open(&dry, &watched, &err), 0);
	assert_string_equal(err.msg, "");
	assert_int_equal(ops->list(watched, count, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(ops->attach(watched, "a", 0, &vgpu, &err), 0);
	expect_cap(ops, vgpu, 37);
	ops->detach(vgpu);
	ops->close(watched);
	dry.capacity_cores = 0.5; /* a GPU with a vGPU cannot change its size */
	assert_int_equal(ops->open(&dry, &watched, &err), -EBUSY);
	dry.capacity_cores = 1;
	assert_int_equal(ops->destroy(gpu, "a", &err), 0);
	ops->close(gpu);
}

/* A real run would create the group again with the configured size and remove it at the end. */
TEST(an_empty_group_is_not_changed)
{
	char group[PATH_MAX];
	struct gpu *watched;

	snprintf(group, sizeof(group), "%.200s/gpu0", config.root);
	assert_int_equal(ops->open(&config, &gpu, &err), 0);
	dry.capacity_cores = 0.5;
	assert_int_equal(ops->open(&dry, &watched, &err), 0);
	ops->close(watched);
	dry.capacity_cores = 1;
	assert_true(group_exists(&host, group));
	ops->close(gpu);
	assert_false(any_group_exists());
}

static int prepare(void)
{
	int r = set_up();

	if (r == -EACCES || r == -EOPNOTSUPP)
		unit_skip_all("softgpu in a dry run", err.msg);
	if (r < 0)
		fprintf(stderr, "%s\n", err.msg);
	return r;
}

FIXTURE_ONCE(prepare, NULL)
