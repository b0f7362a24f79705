/* SPDX-License-Identifier: MIT */
/*
 * softgpu with the kernel of this host: real control groups, processes and caps, below a group of
 * this process that is removed at the end. The test is skipped if no control group can be written.
 */
#include "tests/unit/gpu/softgpu/test-softgpu.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"

static struct gpu_config config;
static struct cgroup_host host;
static struct gpu *gpu;
static struct err err;

static int open_gpu(void)
{
	int r = cgroup_find(CGROUP_MOUNTINFO, &host, &err);

	strcpy(config.name, "gpu0");
	snprintf(config.root, sizeof(config.root), "gover-test-%d", (int)getpid());
	config.capacity_cores = 1;
	return r < 0 ? r : ops->open(&config, &gpu, &err);
}

static void destroy_one(void *userdata, const char *id, int initial_cap_pct)
{
	struct err why;

	(void)userdata;
	(void)initial_cap_pct;
	if (ops->destroy(gpu, id, &why) < 0)
		fprintf(stderr, "not removed: %s\n", why.msg);
}

static int clean(void)
{
	end_children();
	return ops->list(gpu, destroy_one, NULL) == -ENOENT ? -1 : 0;
}

FIXTURE(NULL, clean)

static int close_gpu(void)
{
	ops->close(gpu);
	return group_exists(&host, config.root) ? -1 : 0;
}

static struct gpu_vgpu *make_vgpu(const char *id, int cap_pct, uint64_t now_mono_ns)
{
	struct gpu_vgpu *vgpu;

	assert_int_equal(ops->create(gpu, id, cap_pct, &err), 0);
	assert_int_equal(ops->attach(gpu, id, now_mono_ns, &vgpu, &err), 0);
	return vgpu;
}

static void count_one(void *userdata, const char *id, int initial_cap_pct)
{
	int *counts = userdata;

	assert_int_equal(initial_cap_pct, 0);
	counts[id[0] == 'a' ? 0 : 1]++;
}

TEST(vgpus_are_created_listed_and_removed_once)
{
	int counts[2] = {0, 0};

	assert_int_equal(ops->create(gpu, "a", 20, &err), 0);
	assert_int_equal(ops->create(gpu, "b", 30, &err), 0);
	assert_int_equal(ops->create(gpu, "a", 40, &err), -EEXIST);
	assert_non_null(strstr(err.msg, "vGPU a"));
	assert_int_equal(ops->list(gpu, count_one, counts), 0);
	assert_int_equal(counts[0], 1);
	assert_int_equal(counts[1], 1);
	assert_int_equal(ops->destroy(gpu, "a", &err), 0);
	assert_int_equal(ops->destroy(gpu, "a", &err), -ENOENT);
	assert_non_null(strstr(err.msg, "vGPU a"));
	assert_int_equal(ops->list(gpu, count_one, counts), 0);
	assert_int_equal(counts[0], 1);
	assert_int_equal(counts[1], 2);
}

TEST(invalid_values_are_rejected_without_a_change)
{
	static const int caps[] = {0, -1, 101, INT32_MAX, INT32_MIN};
	struct gpu_vgpu *vgpu = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(caps); i++) {
		assert_int_equal(ops->create(gpu, "bad", caps[i], &err), -EINVAL);
		assert_non_null(strstr(err.msg, "allowed: 1..100"));
		assert_int_equal(ops->attach(gpu, "bad", 0, &vgpu, &err), -ENOENT);
	}
	assert_int_equal(ops->create(gpu, "..", 10, &err), -EINVAL);
	assert_int_equal(ops->create(gpu, "a/b", 10, &err), -EINVAL);
	assert_int_equal(ops->destroy(gpu, "..", &err), -ENOENT);
	vgpu = make_vgpu("a", 33, 0);
	for (size_t i = 0; i < ARRAY_SIZE(caps); i++)
		assert_int_equal(ops->write_cap(vgpu, 0, caps[i]), -EINVAL);
	expect_cap(ops, vgpu, 33);
	ops->detach(vgpu);
}

