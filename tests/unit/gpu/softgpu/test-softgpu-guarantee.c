/* SPDX-License-Identifier: MIT */
/*
 * softgpu with guarantees, with the kernel of this host: real control groups and busy programs,
 * below a group of this process that is removed at the end. The test is skipped if no control group
 * can be written.
 */
#include "tests/unit/gpu/softgpu/test-softgpu.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"

#define MEASURE_S 2
#define TRIES	  6

static struct gpu_config guarantee, hard;
static struct cgroup_host host;
static struct err err;

static int make_configs(void)
{
	strcpy(guarantee.name, "gpu0");
	snprintf(guarantee.root, sizeof(guarantee.root), "gover-test-%d", (int)getpid());
	guarantee.capacity_cores = 1;
	hard = guarantee;
	strcpy(guarantee.sharing, "guarantee");
	return cgroup_find(CGROUP_MOUNTINFO, &host, &err);
}

/* As gpu/io.c opens a GPU. */
static int try_open(const struct gpu_config *config, struct gpu **ret_gpu)
{
	int r = ops->open(config, ret_gpu, &err);

	if (r < 0)
		return r;
	r = ops->sharing.set(*ret_gpu, gpu_wants_guarantees(config), false, &err);
	if (r < 0)
		ops->close(*ret_gpu);
	return r < 0 ? r : 0; /* 1: a dry run has found another sharing */
}

static struct gpu *open_gpu(const struct gpu_config *config)
{
	struct gpu *gpu;

	if (try_open(config, &gpu) == 0)
		return gpu;
	print_message("# %s\n", err.msg);
	fail();
	return NULL;
}

