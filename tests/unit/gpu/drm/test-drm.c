/* SPDX-License-Identifier: MIT */
/* Tests backend drm on a folder instead of proc and control groups. */
#include "tests/unit/gpu/drm/test-truth.h"

#include "gpu/drm/drm.h"
#include "gpu/gpu.h"

#define CONTAINER "docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope"

static struct gpu *gpu;
static struct gpu_config config;
static struct err err;
static uint64_t now_ns;
static char listed[8192];

static int set_up(void)
{
	config = (struct gpu_config){
		.name = "gpu0",
		.backend = "drm",
		.parent = "0000:03:00.0",
		.truth = "fdinfo",
		.sharing = "auto",
	};
	now_ns = S;
	err.msg[0] = '\0';
	if (make_host() < 0)
		return -1;
	strcpy(config.proc, top_proc);
	return 0;
}

static int tear_down(void)
{
	gpu_drm_ops.close(gpu);
	gpu = NULL;
	return remove_host();
}

FIXTURE(set_up, tear_down)

static void open_gpu(void)
{
	assert_int_equal(gpu_drm_ops.open(&config, &gpu, &err), 0);
}

static void note(void *userdata, const char *id, int initial_cap_pct)
{
	size_t used = strlen(listed);

	(void)userdata;
	snprintf(listed + used, sizeof(listed) - used, "%s=%d ", id, initial_cap_pct);
}

static const char *list(void)
{
	listed[0] = '\0';
	assert_int_equal(gpu_drm_ops.list(gpu, note, NULL), 0);
	return listed;
}

/* Takes a sample a second later. Returns the busy time of the whole GPU in ms. */
static double physical(void)
{
	static uint64_t last_ns;
	uint64_t at_ns, busy_ns;
	double grown;

	now_ns += S;
	assert_int_equal(gpu_drm_ops.observe.physical(gpu, now_ns, &at_ns, &busy_ns), 0);
	assert_true(at_ns <= now_ns);
	grown = (double)(busy_ns - last_ns) / 1e6;
	last_ns = busy_ns;
	return grown;
}

static struct gpu_vgpu *attach(const char *id)
{
	struct gpu_vgpu *vgpu;

	assert_int_equal(gpu_drm_ops.attach(gpu, id, now_ns, &vgpu, &err), 0);
	return vgpu;
}

/* Opens the GPU, takes a sample and attaches a vGPU. */
static struct gpu_vgpu *open_vgpu(const char *id)
{
	open_gpu();
	(void)physical();
	return attach(id);
}

static struct gpu_reading read_at(struct gpu_vgpu *vgpu, uint64_t at_ns)
{
	struct gpu_reading reading;

	assert_int_equal(gpu_drm_ops.read(vgpu, at_ns, &reading), 0);
	return reading;
}

TEST(groups_with_the_gpu_open_are_vgpus)
{
	add_drm_process(100, "system.slice/" CONTAINER, 3, 1, 0);
	add_drm_process(200, "system.slice/game.service/below", 3, 2, 0);
	add_process(300, "system.slice/sshd.service");
	add_drm_process(400, "user.slice/desktop", 3, 3, 0);
	open_gpu();
	assert_string_equal(list(), "");
	(void)physical();
	assert_string_equal(list(), "docker-0123456789ab=100 game=100 ");
}

TEST(groups_with_similar_names_are_all_vgpus)
{
	static const char *const names[] = {
		"render.scope",
		"render.service",
		"a_b.service",
		"a@b.service",
		"snap.telegram-desktop.telegram-desktop-2f0a7b1c-1d2e-4f3a-8b4c-5d6e7f809102.scope",
		"snap.telegram-desktop.telegram-desktop-2f0a7b1c-1d2e-4f3a-8b4c-5d6e7f809103.scope",
	};
	char forward[sizeof(listed)], group[128];

	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			size_t k = pass ? ARRAY_SIZE(names) - 1 - i : i;

			snprintf(group, sizeof(group), "system.slice/%s", names[k]);
			add_drm_process(100 + (int)i, group, 3, (unsigned)i + 1, 0);
		}
		open_gpu();
		(void)physical();
		if (pass == 0)
			strcpy(forward, list());
		gpu_drm_ops.close(gpu);
		gpu = NULL;
	}
	open_gpu();
	(void)physical();
	(void)list();
	/* the order of the processes changes the order of the list only */
	for (char *rest = forward, *word; (word = strsep(&rest, " "));)
		assert_non_null(strstr(listed, word));
	assert_int_equal(strlen(listed), strlen("render=100 render.scope=100 a_b=100 "
						"a_b-d3c0cb4e=100 ") +
						 2 * strlen(" =100") + 2 * 63);
}