TEST(every_cap_can_follow_every_other_cap)
{
	struct gpu_vgpu *vgpu = make_vgpu("a", 100, 0);

	write_all_caps(vgpu);
	ops->detach(vgpu);
}

static void foreign_limit(const char *id, struct cgroup_limit limit)
{
	struct cgroup_files files;
	char group[PATH_MAX];

	snprintf(group, sizeof(group), "%.200s/gpu0/%s", config.root, id);
	assert_int_equal(cgroup_open(&host, group, &files), 0);
	/* Sets the smallest limit first, because every kernel allows it before and after any other
	 * limit. */
	assert_int_equal(cgroup_write_limit(&files, &(struct cgroup_limit){1000, 1000000, 0}), 0);
	assert_int_equal(cgroup_write_limit(&files, &limit), 0);
	cgroup_close(&files);
}

TEST(a_cap_can_follow_any_foreign_limit)
{
	static const struct cgroup_limit limits[] = {
		{50000, 100000, 0},
		{5000, 5000, 0},
		{1000, 1000000, 0},
		{1000000, 1000000, 0},
	};
	static const int caps[] = {1, 50, 100};
	struct gpu_vgpu *vgpu;

	vgpu = make_vgpu("a", 100, 0);
	for (size_t i = 0; i < ARRAY_SIZE(limits) * ARRAY_SIZE(caps); i++) {
		int want = caps[i % ARRAY_SIZE(caps)];

		foreign_limit("a", limits[i / ARRAY_SIZE(caps)]);
		assert_int_equal(ops->write_cap(vgpu, 0, want), 0);
		expect_cap(ops, vgpu, want);
	}
	ops->detach(vgpu);
}

TEST(allotted_time_is_the_integral_of_the_cap_in_force)
{
	static const struct {
		uint64_t at_s;
		int write;   /* cap that the backend writes after the reading; 0: none */
		int foreign; /* cap that another program writes after the reading; 0: none */
		int cap;
		double sched_s;
	} rows[] = {
		{10, 0, 0, 20, 0},     {11, 0, 0, 20, 0.2},  {12, 50, 0, 20, 0.4},
		{13, 0, 30, 50, 0.9},  {14, 0, 0, 30, 1.4}, /* from now on the cap counts as 30 */
		{15, 0, 0, 30, 1.7},   {15, 0, 0, 30, 1.7},  {14, 0, 0, 30, 1.7},
		{20, 100, 0, 30, 3.2}, {21, 0, 0, 100, 4.2},
	};
	struct gpu_vgpu *vgpu = make_vgpu("a", 20, 10 * NS_PER_S);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct gpu_reading reading;

		assert_int_equal(ops->read(vgpu, rows[i].at_s * NS_PER_S, &reading), 0);
		assert_true(reading.busy_valid && reading.cap_valid && !reading.frames_valid);
		assert_int_equal(reading.at_ns, rows[i].at_s * NS_PER_S);
		assert_int_equal(reading.cap_pct, rows[i].cap);
		assert_true(fabs((double)reading.sched_ns / 1e9 - rows[i].sched_s) < 1e-3);
		if (rows[i].write)
			assert_int_equal(
				ops->write_cap(vgpu, rows[i].at_s * NS_PER_S, rows[i].write), 0);
		if (rows[i].foreign)
			foreign_limit("a", cgroup_limit_for(rows[i].foreign / 100.0));
	}
	ops->detach(vgpu);
}

TEST(a_removed_limit_is_cap_0_and_allots_the_whole_gpu)
{
	struct gpu_vgpu *vgpu;
	struct gpu_reading reading;

	vgpu = make_vgpu("a", 20, 0);
	for (int i = 0; i < host.n_mounts; i++) {
		char group[PATH_MAX], path[PATH_MAX];

		snprintf(group, sizeof(group), "%.200s/gpu0/a", config.root);
		assert_int_equal(cgroup_path(&host, i, group, host.version->limit_file, path), 0);
		if (access(path, F_OK) == 0)
			assert_int_equal(
				file_write_text(path, host.version->number == 1 ? "-1" : "max"), 0);
	}
	expect_cap(ops, vgpu, 0);
	assert_int_equal(ops->read(vgpu, NS_PER_S, &reading), 0);
	assert_int_equal(reading.cap_pct, 0);
	assert_int_equal(ops->read(vgpu, 2 * NS_PER_S, &reading), 0);
	assert_true(fabs((double)reading.sched_ns / 1e9 - 1.2) < 1e-3);
	ops->detach(vgpu);
}

