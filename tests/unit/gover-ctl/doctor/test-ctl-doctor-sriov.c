/* SPDX-License-Identifier: MIT */
/* The checks of SR-IOV on hosts made of folders: none, each step of the setup, and a complete one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "gover-ctl/doctor/sriov.h"
#include "gover-ctl/installation.h"
#include "gover-d/config/config.h"
#include "tests/unit/temp-folder.h"

#define PF   "0000:03:00.0"
#define DEV  "/sys/bus/pci/devices/" PF
#define XE   "/sys/bus/pci/drivers/xe/" PF
#define ADM  XE "/sriov_admin"
#define PMU  "/sys/bus/event_source/devices/xe_0000_03_00.0"
#define I915 "/sys/bus/pci/drivers/i915/" PF "/drm/card0/prelim_iov"

static const json_t *daemon_host;
static const struct installation *daemon_installation;
static struct config config; /* static: too large for the stack */
static const struct config *daemon_config;

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

static void expect(void (*check)(const struct doctor_input *, struct doctor_finding *),
		   enum doctor_state expected, const char *text, const char *advice)
{
	const struct doctor_input input = {
		.root = temp_folder,
		.search_path = "",
		.where = "x",
		.host = daemon_host,
		.installation = daemon_installation,
		.config = daemon_config,
	};
	struct doctor_finding finding = {.state = DOCTOR_OK};

	check(&input, &finding);
	if (finding.state != expected || !strstr(finding.text, text) ||
	    !strstr(finding.advice, advice))
		fail_msg("%d %s: %s", (int)finding.state, finding.text, finding.advice);
}

static void a_host_without_the_driver_is_not_checked(void **state)
{
	(void)state;
	expect(doctor_sriov_check, DOCTOR_SKIPPED, "", "");
	expect(doctor_sriov_pmu_check, DOCTOR_SKIPPED, "", "");
}

static void each_step_of_the_setup_has_its_command(void **state)
{
	(void)state;
	put(XE "/vendor", "0x8086\n");
	put("/proc/sys/kernel/osrelease", "6.17.0\n");
	expect(doctor_sriov_check, DOCTOR_WARN, "offers no virtual functions", "xe.max_vfs=7");
	put(DEV "/sriov_totalvfs", "7\n");
	expect(doctor_sriov_check, DOCTOR_WARN, "7 virtual functions, but Linux 6.17.0 has no",
	       "update the kernel");
	put_function(ADM "/pf/profile", "0\n");
	put_function(ADM "/vf1/profile", "0\n");
	expect(doctor_sriov_check, DOCTOR_WARN, "no virtual function is enabled, of 7",
	       "echo 3 >" DEV "/sriov_numvfs");
	put_link(ADM "/vf1/device");
	expect(doctor_sriov_check, DOCTOR_WARN, "sched_priority cannot be written", "udevadm");
	put(ADM "/.bulk_profile/sched_priority", "");
	expect(doctor_sriov_check, DOCTOR_WARN, "1 has no limit in exec_quantum_ms", "first cap");
	put(ADM "/vf1/profile/exec_quantum_ms", "20\n");
	expect(doctor_sriov_check, DOCTOR_WARN, "1 has no limit in preempt_timeout_us",
	       "first cap");
	put(ADM "/vf1/profile/preempt_timeout_us", "100000\n");
	put(ADM "/pf/profile/exec_quantum_ms", "6\n");
	expect(doctor_sriov_check, DOCTOR_WARN, "own time slice of 6 ms in each round of at most",
	       "/pf/profile/exec_quantum_ms");
	put(ADM "/pf/profile/exec_quantum_ms", "5\n");
	expect(doctor_sriov_check, DOCTOR_OK, "1 GPU with SR-IOV; GPU " PF " has 1 vGPUs", "");
}