TEST(a_group_with_the_id_of_another_is_listed_and_refused)
{
	struct gpu_vgpu *vgpu;
	char id[ID_MAX];

	add_drm_process(100, "system.slice/" CONTAINER, 3, 1, 0);
	add_process(200, "system.slice/docker-0123456789abffffffffffffffffffffffffffffffff"
			 "ffffffffffffffffffff.scope");
	add_drm_file(200, 3, 2, 0);
	open_gpu();
	(void)physical();
	assert_int_equal(sscanf(list(), "docker-0123456789ab=100 %63[^=]=100", id), 1);
	assert_int_equal(gpu_drm_ops.attach(gpu, id, now_ns, &vgpu, &err), -EEXIST);
	assert_non_null(strstr(err.msg, "another control group has the id"));
	/* it is forgotten when its program has ended */
	write_file("proc/200/fdinfo/3", ""); /* as in proc, an open file has no text any more */
	remove_below("proc/200");
	for (int i = 0; i < 80; i++)
		(void)physical();
	assert_string_equal(list(), "docker-0123456789ab=100 ");
}

TEST(groups_beyond_the_limit_are_listed_and_refused)
{
	struct gpu_vgpu *vgpu;
	char group[64], *id = NULL;
	int n_refused = 0;

	for (int i = 0; i <= 256; i++) {
		snprintf(group, sizeof(group), "system.slice/g%d", i);
		add_drm_process(1000 + i, group, 3, 1 + (unsigned int)i, 0);
	}
	open_gpu();
	(void)physical();
	for (char *rest = (char *)(uintptr_t)list(), *word; (word = strsep(&rest, " "));)
		if (strchr(word, '-')) {
			id = word;
			n_refused++;
		}
	assert_int_equal(n_refused, 1);
	assert_non_null(id);
	*strchr(id, '=') = '\0';
	assert_int_equal(gpu_drm_ops.attach(gpu, id, now_ns, &vgpu, &err), -ENOSPC);
	assert_non_null(strstr(err.msg, "more than 256 control groups use the GPU"));
}

TEST(readings_are_the_use_of_the_group)
{
	struct gpu_vgpu *a, *b;
	struct gpu_reading reading;

	add_drm_process(100, "system.slice/a", 3, 1, 10);
	add_drm_process(101, "system.slice/a/child", 3, 2, 10);
	add_drm_process(200, "system.slice/b", 3, 3, 10);
	a = open_vgpu("a");
	b = attach("b");
	add_drm_file(100, 3, 1, 10.2);
	add_drm_file(101, 3, 2, 10.3);
	add_drm_file(200, 3, 3, 10.1);
	now_ns += S;
	reading = read_at(a, now_ns);
	assert_true(reading.busy_valid);
	assert_int_equal(reading.at_ns, now_ns);
	assert_in_range(reading.busy_ns, S / 2 - 10, S / 2 + 10);
	/* it used half of the second, and the GPU was idle for 0.4 s */
	assert_in_range(reading.sched_ns, S * 9 / 10 - 20, S * 9 / 10 + 20);
	assert_int_equal(reading.cap_pct, 50);
	assert_true(reading.memory_valid);
	assert_int_equal(reading.memory_bytes, 3 * 1024);
	/* the same sample serves the whole sweep */
	reading = read_at(b, now_ns + 1000);
	assert_int_equal(reading.at_ns, now_ns);
	assert_in_range(reading.busy_ns, S / 10 - 10, S / 10 + 10);
	gpu_drm_ops.detach(a);
	gpu_drm_ops.detach(b);
}