/* Removes what a failed test has left. */
static int clean(void)
{
	static const char *const ids[] = {"a", "b"};
	struct gpu *gpu;
	struct err why;

	end_children();
	if (try_open(&hard, &gpu) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		(void)ops->destroy(gpu, ids[i], &why);
	ops->close(gpu);
	return 0;
}

FIXTURE(NULL, clean)

static struct gpu_vgpu *make_vgpu(struct gpu *gpu, const char *id, int cap_pct, int ceiling_pct)
{
	struct gpu_vgpu *vgpu;

	assert_int_equal(ops->create(gpu, id, cap_pct, &err), 0);
	assert_int_equal(ops->attach(gpu, id, clock_now().mono_ns, &vgpu, &err), 0);
	assert_int_equal(ops->sharing.write_ceiling(vgpu, ceiling_pct), 0);
	return vgpu;
}

static void end_vgpu(struct gpu *gpu, struct gpu_vgpu *vgpu)
{
	ops->detach(vgpu);
	assert_int_equal(ops->destroy(gpu, "a", &err), 0);
	ops->close(gpu);
}

static uint64_t busy_ns(struct gpu_vgpu *vgpu)
{
	struct gpu_reading reading;

	assert_int_equal(ops->read(vgpu, clock_now().mono_ns, &reading), 0);
	return reading.busy_ns;
}

/*
 * Measures both shares until they are within [from_pct, to_pct]. Other programs of the host can
 * take time from both. If both vGPUs are busy, @from_pct therefore refers to the time that they
 * got.
 */
static bool get_shares(struct gpu_vgpu *const vgpus[2], const double from_pct[2],
		       const double to_pct[2])
{
	bool reached = false;

	for (int i = 0; i < TRIES && !reached; i++) {
		uint64_t at = clock_now().mono_ns, busy[2];
		double pct[2], whole = 100;

		for (int v = 0; v < 2; v++)
			busy[v] = busy_ns(vgpus[v]);
		sleep(MEASURE_S);
		at = clock_now().mono_ns - at;
		for (int v = 0; v < 2; v++)
			pct[v] = 100.0 * (double)(busy_ns(vgpus[v]) - busy[v]) / (double)at;
		print_message("# %.1f %% and %.1f %%\n", pct[0], pct[1]);
		if (from_pct[1] > 0)
			whole = fmin(100, pct[0] + pct[1]);
		reached = pct[0] <= to_pct[0] && pct[1] <= to_pct[1] &&
			  pct[0] * 100 >= from_pct[0] * whole &&
			  pct[1] * 100 >= from_pct[1] * whole;
	}
	return reached;
}

TEST(idle_time_goes_to_the_busy_and_returns)
{
	struct gpu *gpu = open_gpu(&guarantee);
	struct gpu_vgpu *vgpus[2];

	vgpus[0] = make_vgpu(gpu, "a", 20, 60);
	vgpus[1] = make_vgpu(gpu, "b", 70, 100);
	start_child(gpu, "a", true);
	print_message("# b is idle: a gets its ceiling of 60 %%, not its cap of 20 %%\n");
	assert_true(get_shares(vgpus, (double[]){57, 0}, (double[]){62, 1}));
	print_message("# both are busy: the rest is divided as 20 to 70\n");
	start_child(gpu, "b", true);
	assert_true(get_shares(vgpus, (double[]){20, 74}, (double[]){24, 80}));
	print_message("# the caps change places\n");
	assert_int_equal(ops->write_cap(vgpus[1], clock_now().mono_ns, 20), 0);
	assert_int_equal(ops->write_cap(vgpus[0], clock_now().mono_ns, 70), 0);
	assert_true(get_shares(vgpus, (double[]){55, 20}, (double[]){80, 40}));
	print_message("# a lower ceiling of a, but never below its cap of 70 %%\n");
	assert_int_equal(ops->sharing.write_ceiling(vgpus[0], 30), 0);
	assert_true(get_shares(vgpus, (double[]){55, 25}, (double[]){72, 40}));
	assert_int_equal(ops->write_cap(vgpus[0], clock_now().mono_ns, 20), 0);
	print_message("# a gets its ceiling of 30 %%, b the rest\n");
	assert_true(get_shares(vgpus, (double[]){28, 66}, (double[]){32, 73}));
	end_children();
	for (int v = 0; v < 2; v++)
		ops->detach(vgpus[v]);
	assert_int_equal(ops->destroy(gpu, "a", &err), 0);
	assert_int_equal(ops->destroy(gpu, "b", &err), 0);
	ops->close(gpu);
}

TEST(every_cap_can_follow_every_other_cap)
{
	struct gpu *gpu = open_gpu(&guarantee);
	struct gpu_vgpu *vgpu = make_vgpu(gpu, "a", 100, 50);

	write_all_caps(vgpu);
	assert_int_equal(ops->write_cap(vgpu, 0, 0), -EINVAL);
	assert_int_equal(ops->write_cap(vgpu, 0, 101), -EINVAL);
	assert_int_equal(ops->sharing.write_ceiling(vgpu, 0), -EINVAL);
	assert_int_equal(ops->sharing.write_ceiling(vgpu, 101), -EINVAL);
	end_vgpu(gpu, vgpu);
}

static void open_files(const char *id, struct cgroup_files *ret_files)
{
	char group[PATH_MAX];

	snprintf(group, sizeof(group), "%.200s/gpu0/%s", guarantee.root, id);
	assert_int_equal(cgroup_open(&host, group, ret_files), 0);
}

static void read_files(const char *id, int *ret_limit_pct, int *ret_share_pct)
{
	struct cgroup_files files;
	struct cgroup_limit limit;

	open_files(id, &files);
	assert_int_equal(files.version->read_limit(&files, &limit), 0);
	*ret_limit_pct = (int)(cgroup_limit_cores(&limit) * 100 + 0.5);
	assert_true(cgroup_read_share(&files, ret_share_pct) >= 0);
	cgroup_close(&files);
}

/* Opens the GPU with @config, as a daemon with another configuration does, and reads the cap. */
static void expect_after_open(const struct gpu_config *config, int cap_pct, int limit_pct,
			      int share_pct)
{
	struct gpu *gpu = open_gpu(config);
	struct gpu_vgpu *vgpu;
	int limit, share;

	assert_int_equal(ops->attach(gpu, "a", 0, &vgpu, &err), 0);
	expect_cap(ops, vgpu, cap_pct);
	read_files("a", &limit, &share);
	assert_int_equal(limit, limit_pct);
	assert_int_equal(share, share_pct);
	ops->detach(vgpu);
	ops->close(gpu);
}

/* A dry run reports the sharing in force and changes nothing. */
static void expect_sharing(const struct gpu_config *dry, bool guarantees)
{
	struct gpu *gpu = open_gpu(dry);
	struct gpu_traits traits;

	ops->traits(gpu, &traits);
	assert_int_equal(traits.guarantees, guarantees);
	ops->close(gpu);
}

TEST(caps_survive_a_change_of_sharing)
{
	struct gpu *gpu = open_gpu(&guarantee);
	struct gpu_config dry = hard;

	ops->detach(make_vgpu(gpu, "a", 20, 90));
	dry.dry_run = true;
	expect_after_open(&guarantee, 20, 90, 20);
	expect_sharing(&dry, true);
	expect_after_open(&guarantee, 20, 90, 20);
	expect_after_open(&hard, 20, 20, 0);
	strcpy(dry.sharing, "guarantee");
	expect_sharing(&dry, false);
	expect_after_open(&hard, 20, 20, 0);
	expect_after_open(&guarantee, 20, 20, 20);
	assert_int_equal(ops->destroy(gpu, "a", &err), 0);
	ops->close(gpu);
}

TEST(a_limit_of_another_program_below_the_cap_is_the_cap)
{
	struct gpu *gpu = open_gpu(&guarantee);
	struct gpu_vgpu *vgpu = make_vgpu(gpu, "a", 40, 90);
	struct cgroup_limit limit = cgroup_limit_for(0.25);
	struct cgroup_files files;

	open_files("a", &files);
	assert_int_equal(cgroup_write_limit(&files, &limit), 0);
	assert_int_equal(reading_at(ops, vgpu, NS_PER_S).cap_pct, 25);
	assert_int_equal(ops->write_cap(vgpu, NS_PER_S, 40), 0);
	assert_int_equal(reading_at(ops, vgpu, 2 * NS_PER_S).cap_pct, 40);
	assert_int_equal(cgroup_write_share(&files, 15), 0);
	assert_int_equal(reading_at(ops, vgpu, 3 * NS_PER_S).cap_pct, 15);
	cgroup_close(&files);
	end_vgpu(gpu, vgpu);
}

/* Another program has created the group with a limit and without a weight. */
TEST(a_new_group_of_another_program_has_its_limit_as_cap)
{
	struct gpu *gpu = open_gpu(&guarantee);
	struct cgroup_files files;
	struct gpu_vgpu *vgpu;
	int limit, share;

	assert_int_equal(ops->create(gpu, "a", 50, &err), 0);
	open_files("a", &files);
	assert_int_equal(cgroup_clear_share(&files), 0);
	assert_int_equal(ops->attach(gpu, "a", 0, &vgpu, &err), 0);
	expect_cap(ops, vgpu, 50);
	read_files("a", &limit, &share);
	assert_int_equal(limit, 50);
	assert_int_equal(share, 50);
	print_message("# the weight of a new group is that of the smallest cap\n");
	assert_int_equal(cgroup_clear_share(&files), 0);
	expect_cap(ops, vgpu, 1);
	cgroup_close(&files);
	end_vgpu(gpu, vgpu);
}

/* An operator writes round numbers. Hard caps do not depend on the weight. */
TEST(a_weight_of_an_operator_is_no_share)
{
	static const int weights[] = {2000, 5000, 10000, 2048, 500, 200};
	struct gpu *gpu = open_gpu(&hard);
	struct cgroup_files files;

	assert_int_equal(ops->create(gpu, "a", 50, &err), 0);
	open_files("a", &files);
	for (size_t i = 0; i < ARRAY_SIZE(weights); i++) {
		uint64_t weight;
		struct gpu_vgpu *vgpu;
		int cap;

		assert_int_equal(file_pwrite_i64(files.weight, weights[i]), 0);
		ops->close(open_gpu(&hard));
		assert_int_equal(ops->attach(gpu, "a", 0, &vgpu, &err), 0);
		assert_int_equal(ops->read_cap(vgpu, &cap), 0);
		assert_int_equal(file_pread_u64(files.weight, &weight), 0);
		if (cap != 50 || weight != (uint64_t)weights[i])
			fail_msg("weight %d: cap %d, weight %d", weights[i], cap, (int)weight);
		ops->detach(vgpu);
	}
	cgroup_close(&files);
	assert_int_equal(ops->destroy(gpu, "a", &err), 0);
	ops->close(gpu);
}

/* With the whole contract as cap, a larger weight takes time from the other vGPUs. */
TEST(a_larger_weight_at_the_ceiling_is_an_external_cap)
{
	struct gpu *gpu = open_gpu(&guarantee);
	struct gpu_vgpu *vgpu = make_vgpu(gpu, "a", 40, 40);
	struct cgroup_files files;

	open_files("a", &files);
	assert_int_equal(cgroup_write_share(&files, 80), 0);
	expect_cap(ops, vgpu, 80);
	assert_int_equal(ops->write_cap(vgpu, 0, 40), 0);
	expect_cap(ops, vgpu, 40);
	cgroup_close(&files);
	end_vgpu(gpu, vgpu);
}

/* A GPU that does not fill its core is pinned too, because weights count only on the same core. */
TEST(a_gpu_of_half_a_core_is_pinned_or_refused)
{
	struct gpu_config half = guarantee;
	struct gpu *gpu;
	char group[PATH_MAX];

	half.capacity_cores = 0.5;
	if (host.cpuset >= 0 && cgroup_cores(&host) > 1) {
		gpu = open_gpu(&half);
		snprintf(group, sizeof(group), "%.200s/gpu0", half.root);
		assert_int_equal(cgroup_cores_of(&host, group), 1);
		ops->close(gpu);
	} else if (cgroup_cores(&host) > 1) {
		assert_int_equal(try_open(&half, &gpu), -EOPNOTSUPP);
		assert_non_null(strstr(err.msg, "sharing = guarantee"));
	}
}

/* Two vGPUs with a busy thread each would use a core each, until the limit of the GPU stops both.
 */
TEST(a_gpu_of_one_and_a_half_cores_is_refused)
{
	struct gpu_config more = guarantee;
	struct gpu *gpu;

	if (cgroup_cores(&host) < 2) {
		print_message("# the host has one core\n");
		skip();
	}
	more.capacity_cores = 1.5;
	assert_int_equal(try_open(&more, &gpu), -EOPNOTSUPP);
	assert_non_null(strstr(err.msg, "sharing = guarantee: not possible with capacity_cores = "
					"1.5"));
	strcpy(more.sharing, "hard");
	ops->close(open_gpu(&more));
}

/* The second GPU would need the last core of the host, if the host has two. */
TEST(a_gpu_that_cannot_be_pinned_is_refused)
{
	struct gpu_config second = guarantee;
	struct gpu *gpu, *none;

	if (host.cpuset < 0 || cgroup_cores(&host) != 2) {
		print_message("# not a host with two cores and a cpuset\n");
		skip();
	}
	gpu = open_gpu(&guarantee);
	strcpy(second.name, "gpu1");
	assert_int_equal(try_open(&second, &none), -EOPNOTSUPP);
	assert_non_null(strstr(err.msg, "gpu1 can use 2 cores"));
	strcpy(second.sharing, "hard");
	ops->close(open_gpu(&second));
	ops->close(gpu);
}

static int prepare(void)
{
	struct gpu *gpu;
	int r = make_configs();

	if (r == 0)
		r = try_open(&guarantee, &gpu);
	if (r == -EACCES || r == -EOPNOTSUPP)
		unit_skip_all("softgpu", err.msg);
	if (r < 0)
		fprintf(stderr, "%s\n", err.msg);
	else
		ops->close(gpu);
	return r;
}

FIXTURE_ONCE(prepare, NULL)
