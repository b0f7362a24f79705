/* SPDX-License-Identifier: MIT */
/* The checks of GVT-g and of control groups on simulated hosts made of folders. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "gpu/diagnose.h"
#include "gpu/gpu.h"
#include "gpu/gvt/gvt.h"
#include "gpu/softgpu/softgpu.h"
#include "tests/unit/temp-folder.h"
#include "tests/unit/unit.h"

#define ANY_PATH 256

static struct gpu_host host; /* the daemon and its configuration */

static void make_file(const char *name, const char *text, mode_t mode)
{
	char path[ANY_PATH], *slash;

	snprintf(path, sizeof(path), "%s%s", temp_folder, name);
	slash = strrchr(path, '/');
	*slash = '\0';
	assert_int_equal(file_make_dirs(path), 0);
	*slash = '/';
	assert_int_equal(file_replace(path, text, strlen(text)), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void remove_made(const char *name)
{
	char path[ANY_PATH];

	snprintf(path, sizeof(path), "%s%s", temp_folder, name);
	remove_tree(path);
}

/* A host with a mount of control groups at @folder, which @type describes. */
static void mount_cgroups(const char *folder, const char *type)
{
	char text[2 * ANY_PATH];

	snprintf(text, sizeof(text), "30 23 0:26 / %s%s rw - %s\n", temp_folder, folder, type);
	make_file("/proc/self/mountinfo", text, 0644);
}

static struct finding ask(const char *name, const char *used)
{
	char search[ANY_PATH];
	const char *const backends[] = {used};
	const struct gpu_check *check = gpu_gvt_checks;
	struct finding finding = {.state = FINDING_OK};

	if (strcmp(name, gpu_softgpu_checks[0].name) == 0)
		check = gpu_softgpu_checks;
	while (strcmp(check->name, name) != 0)
		check++;
	snprintf(search, sizeof(search), "%s/usr/bin", temp_folder);
	host.root = temp_folder;
	host.search_path = search;
	host.exe = "/none/gover-d";
	host.used = backends;
	host.n_used = used ? 1 : 0;
	check->run(&host, &finding);
	return finding;
}

static void expect(const char *check, const char *used, enum finding_state wanted, const char *says)
{
	struct finding finding = ask(check, used);

	if (finding.state != wanted || !strstr(finding.text, says))
		fail_msg("%s: %s, \"%s\"", check, finding_state_name(finding.state), finding.text);
}

FIXTURE_ONCE(temp_folder_make, temp_folder_remove)

TEST(a_missing_requirement_of_a_used_backend_is_a_failure)
{
	expect("cgroups", NULL, FINDING_WARN, "no cpu controller");
	expect("cgroups", "softgpu", FINDING_FAIL, "no cpu controller");
	expect("cgroups", "lib", FINDING_FAIL, "no cpu controller");
	expect("cgroups", "gvt", FINDING_WARN, "no cpu controller");
	expect("mdev", NULL, FINDING_WARN, "/sys/bus/mdev");
	expect("mdev", "softgpu", FINDING_WARN, "no GVT-g");
	expect("mdev", "gvt", FINDING_FAIL, "no GVT-g");
	expect("i915-pmu", NULL, FINDING_WARN, "no i915");
	assert_true(ask("cgroups", NULL).advice[0] != '\0');
	assert_true(ask("mdev", NULL).advice[0] != '\0');
}

/* Without an answer, the configuration of the unit and its sandbox are known. */
TEST(a_sandbox_that_hides_control_groups_is_found)
{
	static const struct {
		const char *backend;
		bool protects;
		const char *user;
		enum finding_state wanted;
		const char *text, *advice;
	} rows[] = {
		{"softgpu", true, "", FINDING_FAIL, "read-only for gover-d",
		 "gover-.service.d /usr/share/gover/examples/softgpu.conf && "},
		{"lib", true, "", FINDING_FAIL, "read-only for gover-d",
		 "gover-.service.d /usr/share/gover/examples/lib.conf && "},
		{"softgpu", false, "gover", FINDING_FAIL, "runs as user gover", "softgpu.conf"},
		{"softgpu", false, "root", FINDING_OK, "can be created", ""},
		{"gvt", true, "", FINDING_SKIPPED, "", ""},
	};

	mount_cgroups("/sys/fs/cgroup", "cgroup2 cgroup rw");
	make_file("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu\n", 0644);
	host.unit = true;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct finding finding;

		host.user = rows[i].user;
		host.protects_cgroups = rows[i].protects;
		finding = ask("cgroups", rows[i].backend);
		if (finding.state != rows[i].wanted || !strstr(finding.text, rows[i].text) ||
		    !strstr(finding.advice, rows[i].advice))
			fail_msg("row %zu: %s, \"%s\" -> \"%s\"", i,
				 finding_state_name(finding.state), finding.text, finding.advice);
	}
	host.unit = false;
	remove_made("/sys");
}

TEST(met_requirements_are_found)
{
	make_file("/sys/fs/cgroup/cgroup.controllers", "cpuset io memory\n", 0644);
	expect("cgroups", "softgpu", FINDING_FAIL, "no cpu controller");
	make_file("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory\n", 0644);
	expect("cgroups", "softgpu", FINDING_OK, "/sys/fs/cgroup");
	make_file("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu\n", 0644);
	expect("cgroups", "softgpu", FINDING_OK, "/sys/fs/cgroup");
	mount_cgroups("/sys/fs/cgroup/cpu", "cgroup cgroup rw,cpu,cpuacct");
	make_file("/sys/fs/cgroup/cpu/tasks", "", 0644);
	expect("cgroups", "softgpu", FINDING_OK, "/sys/fs/cgroup/cpu");
	make_file("/sys/bus/mdev/devices/a/x", "", 0644);
	make_file("/sys/bus/mdev/devices/b/x", "", 0644);
	expect("mdev", NULL, FINDING_WARN, "has no GPU");
	make_file("/sys/class/mdev_bus/0000:00:02.0/x", "", 0644);
	expect("mdev", NULL, FINDING_OK, "1 GPU with mediated devices, 2 existing vGPUs");

	make_file("/sys/bus/event_source/devices/i915/type", "", 0644);
	expect("i915-pmu", NULL, FINDING_WARN, "intel_gpu_top is not in PATH");
	make_file("/usr/bin/intel_gpu_top", "", 0755);
	expect("i915-pmu", NULL, FINDING_OK, "are available");
}

#define GPU  "/sys/class/mdev_bus/0000:00:02.0/"
#define VGPU "/sys/bus/mdev/devices/aaaaaaaa-0000-0000-0000-000000000001/intel_vgpu/"

/* Adds one file at a time, from a host with only a GPU to a kernel with gover's scheduler. */
TEST(gvt_g_is_checked_step_by_step)
{
	remove_made("/sys");
	expect("gvt", NULL, FINDING_SKIPPED, "");
	make_file("/sys/bus/mdev/devices/other/nvidia/x", "", 0644);
	expect("gvt", NULL, FINDING_SKIPPED, "");
	make_file(GPU "mdev_supported_types/i915-GVTg_V5_8/name", "", 0644);
	expect("gvt", NULL, FINDING_WARN, "GPU 0000:00:02.0 has no file gover_sharing");
	make_file(GPU "gover_sharing", "hard\n", 0644);
	expect("gvt", NULL, FINDING_OK, "1 GPU with GVT-g, no vGPU yet");
	make_file(VGPU "vgpu_id", "1", 0444);
	expect("gvt", NULL, FINDING_WARN, "has no file cap, busy_time, sched_time");
	expect("gvt", "gvt", FINDING_FAIL, "0000-000000000001 has no file cap");
	make_file(VGPU "busy_time", "1", 0444);
	make_file(VGPU "sched_time", "1", 0444);
	expect("gvt", "gvt", FINDING_FAIL, "has no file cap:");
	make_file(VGPU "cap", "1", 0644);
	expect("gvt", "gvt", FINDING_WARN, "no file cap_lease_ms");
	make_file(VGPU "cap_lease_ms", "0", 0644);
	expect("gvt", "gvt", FINDING_WARN, "0000-000000000001 has no file cap_ceiling");
	make_file(VGPU "cap_ceiling", "0", 0644);
	expect("gvt", "gvt", FINDING_OK, "1 vGPU of GVT-g: caps can be written and have leases");
	if (geteuid() != 0) {
		make_file(GPU "gover_sharing", "hard\n", 0444);
		expect("gvt", "gvt", FINDING_WARN, "gover_sharing cannot be written: Permission");
		make_file(VGPU "cap_ceiling", "0", 0444);
		expect("gvt", "gvt", FINDING_FAIL,
		       "cap_ceiling cannot be written: Permission denied");
		make_file(VGPU "cap", "1", 0444);
		expect("gvt", "gvt", FINDING_FAIL, "cap cannot be written: Permission denied");
	}
}

/* Missing files are an error only if the configuration requests guarantees. */
TEST(missing_guarantees_fail_only_if_they_are_configured)
{
	static const struct {
		const char *backend, *sharing;
		enum finding_state wanted;
		const char *text;
	} rows[] = {
		{"gvt", "guarantee", FINDING_FAIL, "GPU 0000:00:02.0 has no file gover_sharing"},
		{"auto", "guarantee", FINDING_FAIL, "caps can only be hard limits"},
		{"gvt", "auto", FINDING_WARN, "caps can only be hard limits"},
		{"gvt", "hard", FINDING_OK, "caps can be written"},
		{"softgpu", "guarantee", FINDING_OK, "caps can be written"},
	};
	static const char *const files[] = {"vgpu_id", "busy_time",   "sched_time",
					    "cap",     "cap_ceiling", "cap_lease_ms"};
	struct gpu_config gpu = {.backend = ""};
	const struct gpu_config *const gpus[] = {&gpu};

	remove_made("/sys");
	make_file(GPU "mdev_supported_types/i915-GVTg_V5_8/name", "", 0644);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char name[ANY_PATH];

		snprintf(name, sizeof(name), VGPU "%s", files[i]);
		make_file(name, "1", 0644);
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(gpu.backend, sizeof(gpu.backend), "%s", rows[i].backend);
		snprintf(gpu.sharing, sizeof(gpu.sharing), "%s", rows[i].sharing);
		host.configured = true;
		host.gpus = gpus;
		host.n_gpus = 1;
		expect("gvt", NULL, rows[i].wanted, rows[i].text);
	}
}