/* Reads the GPU at the end of a sweep of @at_ns. */
static void end_sweep(uint64_t at_ns)
{
	uint64_t physical_ns, busy_ns;

	assert_int_equal(gpu_drm_ops.observe.physical(gpu, at_ns, &physical_ns, &busy_ns), 0);
}

TEST(a_reading_between_two_sweeps_delays_no_other_vgpu)
{
	struct gpu_vgpu *a, *b;

	add_drm_process(100, "system.slice/a", 3, 1, 10);
	add_drm_process(200, "system.slice/b", 3, 2, 10);
	a = open_vgpu("a");
	now_ns += S;
	(void)read_at(a, now_ns);
	end_sweep(now_ns);
	b = attach("b");
	(void)read_at(b, now_ns + S / 10); /* as for each vGPU that a sweep has found */
	for (int i = 0; i < 3; i++) {
		struct gpu_reading of_a, of_b;

		now_ns += S;
		of_a = read_at(a, now_ns);
		of_b = read_at(b, now_ns);
		end_sweep(now_ns);
		if (i == 0)
			continue;
		assert_int_equal(of_a.at_ns, now_ns);
		assert_int_equal(of_b.at_ns, now_ns);
	}
	gpu_drm_ops.detach(a);
	gpu_drm_ops.detach(b);
}

TEST(the_whole_gpu_includes_programs_without_a_vgpu)
{
	add_drm_process(100, "system.slice/a", 3, 1, 10);
	add_drm_process(400, "user.slice/desktop", 3, 3, 10);
	open_gpu();
	(void)physical();
	add_drm_file(100, 3, 1, 10.25);
	add_drm_file(400, 3, 3, 10.5);
	assert_in_range((int)(physical() + 0.5), 750, 750);
}

TEST(memory_of_the_control_group_has_priority)
{
	struct gpu_vgpu *a;

	add_drm_process(100, "system.slice/a", 3, 1, 0);
	write_file("cgroup/system.slice/a/dmem.current", "drm/0000:03:00.0/vram0 12345\n");
	a = open_vgpu("a");
	now_ns += S;
	assert_int_equal(read_at(a, now_ns).memory_bytes, 12345);
	assert_false(read_at(a, now_ns).memory_max_valid);
	write_file("cgroup/system.slice/a/dmem.max", "drm/0000:03:00.0/vram0 max\n");
	assert_false(read_at(a, now_ns).memory_max_valid);
	write_file("cgroup/system.slice/a/dmem.max", "drm/0000:03:00.0/vram0 65536\n");
	assert_true(read_at(a, now_ns).memory_max_valid);
	assert_int_equal(read_at(a, now_ns).memory_max_bytes, 65536);
	gpu_drm_ops.detach(a);
}

TEST(a_vgpu_ends_with_its_group)
{
	struct gpu_reading reading;
	struct gpu_vgpu *a;

	add_drm_process(100, "system.slice/a", 3, 1, 0);
	a = open_vgpu("a");
	remove_below("cgroup/system.slice/a");
	write_file("proc/100/fdinfo/3", ""); /* as in proc, an open file has no text any more */
	remove_below("proc/100");
	now_ns += S;
	assert_int_equal(gpu_drm_ops.read(a, now_ns, &reading), -ENODEV);
	gpu_drm_ops.detach(a);
	assert_string_equal(list(), "");
	assert_int_equal(gpu_drm_ops.attach(gpu, "a", now_ns, &a, &err), -ENOENT);
	/* the slot is free after some samples, and the name can be used again */
	for (int i = 0; i < 40; i++)
		(void)physical();
	add_process(100, "system.slice/a");
	a = attach("a");
	assert_int_equal(read_at(a, now_ns += S).busy_ns, 0);
	gpu_drm_ops.detach(a);
}