#define MEASURE_S 3

/* Measures the shares of @n vGPUs over MEASURE_S. Returns the busy share of the GPU. */
static double measure(struct gpu_vgpu *vgpus[], size_t n, double shares[])
{
	struct gpu_reading before, after;
	uint64_t busy[4], at, at_before, physical_before, physical;

	assert_int_equal(
		ops->observe.physical(gpu, clock_now().mono_ns, &at_before, &physical_before), 0);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(ops->read(vgpus[i], clock_now().mono_ns, &before), 0);
		busy[i] = before.busy_ns;
	}
	sleep(MEASURE_S);
	assert_int_equal(ops->observe.physical(gpu, clock_now().mono_ns, &at, &physical), 0);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(ops->read(vgpus[i], clock_now().mono_ns, &after), 0);
		shares[i] = (double)(after.busy_ns - busy[i]) / (double)(at - at_before);
	}
	return (double)(physical - physical_before) / (double)(at - at_before);
}

/* Returns the idle time of all CPUs of this machine. */
static double idle_s(void)
{
	char text[4096] = "";
	unsigned long long idle, waiting;

	assert_true(file_read_text("/proc/stat", text, sizeof(text)) > 0);
	assert_int_equal(sscanf(text, "cpu %*u %*u %*u %llu %llu", &idle, &waiting), 2);
	return (double)(idle + waiting) / (double)sysconf(_SC_CLK_TCK);
}

/* A share above the cap is a failure. Other load on the host can cause a share below the cap: the
 * test measures again, and is skipped if no CPU was idle. */
TEST(programs_get_their_caps_within_2_points)
{
	struct gpu_vgpu *vgpus[2];
	double shares[2] = {0, 0};
	double whole = 0, idle = 0;

	vgpus[0] = make_vgpu("a", 20, clock_now().mono_ns);
	vgpus[1] = make_vgpu("b", 50, clock_now().mono_ns);
	start_child(gpu, "a", true);
	start_child(gpu, "b", true);
	for (int i = 0; i < 6 && (shares[0] < 0.18 || shares[1] < 0.48); i++) {
		idle = idle_s();
		whole = measure(vgpus, 2, shares);
		idle = idle_s() - idle;
		print_message("# caps 20 %% and 50 %% got %.1f %% and %.1f %%, the whole %.1f %%\n",
			      shares[0] * 100, shares[1] * 100, whole * 100);
		assert_true(shares[0] <= 0.22);
		assert_true(shares[1] <= 0.52);
	}
	if ((shares[0] < 0.18 || shares[1] < 0.48) && idle < 0.25 * MEASURE_S) {
		print_message("# all CPUs were busy: unused caps cannot be measured\n");
		skip();
	}
	assert_true(shares[0] >= 0.18);
	assert_true(shares[1] >= 0.48);
	assert_true(fabs(whole - shares[0] - shares[1]) <= 0.02);
	ops->detach(vgpus[0]);
	ops->detach(vgpus[1]);
}

TEST(the_gpu_is_limited_whatever_the_sum_of_caps)
{
	struct gpu_vgpu *vgpus[2];
	double shares[2], whole;

	vgpus[0] = make_vgpu("a", 80, clock_now().mono_ns);
	vgpus[1] = make_vgpu("b", 80, clock_now().mono_ns);
	start_child(gpu, "a", true);
	start_child(gpu, "b", true);
	whole = measure(vgpus, 2, shares);
	print_message("# caps 80 %% and 80 %% got %.1f %% and %.1f %%\n", shares[0] * 100,
		      shares[1] * 100);
	assert_true(shares[0] + shares[1] <= 1.02);
	assert_true(whole <= 1.02);
	assert_true(shares[0] >= 0.1 && shares[1] >= 0.1);
	ops->detach(vgpus[0]);
	ops->detach(vgpus[1]);
}

