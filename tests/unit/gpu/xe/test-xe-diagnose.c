/* SPDX-License-Identifier: MIT */
/* The checks of SR-IOV on hosts made of folders: none, each step of the setup, and a complete one.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "gpu/diagnose.h"
#include "gpu/gpu.h"
#include "tests/unit/temp-folder.h"
#include "tests/unit/unit.h"

#define PF   "0000:03:00.0"
#define DEV  "/sys/bus/pci/devices/" PF
#define XE   "/sys/bus/pci/drivers/xe/" PF
#define ADM  XE "/sriov_admin"
#define PMU  "/sys/bus/event_source/devices/xe_0000_03_00.0"
#define I915 "/sys/bus/pci/drivers/i915/" PF "/drm/card0/prelim_iov"

static struct gpu_host host; /* the daemon and its configuration */

static void put(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s%s", temp_folder, name);
	assert_int_equal(file_make_parents(path), 0);
	assert_int_equal(file_replace(path, text, strlen(text)), 0);
}

static void put_link(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s%s", temp_folder, name);
	assert_int_equal(file_make_parents(path), 0);
	assert_int_equal(symlink("../0000:03:00.1", path), 0);
}

static void put_function(const char *folder, const char *timeout_us)
{
	char name[256];

	snprintf(name, sizeof(name), "%s/exec_quantum_ms", folder);
	put(name, "0\n");
	snprintf(name, sizeof(name), "%s/preempt_timeout_us", folder);
	put(name, timeout_us);
}

static void expect(const char *name, enum finding_state expected, const char *text,
		   const char *advice)
{
	const struct gpu_check *check = gpu_xe_checks;
	struct finding finding = {.state = FINDING_OK};

	while (strcmp(check->name, name) != 0)
		check++;
	host.root = temp_folder;
	check->run(&host, &finding);
	if (finding.state != expected || !strstr(finding.text, text) ||
	    !strstr(finding.advice, advice))
		fail_msg("%d %s: %s", (int)finding.state, finding.text, finding.advice);
}

FIXTURE(temp_folder_make, temp_folder_remove)

TEST(a_host_without_the_driver_is_not_checked)
{
	expect("sriov", FINDING_SKIPPED, "", "");
	expect("xe-pmu", FINDING_SKIPPED, "", "");
}

TEST(each_step_of_the_setup_has_its_command)
{
	put(XE "/vendor", "0x8086\n");
	put("/proc/sys/kernel/osrelease", "6.17.0\n");
	expect("sriov", FINDING_WARN, "offers no virtual functions", "xe.max_vfs=7");
	put(DEV "/sriov_totalvfs", "7\n");
	expect("sriov", FINDING_WARN, "7 virtual functions, but Linux 6.17.0 has no",
	       "update the kernel");
	put_function(ADM "/pf/profile", "0\n");
	put_function(ADM "/vf1/profile", "0\n");
	expect("sriov", FINDING_WARN, "no virtual function is enabled, of 7",
	       "echo 3 >" DEV "/sriov_numvfs");
	put_link(ADM "/vf1/device");
	expect("sriov", FINDING_WARN, "sched_priority cannot be written", "udevadm");
	put(ADM "/.bulk_profile/sched_priority", "");
	expect("sriov", FINDING_WARN, "1 has no limit in exec_quantum_ms", "first cap");
	put(ADM "/vf1/profile/exec_quantum_ms", "20\n");
	expect("sriov", FINDING_WARN, "1 has no limit in preempt_timeout_us", "first cap");
	put(ADM "/vf1/profile/preempt_timeout_us", "100000\n");
	put(ADM "/pf/profile/exec_quantum_ms", "6\n");
	expect("sriov", FINDING_WARN, "own time slice of 6 ms in each round of at most",
	       "/pf/profile/exec_quantum_ms");
	put(ADM "/pf/profile/exec_quantum_ms", "5\n");
	expect("sriov", FINDING_OK, "1 GPU with SR-IOV; GPU " PF " has 1 vGPUs", "");
}

TEST(the_longest_round_is_that_of_the_gpu)
{
	const struct gpu_config sim = {.backend = "sim", .longest_round_ms = 10000};
	struct gpu_config xe = {.backend = "xe", .parent = PF, .longest_round_ms = 110};
	const struct gpu_config *const gpus[] = {&sim, &xe};

	put_function(ADM "/pf/profile", "0\n");
	put(ADM "/pf/profile/exec_quantum_ms", "6\n");
	put_function(ADM "/vf1/profile", "100000\n");
	put(ADM "/vf1/profile/exec_quantum_ms", "20\n");
	put(ADM "/.bulk_profile/sched_priority", "");
	put_link(ADM "/vf1/device");
	host.gpus = gpus;
	host.n_gpus = 2;
	expect("sriov", FINDING_WARN, "in each round of at most 110 ms", "");
	xe.longest_round_ms = 120;
	expect("sriov", FINDING_OK, "1 GPU with SR-IOV", "");
	host.n_gpus = 0;
}

TEST(counters_need_a_kernel_and_a_right)
{
	put_function(ADM "/pf/profile", "0\n");
	expect("xe-pmu", FINDING_WARN, "no performance counters", "6.16");
	put(PMU "/format/event", "config:0-11\n");
	expect("xe-pmu", FINDING_WARN, "cannot count one function", "6.16");
	put(PMU "/format/function", "config:44-59\n");
	put("/proc/sys/kernel/perf_event_paranoid", "2\n");
	expect("xe-pmu", FINDING_OK, "paranoid = 2", "xe.conf");
	put("/proc/sys/kernel/perf_event_paranoid", "0\n");
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
	put(ADM "/pf/profile/exec_quantum_ms", "40\n");
	put_function(ADM "/vf1/profile", "100000\n");
	put(ADM "/vf1/profile/exec_quantum_ms", "20\n");
	put(ADM "/.bulk_profile/sched_priority", "");
	put_link(ADM "/vf1/device");
	expect("sriov", FINDING_OK, "1 GPU with SR-IOV", "");
	expect("xe-pmu", FINDING_FAIL, "no performance counters", "6.16");
	put(PMU "/format/function", "config:44-59\n");
	expect("xe-pmu", FINDING_OK, "with CAP_PERFMON", "");
	put("/proc/77/status", "Name:\tgover-d\nCapEff:\t0000000000000000\n");
	expect("xe-pmu", FINDING_FAIL, "gover-d may not read", "xe.conf");
	put("/proc/77/status", "Name:\tgover-d\nCapEff:\t0000004000000000\n");
	expect("xe-pmu", FINDING_OK, "with CAP_PERFMON", "");
	put(ADM "/pf/counters/engine_active_ticks", "0\n");
	expect("xe-pmu", FINDING_OK, "gover-sim counts", "");
	host = (struct gpu_host){.root = NULL};
}

TEST(a_driver_that_counts_nothing_is_named)
{
	put_function(I915 "/pf/gt0", "0\n");
	expect("xe-pmu", FINDING_WARN, "driver i915 does not count", "driver xe");
}