TEST(a_new_group_of_the_same_name_is_a_new_vgpu)
{
	struct gpu_reading reading;
	struct gpu_vgpu *a;

	add_drm_process(100, "system.slice/a.service", 3, 1, 0);
	a = open_vgpu("a");
	remove_below("cgroup/system.slice/a.service");
	remove_below("proc/100");
	now_ns += S;
	assert_int_equal(gpu_drm_ops.read(a, now_ns, &reading), -ENODEV);
	/* the service is started again before the old vGPU is detached */
	add_drm_process(200, "system.slice/a.service", 3, 2, 10);
	assert_int_equal(gpu_drm_ops.read(a, now_ns + 1000, &reading), -ENODEV);
	(void)physical();
	assert_string_equal(list(), "");
	gpu_drm_ops.detach(a);
	(void)physical();
	assert_string_equal(list(), "a=100 ");
	a = attach("a");
	add_drm_file(200, 3, 2, 10.3);
	assert_in_range(read_at(a, now_ns += S).busy_ns, S * 3 / 10 - 10, S * 3 / 10 + 10);
	gpu_drm_ops.detach(a);
}

/* Each start of a domain has a group with another number. */
TEST(a_vgpu_of_a_domain_follows_its_starts)
{
	struct gpu_reading reading;
	struct gpu_vgpu *vm;

	add_drm_process(100, "system.slice/machine-qemu\\x2d3\\x2dvm.scope", 3, 1, 0);
	vm = open_vgpu("machine-qemu-vm");
	remove_below("cgroup/system.slice/machine-qemu\\x2d3\\x2dvm.scope");
	remove_below("proc/100");
	now_ns += S;
	assert_int_equal(gpu_drm_ops.read(vm, now_ns, &reading), -ENODEV);
	/* the domain is started again before the old vGPU is detached */
	add_drm_process(200, "system.slice/machine-qemu\\x2d4\\x2dvm.scope", 3, 2, 10);
	assert_int_equal(gpu_drm_ops.read(vm, now_ns + 1000, &reading), -ENODEV);
	(void)physical();
	assert_string_equal(list(), "");
	gpu_drm_ops.detach(vm);
	(void)physical();
	assert_string_equal(list(), "machine-qemu-vm=100 ");
	vm = attach("machine-qemu-vm");
	add_drm_file(200, 3, 2, 10.3);
	assert_in_range(read_at(vm, now_ns += S).busy_ns, S * 3 / 10 - 10, S * 3 / 10 + 10);
	gpu_drm_ops.detach(vm);
}

TEST(a_group_of_a_contract_needs_no_program)
{
	struct gpu_vgpu *a;

	add_process(100, "system.slice/" CONTAINER);
	open_gpu();
	a = attach("docker-0123456789ab");
	assert_int_equal(read_at(a, now_ns += S).busy_ns, 0);
	assert_string_equal(list(), "docker-0123456789ab=100 ");
	gpu_drm_ops.detach(a);
}

TEST(nothing_can_be_written)
{
	struct gpu_traits traits;
	struct gpu_vgpu *a;
	int cap_pct;

	add_process(100, "system.slice/a");
	open_gpu();
	a = attach("a");
	gpu_drm_ops.traits(gpu, &traits);
	assert_true(traits.observes);
	assert_false(traits.creates);
	assert_string_equal(traits.truth, "fdinfo");
	assert_null(gpu_drm_ops.write_cap);
	assert_null(gpu_drm_ops.sharing.write_ceiling);
	assert_int_equal(gpu_drm_ops.read_cap(a, &cap_pct), 0);
	assert_int_equal(cap_pct, 100);
	assert_int_equal(gpu_drm_ops.create(gpu, "b", 50, &err), -EOPNOTSUPP);
	assert_int_equal(gpu_drm_ops.destroy(gpu, "a", &err), -EOPNOTSUPP);
	assert_int_equal(gpu_drm_ops.sharing.set(gpu, true, false, &err), 0);
	assert_int_equal(gpu_drm_ops.sharing.set(gpu, false, true, &err), 0);
	assert_int_equal(gpu_drm_ops.sharing.set(gpu, false, false, &err), -EOPNOTSUPP);
	gpu_drm_ops.detach(a);
}