TEST(programs_of_a_gpu_of_whole_cores_are_pinned)
{
	bool can_pin = host.cpuset >= 0 && cgroup_cores(&host) > 1;
	cpu_set_t ours, cpus;

	assert_int_equal(sched_getaffinity(0, sizeof(ours), &ours), 0);
	assert_int_equal(ops->create(gpu, "a", 20, &err), 0);
	assert_int_equal(sched_getaffinity(start_child(gpu, "a", false), sizeof(cpus), &cpus), 0);
	assert_int_equal(CPU_COUNT(&cpus), can_pin ? 1 : CPU_COUNT(&ours));
}

TEST(a_group_removed_by_another_program_can_be_created_again)
{
	struct gpu_vgpu *vgpu, *second;
	struct gpu_reading reading;
	uint64_t at, busy;
	char group[PATH_MAX];
	int cap;

	vgpu = make_vgpu("a", 20, 0);
	snprintf(group, sizeof(group), "%.200s/gpu0/a", config.root);
	assert_int_equal(cgroup_remove(&host, group), 0);
	assert_int_equal(ops->read(vgpu, NS_PER_S, &reading), -ENODEV);
	assert_int_equal(ops->read_cap(vgpu, &cap), -ENODEV);
	assert_int_equal(ops->write_cap(vgpu, NS_PER_S, 30), -ENODEV);

	second = make_vgpu("a", 40, 0);
	assert_int_equal(ops->read(vgpu, NS_PER_S, &reading), -ENODEV);
	assert_int_equal(ops->read_cap(vgpu, &cap), -ENODEV);
	assert_true(ops->identity(second) != 0);
	assert_true(ops->identity(second) != ops->identity(vgpu));
	ops->detach(second);
	ops->detach(vgpu);

	assert_int_equal(cgroup_remove(&host, group), 0);
	cgroup_parent(group, group);
	assert_int_equal(cgroup_remove(&host, group), 0);
	assert_int_equal(ops->observe.physical(gpu, 0, &at, &busy), -ENODEV);
	vgpu = make_vgpu("a", 40, 0);
	expect_cap(ops, vgpu, 40);
	assert_int_equal(ops->observe.physical(gpu, 0, &at, &busy), 0);
	ops->detach(vgpu);
}

TEST(a_vgpu_with_programs_is_not_removed)
{
	assert_int_equal(ops->create(gpu, "a", 20, &err), 0);
	start_child(gpu, "a", false);
	assert_int_equal(ops->destroy(gpu, "a", &err), -EBUSY);
	assert_non_null(strstr(err.msg, "1 program still runs"));
	start_child(gpu, "a", false);
	assert_int_equal(ops->destroy(gpu, "a", &err), -EBUSY);
	assert_non_null(strstr(err.msg, "2 programs still run"));
	end_children();
	assert_int_equal(ops->destroy(gpu, "a", &err), 0);
}

TEST(a_later_daemon_adopts_existing_vgpus)
{
	struct gpu *second;
	struct gpu_vgpu *vgpu;
	struct gpu_config other = config;
	int counts[2] = {0, 0};

	assert_int_equal(ops->create(gpu, "a", 37, &err), 0);
	assert_int_equal(ops->open(&config, &second, &err), 0);
	assert_int_equal(ops->list(second, count_one, counts), 0);
	assert_int_equal(counts[0], 1);
	assert_int_equal(ops->attach(second, "a", 0, &vgpu, &err), 0);
	expect_cap(ops, vgpu, 37);
	ops->detach(vgpu);
	ops->close(second);
	assert_int_equal(ops->attach(gpu, "a", 0, &vgpu, &err), 0); /* vGPU a still exists */
	ops->detach(vgpu);

	/* A GPU that has vGPUs cannot change its size. */
	other.capacity_cores = 0.5;
	assert_int_equal(ops->open(&other, &second, &err), -EBUSY);
	assert_non_null(strstr(err.msg, "capacity_cores 0.5"));
}

