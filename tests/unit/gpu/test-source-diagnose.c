/* SPDX-License-Identifier: MIT */
/*
 * The checks of the sources of backend drm, and those of SR-IOV, on simulated hosts made of
 * folders: none, each step of the setup, and a complete one.
 */
#include "tests/unit/gpu/drm/test-truth.h"

#include "gpu/diagnose.h"
#include "gpu/drm/drm.h"
#include "gpu/gpu.h"
#include "gpu/xe/xe.h"

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

/* Runs the check @name of backend drm or xe. */
static void expect(const char *name, enum finding_state wanted, const char *text,
		   const char *advice)
{
	bool of_xe = strcmp(name, "sriov") == 0 || strcmp(name, "xe-pmu") == 0;
	const struct gpu_check *check = of_xe ? gpu_xe_checks : gpu_drm_checks;
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

/* --- SR-IOV --- */

#define PF   "0000:03:00.0"
#define DEV  "sys/bus/pci/devices/" PF
#define XE   "sys/bus/pci/drivers/xe/" PF
#define ADM  XE "/sriov_admin"
#define PMU  "sys/bus/event_source/devices/xe_0000_03_00.0"
#define I915 "sys/bus/pci/drivers/i915/" PF "/drm/card0/prelim_iov"

static void put_function(const char *folder, const char *timeout_us)
{
	char name[256];

	snprintf(name, sizeof(name), "%s/exec_quantum_ms", folder);
	write_file(name, "0\n");
	snprintf(name, sizeof(name), "%s/preempt_timeout_us", folder);
	write_file(name, timeout_us);
}

TEST(a_host_without_the_driver_is_not_checked)
{
	expect("sriov", FINDING_SKIPPED, "", "");
	expect("xe-pmu", FINDING_SKIPPED, "", "");
}

TEST(each_step_of_the_setup_has_its_command)
{
	write_file(XE "/vendor", "0x8086\n");
	write_file("proc/sys/kernel/osrelease", "6.17.0\n");
	expect("sriov", FINDING_WARN, "offers no virtual functions", "xe.max_vfs=7");
	write_file(DEV "/sriov_totalvfs", "7\n");
	expect("sriov", FINDING_WARN, "7 virtual functions, but Linux 6.17.0 has no",
	       "update the kernel");
	put_function(ADM "/pf/profile", "0\n");
	put_function(ADM "/vf1/profile", "0\n");
	expect("sriov", FINDING_WARN, "no virtual function is enabled, of 7",
	       "echo 3 >/" DEV "/sriov_numvfs");
	add_link(ADM "/vf1/device", "../0000:03:00.1");
	expect("sriov", FINDING_WARN, "sched_priority cannot be written", "udevadm");
	write_file(ADM "/.bulk_profile/sched_priority", "");
	expect("sriov", FINDING_WARN, "1 has no limit in exec_quantum_ms", "first cap");
	write_file(ADM "/vf1/profile/exec_quantum_ms", "20\n");
	expect("sriov", FINDING_WARN, "1 has no limit in preempt_timeout_us", "first cap");
	write_file(ADM "/vf1/profile/preempt_timeout_us", "100000\n");
	write_file(ADM "/pf/profile/exec_quantum_ms", "6\n");
	expect("sriov", FINDING_WARN, "own time slice of 6 ms in each round of at most",
	       "/pf/profile/exec_quantum_ms");
	write_file(ADM "/pf/profile/exec_quantum_ms", "20\n"); /* the default of the driver */
	expect("sriov", FINDING_OK, "1 GPU with SR-IOV", "");
	write_file(ADM "/pf/profile/exec_quantum_ms", "5\n");
	expect("sriov", FINDING_OK, "1 GPU with SR-IOV; GPU " PF " has 1 vGPUs", "");
}

TEST(the_longest_round_is_that_of_the_gpu)
{
	const struct gpu_config sim = {.backend = "sim", .longest_round_ms = 10000};
	struct gpu_config xe = {.backend = "xe", .parent = PF, .longest_round_ms = 110};
	const struct gpu_config *const gpus[] = {&sim, &xe};

	put_function(ADM "/pf/profile", "0\n");
	write_file(ADM "/pf/profile/exec_quantum_ms", "6\n");
	put_function(ADM "/vf1/profile", "100000\n");
	write_file(ADM "/vf1/profile/exec_quantum_ms", "20\n");
	write_file(ADM "/.bulk_profile/sched_priority", "");
	add_link(ADM "/vf1/device", "../0000:03:00.1");
	host.gpus = gpus;
	host.n_gpus = 2;
	expect("sriov", FINDING_WARN, "in each round of at most 110 ms", "");
	xe.longest_round_ms = 120;
	expect("sriov", FINDING_OK, "1 GPU with SR-IOV", "");
}

TEST(counters_need_a_kernel_and_a_right)
{
	put_function(ADM "/pf/profile", "0\n");
	expect("xe-pmu", FINDING_WARN, "no performance counters", "6.16");
	write_file(PMU "/format/event", "config:0-11\n");
	expect("xe-pmu", FINDING_WARN, "cannot count one function", "6.16");
	write_file(PMU "/format/function", "config:44-59\n");
	write_file("proc/sys/kernel/perf_event_paranoid", "2\n");
	expect("xe-pmu", FINDING_OK, "paranoid = 2", "xe.conf");
	write_file("proc/sys/kernel/perf_event_paranoid", "0\n");
	expect("xe-pmu", FINDING_OK, "for all programs", "");
}

/* With a daemon, whose quantum of the host is no setting of the administrator. */
TEST(a_daemon_steers_and_needs_a_capability)
{
	const char *const used[] = {"xe"};

	host.pid = 77;
	host.steered = true;
	host.used = used;
	host.n_used = 1;
	put_function(ADM "/pf/profile", "0\n");
	write_file(ADM "/pf/profile/exec_quantum_ms", "40\n");
	put_function(ADM "/vf1/profile", "100000\n");
	write_file(ADM "/vf1/profile/exec_quantum_ms", "20\n");
	write_file(ADM "/.bulk_profile/sched_priority", "");
	add_link(ADM "/vf1/device", "../0000:03:00.1");
	expect("sriov", FINDING_OK, "1 GPU with SR-IOV", "");
	expect("xe-pmu", FINDING_FAIL, "no performance counters", "6.16");
	write_file(PMU "/format/function", "config:44-59\n");
	expect("xe-pmu", FINDING_OK, "with CAP_PERFMON", "");
	write_file("proc/77/status", "Name:\tgover-d\nCapEff:\t0000000000000000\n");
	expect("xe-pmu", FINDING_FAIL, "gover-d may not read", "xe.conf");
	write_file("proc/77/status", "Name:\tgover-d\nCapEff:\t0000004000000000\n");
	expect("xe-pmu", FINDING_OK, "with CAP_PERFMON", "");
	write_file(ADM "/pf/counters/engine_active_ticks", "0\n");
	expect("xe-pmu", FINDING_OK, "gover-sim counts", "");
}

TEST(a_driver_that_counts_nothing_is_named)
{
	put_function(I915 "/pf/gt0", "0\n");
	expect("xe-pmu", FINDING_WARN, "driver i915 does not count", "driver xe");
}