TEST(a_process_belongs_to_its_group)
{
	char id[ID_MAX];

	add_process(100, "system.slice/" CONTAINER "/child");
	add_process(400, "user.slice/desktop");
	open_gpu();
	assert_int_equal(gpu_drm_ops.processes.owner(gpu, 100, id), 0);
	assert_string_equal(id, "docker-0123456789ab");
	assert_int_equal(gpu_drm_ops.processes.owner(gpu, 400, id), -ENOENT);
	assert_int_equal(gpu_drm_ops.processes.owner(gpu, 500, id), -ENOENT);
}

TEST(use_is_unknown_if_the_driver_reports_no_times)
{
	uint64_t at_ns, busy_ns;
	struct gpu_vgpu *a;

	add_process(100, "system.slice/a");
	add_file(100, 3, "/dev/dri/card0",
		 "drm-driver:\tnouveau\ndrm-client-id:\t1\ndrm-pdev:\t0000:03:00.0\n");
	open_gpu();
	a = attach("a");
	assert_false(read_at(a, now_ns += S).busy_valid);
	assert_int_equal(gpu_drm_ops.observe.physical(gpu, now_ns += S, &at_ns, &busy_ns),
			 -ENODATA);
	gpu_drm_ops.detach(a);
}

TEST(the_only_gpu_is_found)
{
	char device[GPU_PARENT_MAX], path[PATH_MAX], sys[96];

	snprintf(sys, sizeof(sys), "%s/sys", top);
	assert_int_equal(drm_device_find(sys, "", device, path, &err), -EOPNOTSUPP);
	write_file("sys/devices/0000:03:00.0/uevent", "");
	write_file("sys/bus/pci/x", "");
	write_file("sys/class/drm/card0/x", "");
	write_file("sys/class/drm/renderD128/x", "");
	assert_int_equal(symlink(below("sys/bus/pci"), below("sys/devices/0000:03:00.0/subsystem")),
			 0);
	assert_int_equal(symlink(below("sys/devices/0000:03:00.0"),
				 below("sys/class/drm/renderD128/device")),
			 0);
	assert_int_equal(drm_device_find(sys, "", device, path, &err), 0);
	assert_string_equal(device, "0000:03:00.0");
	assert_string_equal(path, below("sys/devices/0000:03:00.0"));

	/* a GPU of a system on a chip is named by its driver */
	write_file("sys/devices/1800000.gpu/uevent", "");
	write_file("sys/bus/platform/x", "");
	write_file("sys/drivers/panfrost/x", "");
	write_file("sys/class/drm/renderD129/x", "");
	assert_int_equal(
		symlink(below("sys/bus/platform"), below("sys/devices/1800000.gpu/subsystem")), 0);
	assert_int_equal(
		symlink(below("sys/drivers/panfrost"), below("sys/devices/1800000.gpu/driver")), 0);
	assert_int_equal(
		symlink(below("sys/devices/1800000.gpu"), below("sys/class/drm/renderD129/device")),
		0);
	assert_int_equal(drm_device_find(sys, "", device, path, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "panfrost"));
	assert_non_null(strstr(err.msg, "0000:03:00.0"));
	remove_below("sys/class/drm/renderD128");
	assert_int_equal(drm_device_find(sys, "", device, path, &err), 0);
	assert_string_equal(device, "panfrost");
	assert_int_equal(drm_device_find(sys, "0000:04:00.0", device, path, &err), 0);
	assert_string_equal(device, "0000:04:00.0");
	assert_string_equal(path, "");
	assert_int_equal(drm_device_find(sys, "nonsense", device, path, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "parent = nonsense: unknown"));
}