TEST(owner_finds_the_vgpu_of_a_process)
{
	char id[ID_MAX] = "";
	char below[PATH_MAX], text[16];
	pid_t pid;

	assert_int_equal(ops->processes.owner(gpu, getpid(), id), -ENOENT);
	assert_int_equal(ops->create(gpu, "a", 20, &err), 0);
	pid = start_child(gpu, "a", false);
	assert_int_equal(ops->processes.owner(gpu, pid, id), 0);
	assert_string_equal(id, "a");

	/* A container creates groups below the group of the vGPU. */
	assert_int_equal(ops->create(gpu, "b", 20, &err), 0);
	snprintf(below, sizeof(below), "%.200s/gpu0/b/inside", config.root);
	assert_true(cgroup_make(&host, below, &err) >= 0);
	for (int i = 0; i < host.n_mounts; i++) {
		char path[PATH_MAX];

		assert_int_equal(cgroup_path(&host, i, below, "cgroup.procs", path), 0);
		snprintf(text, sizeof(text), "%d", (int)pid);
		assert_int_equal(file_write_text(path, text), 0);
	}
	assert_int_equal(ops->processes.owner(gpu, pid, id), 0);
	assert_string_equal(id, "b");
	assert_int_equal(ops->destroy(gpu, "b", &err), -EBUSY);
	assert_non_null(strstr(err.msg, "groups of other programs"));
	end_children();
	assert_int_equal(ops->processes.owner(gpu, pid, id), -ENOENT);
	assert_int_equal(cgroup_remove(&host, below), 0);
}

TEST(a_wrong_configuration_is_reported)
{
	static const struct {
		const char *root;
		double cores;
		const char *message;
	} rows[] = {
		{"../x", 1, "root \"../x\""},	      {"/x", 1, "root \"/x\""},
		{"a//b", 1, "root \"a//b\""},	      {"a/./b", 1, "root"},
		{"gover", -1, "capacity_cores -1"},   {"gover", 1e9, "capacity_cores 1e+09"},
		{"gover", NAN, "capacity_cores nan"}, {"gover", 0.001, "capacity_cores 0.001"},
	};
	struct gpu_config wrong = config;
	struct gpu *none;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		strcpy(wrong.root, rows[i].root);
		wrong.capacity_cores = rows[i].cores;
		assert_int_equal(ops->open(&wrong, &none, &err), -EINVAL);
		assert_non_null(strstr(err.msg, rows[i].message));
	}
}

TEST(the_size_determines_the_traits_and_close_removes_all_groups)
{
	static const struct {
		double cores, capacity;
		int floor_pct;
	} rows[] = {{0, 1, 1}, {1, 1, 1}, {0.5, 0.5, 2}, {0.3, 0.3, 4}, {0.01, 0.01, 100}};
	struct gpu_config other = config;

	snprintf(other.root, sizeof(other.root), "%.200s-more/below", config.root);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct gpu_traits traits;
		struct gpu *small;

		other.capacity_cores = rows[i].cores;
		assert_int_equal(ops->open(&other, &small, &err), 0);
		assert_true(group_exists(&host, other.root));
		ops->traits(small, &traits);
		assert_int_equal(traits.step_pct, 1);
		assert_int_equal(traits.floor_pct, rows[i].floor_pct);
		assert_true(traits.creates && !traits.counts_frames);
		assert_int_equal(traits.share, GPU_HARD_CAP);
		assert_true(fabs(traits.capacity_cores - rows[i].capacity) < 1e-9);
		assert_int_equal(ops->create(small, "a", traits.floor_pct - 1, &err), -EINVAL);
		assert_int_equal(ops->create(small, "a", traits.floor_pct, &err), 0);
		assert_int_equal(ops->destroy(small, "a", &err), 0);
		ops->close(small);
		assert_false(group_exists(&host, other.root));
	}
	snprintf(other.root, sizeof(other.root), "%.200s-more", config.root);
	assert_false(group_exists(&host, other.root));
	ops->close(NULL);
	ops->detach(NULL);
}

static int prepare(void)
{
	int r = open_gpu();

	if (r == -EACCES || r == -EOPNOTSUPP)
		unit_skip_all("softgpu", err.msg);
	if (r < 0)
		fprintf(stderr, "%s\n", err.msg);
	return r;
}

FIXTURE_ONCE(prepare, close_gpu)
