/* SPDX-License-Identifier: MIT */
/* The checks of the sources of backend drm, on simulated hosts made of folders. */
#include "tests/unit/monitor/truth/test-truth.h"

#include "gpu/diagnose.h"
#include "gpu/gpu.h"

static struct gpu_config gpu;
static struct gpu_host host; /* the daemon and its configuration */

static int set_up(void)
{
	gpu = (struct gpu_config){.backend = "auto"};
	host = (struct gpu_host){.pid = 0};
	return make_host();
}

FIXTURE(set_up, remove_host)

static void use_drm(const char *truth)
{
	static const struct gpu_config *const gpus[] = {&gpu};
	static const char *const used[] = {"drm"};

	strcpy(gpu.backend, "drm");
	strcpy(gpu.truth, truth);
	host.gpus = gpus;
	host.used = used;
	host.n_gpus = host.n_used = 1;
}

static void expect(const char *name, enum finding_state wanted, const char *text,
		   const char *advice)
{
	const struct gpu_check *check = gpu_drm_checks;
	struct finding finding = {.state = FINDING_OK};

	while (strcmp(check->name, name) != 0)
		check++;
	host.root = top;
	check->run(&host, &finding);
	if (finding.state != wanted || !strstr(finding.text, text) ||
	    !strstr(finding.advice, advice))
		fail_msg("%s: %s, \"%s\" (%s)", name, finding_state_name(finding.state),
			 finding.text, finding.advice);
}

static void add_gpu(int number, const char *driver)
{
	char name[128], target[128];

	snprintf(name, sizeof(name), "sys/devices/gpu%d/uevent", number);
	write_file(name, "");
	snprintf(name, sizeof(name), "sys/drivers/%s/x", driver);
	write_file(name, "");
	snprintf(name, sizeof(name), "sys/class/drm/renderD%d/x", 128 + number);
	write_file(name, "");
	snprintf(target, sizeof(target), "%s/sys/drivers/%s", top, driver);
	snprintf(name, sizeof(name), "sys/devices/gpu%d/driver", number);
	assert_int_equal(symlink(target, below(name)), 0);
	snprintf(target, sizeof(target), "%s/sys/devices/gpu%d", top, number);
	snprintf(name, sizeof(name), "sys/class/drm/renderD%d/device", 128 + number);
	assert_int_equal(symlink(target, below(name)), 0);
}

TEST(a_host_without_a_gpu)
{
	expect("fdinfo", FINDING_SKIPPED, "", "");
	expect("nvml", FINDING_SKIPPED, "", "");
	expect("dmem", FINDING_SKIPPED, "", "");
	use_drm("auto");
	expect("fdinfo", FINDING_WARN, "no GPU has a render node", "load the driver");
}

TEST(drivers_with_and_without_statistics)
{
	add_gpu(0, "nouveau");
	expect("fdinfo", FINDING_WARN, "nouveau does not report", "truth = nvml");
	add_gpu(1, "amdgpu");
	expect("fdinfo", FINDING_OK, "amdgpu (backend drm can observe containers)", "");
	add_gpu(2, "panthor");
	write_file("sys/devices/gpu2/profiling", "0\n");
	expect("fdinfo", FINDING_WARN, "does not count", "sys/devices/gpu2/profiling");
	write_file("sys/devices/gpu2/profiling", "3\n");
	expect("fdinfo", FINDING_OK, "amdgpu", "");
}

TEST(missing_rights_of_the_daemon)
{
	static const struct {
		const char *rights;
		enum finding_state wanted;
		const char *text;
	} rows[] = {
		{"0000000000000000", FINDING_FAIL, "CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH"},
		{"0000000000080000", FINDING_FAIL, "missing: CAP_DAC_READ_SEARCH)"},
		{"0000000000000004", FINDING_FAIL, "missing: CAP_SYS_PTRACE)"},
		{"0000000000080004", FINDING_OK, "i915"},
		{"000001ffffffffff", FINDING_OK, "i915"},
	};

	add_gpu(0, "i915");
	use_drm("auto");
	expect("fdinfo", FINDING_OK, "i915", ""); /* no daemon runs */
	host.pid = 77;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[128];

		snprintf(text, sizeof(text), "Name:\tgover-d\nCapEff:\t%s\n", rows[i].rights);
		write_file("proc/77/status", text);
		expect("fdinfo", rows[i].wanted, rows[i].text,
		       rows[i].wanted == FINDING_FAIL ? "examples/drm.conf" : "");
	}
}

TEST(the_library_of_nvidias_driver)
{
	use_drm("nvml");
	expect("nvml", FINDING_FAIL, "not loaded", "apt install nvidia-driver");
	write_file("proc/driver/nvidia/version", "NVRM version: 535\n");
	expect("nvml", FINDING_FAIL, "libnvidia-ml.so.1 is missing", "apt install libnvidia-ml1");
	use_drm("auto");
	expect("nvml", FINDING_WARN, "libnvidia-ml.so.1 is missing", "apt install libnvidia-ml1");
	write_file("usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "");
	expect("nvml", FINDING_OK, "estimate that of each process", "");
	expect("fdinfo", FINDING_SKIPPED, "", ""); /* NVIDIA's driver needs no render node */
}

TEST(control_groups_that_count_device_memory)
{
	write_file("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
	expect("dmem", FINDING_SKIPPED, "", "");
	use_drm("auto");
	expect("dmem", FINDING_OK, "do not count device memory", "");
	write_file("sys/fs/cgroup/cgroup.controllers", "cpu memory dmem\n");
	expect("dmem", FINDING_WARN, "not enabled", "+dmem");
	write_file("sys/fs/cgroup/cgroup.subtree_control", "dmem cpu\n");
	expect("dmem", FINDING_OK, "dmem.max", "");
}