TEST(a_gpu_without_a_client_is_not_idle)
{
	uint64_t at_ns, busy_ns;
	struct gpu_source source;
	struct err problem;

	strcpy(config.parent, "ffff:03:00.0"); /* no host has it */
	add_process(100, "system.slice/a");
	open_gpu();
	assert_int_equal(gpu_drm_ops.observe.physical(gpu, now_ns, &at_ns, &busy_ns), -ENODATA);
	gpu_drm_ops.observe.problem(gpu, &problem);
	assert_string_equal(problem.msg, "no GPU ffff:03:00.0 exists in sysfs");
	/* the reason holds until there is a use again, for which two samples are needed */
	add_file(100, 3, "/dev/dri/card0",
		 "drm-driver:\ti915\ndrm-client-id:\t1\ndrm-pdev:\tffff:03:00.0\n"
		 "drm-engine-render:\t0 ns\n");
	for (int i = 0; i < 2; i++) {
		now_ns += S;
		assert_int_equal(gpu_drm_ops.observe.physical(gpu, now_ns, &at_ns, &busy_ns), 0);
		gpu_drm_ops.observe.problem(gpu, &problem);
		assert_string_equal(problem.msg, i ? "" : "no GPU ffff:03:00.0 exists in sysfs");
	}
	gpu_drm_ops.observe.source(gpu, &source);
	assert_string_equal(source.name, "fdinfo");
	assert_int_equal(source.last.clients, 1);
}

TEST(open_explains_what_is_wrong)
{
	strcpy(config.truth, "none");
	assert_int_equal(gpu_drm_ops.open(&config, &gpu, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "truth = none"));
	strcpy(config.truth, "fdinfo");
	strcpy(config.root, "a/../b");
	assert_int_equal(gpu_drm_ops.open(&config, &gpu, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "a/../b"));
	config.root[0] = '\0';
	strcpy(config.proc, "/nowhere");
	assert_int_equal(gpu_drm_ops.open(&config, &gpu, &err), -ENOENT);
	gpu = NULL;
}

TEST(names_of_groups_become_ids)
{
	static const struct {
		const char *name, *id;
	} rows[] = {
		{"a", "a"},
		{"game.service", "game"},
		{CONTAINER, "docker-0123456789ab"},
		{"libpod-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		 "libpod-0123456789ab"},
		{"machine-build\\x2d3\\x2dvm1.scope", "machine-build-3-vm1"},
		/* each start of a domain has another number */
		{"machine-qemu\\x2d3\\x2dvm1.scope", "machine-qemu-vm1"},
		{"machine-qemu\\x2d14\\x2dvm1.scope", "machine-qemu-vm1"},
		{"machine-qemu\\x2d14\\x2d3\\x2dvm1.scope", "machine-qemu-3-vm1"},
		{"machine-lxc\\x2d2\\x2dweb.scope", "machine-lxc-web"},
		{"kubepods-burstable-pod1b8e6b52_2d2f_4f2c_9d5e_0a6d8c1f9b3a.slice",
		 "kubepods-burstable-pod1b8e6b52_2d2f_4f2c_9d5e_0a6d8c1f9b3a"},
		{"0123456789012345678901234567890123456789x01234567890123456789xyz-0123456",
		 "012345678901x01234567890123456789xyz-0123456"},
		/* with the id of another group: the type of the unit, or a hash */
		{"game.scope", "game.scope"},
		{"game.slice", "game.slice"},
		{"game.scope.service", "game.scope-"},
		{"a b@c", "a_b_c-"},
		{"a_b_c", "a_b_c"},
		{"a\\x2db.service", "a-b-"},
		{"machine-a\\x2db-c.scope", "machine-a-b-c.scope-"},
		{"machine-qemu\\x2dvm1.scope", "machine-qemu-vm1-"},
		/* without a valid id */
		{".hidden", "hidden-"},
		{".scope", "scope-"},
		{"-", ""},
		{"y23456789-123456789-123456789-123456789-123456789-123456789-1234",
		 "y23456789-123456789-123456789-123456789-123456789-1234-"},
		{"y23456789-123456789-123456789-123456789-123456789-123456789-123",
		 "y23456789-123456789-123456789-123456789-123456789-123456789-123"},
	};
	char id[ID_MAX], again[ID_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t n = strlen(rows[i].id);
		bool hashed = n == 0 || rows[i].id[n - 1] == '-';

		drm_group_id("system.slice", rows[i].name, id);
		if (hashed ? strncmp(id, rows[i].id, n) != 0 || strlen(id) != n + 8
			   : strcmp(id, rows[i].id) != 0)
			fail_msg("%s: %s", rows[i].name, id);
		assert_true(id_valid(id));
		drm_group_id("machine.slice", rows[i].name, again);
		assert_int_equal(strcmp(id, again) != 0, hashed);
	}
}