static void the_longest_round_is_that_of_the_gpu(void **state)
{
	(void)state;
	put_function(ADM "/pf/profile", "0\n");
	put(ADM "/pf/profile/exec_quantum_ms", "6\n");
	put_function(ADM "/vf1/profile", "100000\n");
	put(ADM "/vf1/profile/exec_quantum_ms", "20\n");
	put(ADM "/.bulk_profile/sched_priority", "");
	put_link(ADM "/vf1/device");
	config.n_gpus = 2;
	config.gpus[0].gpu = (struct gpu_config){.backend = "sim", .longest_round_ms = 10000};
	config.gpus[1].gpu =
		(struct gpu_config){.backend = "xe", .parent = PF, .longest_round_ms = 110};
	daemon_config = &config;
	expect(doctor_sriov_check, DOCTOR_WARN, "in each round of at most 110 ms", "");
	config.gpus[1].gpu.longest_round_ms = 120;
	expect(doctor_sriov_check, DOCTOR_OK, "1 GPU with SR-IOV", "");
	daemon_config = NULL;
}

static void counters_need_a_kernel_and_a_right(void **state)
{
	(void)state;
	put_function(ADM "/pf/profile", "0\n");
	expect(doctor_sriov_pmu_check, DOCTOR_WARN, "no performance counters", "6.16");
	put(PMU "/format/event", "config:0-11\n");
	expect(doctor_sriov_pmu_check, DOCTOR_WARN, "cannot count one function", "6.16");
	put(PMU "/format/function", "config:44-59\n");
	put("/proc/sys/kernel/perf_event_paranoid", "2\n");
	expect(doctor_sriov_pmu_check, DOCTOR_OK, "paranoid = 2", "xe.conf");
	put("/proc/sys/kernel/perf_event_paranoid", "0\n");
	expect(doctor_sriov_pmu_check, DOCTOR_OK, "for all programs", "");
}

/* With a daemon, whose quantum of the host is no setting of the administrator. */
static void a_daemon_steers_and_needs_a_capability(void **state)
{
	struct installation installation = {.pid = 77};
	json_t *host = json_loads("{\"gpus\": [{\"backend\": \"xe\", \"round_ms\": 60}]}", 0, NULL);

	(void)state;
	daemon_host = host;
	daemon_installation = &installation;
	put_function(ADM "/pf/profile", "0\n");
	put(ADM "/pf/profile/exec_quantum_ms", "40\n");
	put_function(ADM "/vf1/profile", "100000\n");
	put(ADM "/vf1/profile/exec_quantum_ms", "20\n");
	put(ADM "/.bulk_profile/sched_priority", "");
	put_link(ADM "/vf1/device");
	expect(doctor_sriov_check, DOCTOR_OK, "1 GPU with SR-IOV", "");
	expect(doctor_sriov_pmu_check, DOCTOR_FAIL, "no performance counters", "6.16");
	put(PMU "/format/function", "config:44-59\n");
	expect(doctor_sriov_pmu_check, DOCTOR_OK, "with CAP_PERFMON", "");
	put("/proc/77/status", "Name:\tgover-d\nCapEff:\t0000000000000000\n");
	expect(doctor_sriov_pmu_check, DOCTOR_FAIL, "gover-d may not read", "xe.conf");
	put("/proc/77/status", "Name:\tgover-d\nCapEff:\t0000004000000000\n");
	expect(doctor_sriov_pmu_check, DOCTOR_OK, "with CAP_PERFMON", "");
	put(ADM "/pf/counters/engine_active_ticks", "0\n");
	expect(doctor_sriov_pmu_check, DOCTOR_OK, "gover-sim counts", "");
	daemon_host = NULL;
	daemon_installation = NULL;
	json_decref(host);
}

static void a_driver_that_counts_nothing_is_named(void **state)
{
	(void)state;
	put_function(I915 "/pf/gt0", "0\n");
	expect(doctor_sriov_pmu_check, DOCTOR_WARN, "driver i915 does not count", "driver xe");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, temp_folder_make, temp_folder_remove)
	const struct CMUnitTest tests[] = {
		TEST(a_host_without_the_driver_is_not_checked),
		TEST(each_step_of_the_setup_has_its_command),
		TEST(the_longest_round_is_that_of_the_gpu),
		TEST(counters_need_a_kernel_and_a_right),
		TEST(a_daemon_steers_and_needs_a_capability),
		TEST(a_driver_that_counts_nothing_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
