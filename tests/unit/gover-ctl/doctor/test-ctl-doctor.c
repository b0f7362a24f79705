/* SPDX-License-Identifier: MIT */
/* The checks of `doctor` on simulated hosts made of folders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "gover-ctl/doctor/doctor.h"
#include "gover-ctl/installation.h"
#include "gover-d/config/config.h"
#include "tests/unit/temp-folder.h"

#define ANY_PATH 256

static const struct config *asked_config; /* configuration that ask() passes; NULL: none */

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
	char command[ANY_PATH];

	snprintf(command, sizeof(command), "rm -rf '%s%s'", temp_folder, name);
	assert_int_equal(system(command), 0);
}

static json_t *host_with(const char *backend, const char *history)
{
	char text[512];

	snprintf(
		text, sizeof(text),
		"{\"version\": \"0.1.0\", \"uptime_s\": 60, \"ready\": true, \"ticks\": 1000, "
		"\"late_ticks\": 0, \"gpus\": [{\"name\": \"gpu0\", \"backend\": \"%s\", \"mode\": "
		"\"act\", \"telemetry_valid\": true}], \"history\": %s}",
		backend, history);
	return json_loads(text, 0, NULL);
}

#define HISTORY_FINE "{\"enabled\": true, \"written\": 5, \"dropped\": 0, \"error\": null}"

static struct doctor_finding ask(const char *check, const json_t *host)
{
	char exe[ANY_PATH], search[ANY_PATH];
	struct doctor_input input = {
		.root = temp_folder,
		.search_path = search,
		.exe = exe,
		.where = "/run/x",
		.host = host,
		.no_answer = "no answer from gover-d at /run/x",
		.config = asked_config,
	};
	struct doctor_finding finding;
	const char *name;

	snprintf(exe, sizeof(exe), "%s/usr/bin/gover-ctl", temp_folder);
	snprintf(search, sizeof(search), "%s/usr/bin", temp_folder);
	for (size_t i = 0; (name = doctor_check(i, &input, &finding)); i++)
		if (strcmp(name, check) == 0)
			return finding;
	fail_msg("no check '%s'", check);
	return finding;
}

static void expect(const char *check, const json_t *host, enum doctor_state wanted,
		   const char *says)
{
	struct doctor_finding finding = ask(check, host);

	if (finding.state != wanted || !strstr(finding.text, says))
		fail_msg("%s: %s, \"%s\"", check, doctor_state_name(finding.state), finding.text);
}

static void a_bare_host_misses_requirements(void **state)
{
	(void)state;
	expect("daemon", NULL, DOCTOR_FAIL, "no answer from gover-d at /run/x");
	expect("ticks", NULL, DOCTOR_SKIPPED, "");
	expect("gpus", NULL, DOCTOR_SKIPPED, "");
	expect("history", NULL, DOCTOR_SKIPPED, "");
	expect("cgroups", NULL, DOCTOR_WARN, "no cpu controller");
	expect("library", NULL, DOCTOR_FAIL, "libgover-fps.so");
	expect("xvfb", NULL, DOCTOR_SKIPPED, ""); /* a production host needs no X server */
	expect("library32", NULL, DOCTOR_SKIPPED, "");
	expect("vulkan", NULL, DOCTOR_SKIPPED, "");
	expect("mdev", NULL, DOCTOR_WARN, "/sys/bus/mdev");
	expect("i915-pmu", NULL, DOCTOR_WARN, "no i915");
	expect("vsock", NULL, DOCTOR_WARN, "no /dev/vhost-vsock");
}

static void bpf_is_checked_if_it_is_configured(void **state)
{
	static const struct {
		const char *fps;
		enum doctor_state wanted;
		const char *text;
	} rows[] = {
		{"{\"open\": 1}", DOCTOR_SKIPPED, ""},
		{"{\"bpf_files\": 4, \"bpf_refused\": 0, \"bpf_error\": null}", DOCTOR_OK,
		 "in 4 library files"},
		{"{\"bpf_files\": 4, \"bpf_refused\": 2, \"bpf_error\": null}", DOCTOR_WARN,
		 "4 library files; 2 other files"},
		{"{\"bpf_files\": 0, \"bpf_error\": \"built without libbpf\"}", DOCTOR_FAIL,
		 "built without libbpf"},
	};

	(void)state;
	expect("fps-bpf", NULL, DOCTOR_SKIPPED, "");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *host = host_with("softgpu", HISTORY_FINE);

		assert_int_equal(json_object_set_new(host, "fps", json_loads(rows[i].fps, 0, NULL)),
				 0);
		expect("fps-bpf", host, rows[i].wanted, rows[i].text);
		json_decref(host);
	}
}

static void a_missing_requirement_of_a_used_backend_is_a_failure(void **state)
{
	json_t *softgpu = host_with("softgpu", HISTORY_FINE), *gvt = host_with("gvt", HISTORY_FINE);
	json_t *lib = host_with("lib", HISTORY_FINE);

	(void)state;
	expect("cgroups", softgpu, DOCTOR_FAIL, "no cpu controller");
	expect("cgroups", lib, DOCTOR_FAIL, "no cpu controller");
	expect("layer", lib, DOCTOR_FAIL, "libgover-cl.so");
	expect("layer", softgpu, DOCTOR_SKIPPED, "");
	expect("cgroups", gvt, DOCTOR_WARN, "no cpu controller");
	expect("mdev", softgpu, DOCTOR_WARN, "no GVT-g");
	expect("mdev", gvt, DOCTOR_FAIL, "no GVT-g");
	json_decref(lib);
	json_decref(softgpu);
	json_decref(gvt);
}

static void warnings_and_failures_have_advice(void **state)
{
	static const char *const checks[] = {"daemon", "cgroups", "library", "mdev"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
		assert_true(ask(checks[i], NULL).advice[0] != '\0');
}

static void problems_of_the_daemon_are_found(void **state)
{
	static const struct {
		const char *check, *host;
		enum doctor_state state;
		const char *text;
	} rows[] = {
		{"daemon", "{\"version\": \"0.1.0\", \"uptime_s\": 60}", DOCTOR_OK,
		 "gover-d 0.1.0 is running at /run/x, up 1 min"},
		{"ticks", "{\"ready\": false}", DOCTOR_FAIL, "not completed its first tick"},
		{"ticks", "{\"ready\": true, \"ticks\": 1000, \"late_ticks\": 10}", DOCTOR_OK,
		 "10 late"},
		{"ticks", "{\"ready\": true, \"ticks\": 1000, \"late_ticks\": 11}", DOCTOR_WARN,
		 "11 of 1000"},
		{"gpus", "{\"gpus\": []}", DOCTOR_WARN, "controls no GPU"},
		{"gpus",
		 "{\"gpus\": [{\"name\": \"g\", \"backend\": \"sim\", \"mode\": \"act\", "
		 "\"telemetry_valid\": true}]}",
		 DOCTOR_OK, "g (sim, act)"},
		{"gpus", "{\"gpus\": [{\"name\": \"g\", \"telemetry_valid\": false}]}", DOCTOR_FAIL,
		 "busy time of GPU g"},
		{"history", "{\"history\": " HISTORY_FINE "}", DOCTOR_OK, "5 rows written"},
		{"history", "{\"history\": {\"enabled\": false, \"error\": \"disk full\"}}",
		 DOCTOR_FAIL, "disk full"},
		{"history",
		 "{\"history\": {\"enabled\": true, \"dropped\": 3, \"error\": \"EIO\"}}",
		 DOCTOR_FAIL, "EIO (3 rows lost)"},
		{"history", "{\"history\": {\"enabled\": true, \"dropped\": 3, \"error\": null}}",
		 DOCTOR_WARN, "3 rows were lost"},
		{"history", "{\"history\": {\"enabled\": true, \"clock_ahead_s\": 69120012.5}}",
		 DOCTOR_WARN, "the clock is 800 days ahead"},
		{"history",
		 "{\"history\": {\"enabled\": true, \"damaged\": [\"history.db.damaged-1\"]}}",
		 DOCTOR_WARN, "history.db.damaged-1"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *host = json_loads(rows[i].host, 0, NULL);

		expect(rows[i].check, host, rows[i].state, rows[i].text);
		json_decref(host);
	}
}

/* Each library is a finding of its own; without the 64-bit library there is only one finding. */
static void missing_libraries_are_found(void **state)
{
	(void)state;
	make_file("/usr/bin/gover-ctl", "", 0755);
	make_file("/usr/lib/gover/libgover-fps.so", "", 0644);
#ifdef __x86_64__
	expect("library32", NULL, DOCTOR_WARN, "32/libgover-fps.so is missing");
	make_file("/usr/lib/gover/32/libgover-fps.so", "", 0644);
	expect("library32", NULL, DOCTOR_OK, "32/libgover-fps.so");
#endif
	expect("vulkan", NULL, DOCTOR_WARN, "libgover-fps-layer.so is missing");
	assert_string_equal(ask("vulkan", NULL).advice, "sudo apt install libgover-fps");
	make_file("/usr/lib/gover/libgover-fps-layer.so", "", 0644);
	expect("vulkan", NULL, DOCTOR_WARN, "no implicit_layer.d/gover_fps.json");
	make_file("/usr/share/vulkan/implicit_layer.d/gover_fps.json", "", 0644);
	expect("vulkan", NULL, DOCTOR_OK, "libgover-fps-layer.so");
}

/* The unit, whose state systemd reports, decides about the first cure if no daemon answers. */
static void the_state_of_the_unit_gives_the_cure(void **state)
{
	static const struct {
		struct unit unit;
		const char *text, *advice;
	} units[] = {
		{{.loaded = false}, "no answer", "sudo apt install gover"},
		{{.enabled = "masked"}, "masked", "sudo systemctl unmask gover-d && "},
		{{.loaded = true, .active = "inactive"},
		 "is not started",
		 "sudo systemctl enable --now gover-d"},
		{{.loaded = true, .active = "failed", .result = "exit-code"},
		 "exits with an error",
		 "sudo gover-ctl config check; "},
		{{.loaded = true, .active = "failed", .result = "watchdog"},
		 "has failed: watchdog",
		 "journalctl -u gover-d -n 20; "},
		{{.loaded = true, .active = "activating"}, "is starting", "journalctl -u gover-d"},
		{{.loaded = true, .active = "active"},
		 "no answer",
		 "set --socket /run/gover/gover.sock, or GOVER_SOCKET"},
	};
	struct config *config = malloc(sizeof(*config));

	(void)state;
	config_default(config);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		struct installation installation = {.unit = units[i].unit};
		struct doctor_input input = {
			.root = temp_folder,
			.where = "/run/x",
			.over_socket = true,
			.no_answer = "no answer from gover-d at /run/x",
			.installation = &installation,
			.config = config,
		};
		struct doctor_finding finding;

		installation.unit.known = true;
		assert_string_equal(doctor_check(0, &input, &finding), "daemon");
		assert_int_equal(finding.state, DOCTOR_FAIL);
		if (!strstr(finding.text, units[i].text) ||
		    !strstr(finding.advice, units[i].advice))
			fail_msg("row %zu: \"%s\" -> \"%s\"", i, finding.text, finding.advice);
	}
	free(config);
}

/* Without an answer, the configuration of the unit and its sandbox are known. */
static void a_sandbox_that_hides_control_groups_is_found(void **state)
{
	static const struct {
		const char *backend;
		struct unit unit;
		enum doctor_state wanted;
		const char *text, *advice;
	} rows[] = {
		{"softgpu",
		 {.protects_cgroups = true},
		 DOCTOR_FAIL,
		 "read-only for gover-d",
		 "gover-.service.d /usr/share/gover/examples/softgpu.conf && "},
		{"lib",
		 {.protects_cgroups = true},
		 DOCTOR_FAIL,
		 "read-only for gover-d",
		 "gover-.service.d /usr/share/gover/examples/lib.conf && "},
		{"softgpu", {.user = "gover"}, DOCTOR_FAIL, "runs as user gover", "softgpu.conf"},
		{"softgpu", {.user = "root"}, DOCTOR_OK, "can be created", ""},
		{"gvt", {.protects_cgroups = true}, DOCTOR_SKIPPED, "", ""},
	};
	struct config *config = malloc(sizeof(*config));

	(void)state;
	config_default(config);
	make_file("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu\n", 0644);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct installation installation = {.unit = rows[i].unit,
						    .source = INSTALLATION_UNIT};
		struct doctor_input input = {.root = temp_folder,
					     .exe = "/none/gover-ctl",
					     .where = "/run/x",
					     .no_answer = "no answer",
					     .over_socket = true,
					     .installation = &installation,
					     .config = config};
		struct doctor_finding finding = {.text = ""};
		const char *name = "";

		strcpy(config->gpus[0].gpu.backend, rows[i].backend);
		for (size_t c = 0; name && strcmp(name, "cgroups") != 0; c++)
			name = doctor_check(c, &input, &finding);
		if (finding.state != rows[i].wanted || !strstr(finding.text, rows[i].text) ||
		    !strstr(finding.advice, rows[i].advice))
			fail_msg("row %zu: %s, \"%s\" -> \"%s\"", i,
				 doctor_state_name(finding.state), finding.text, finding.advice);
	}
	free(config);
	remove_made("/sys");
}

static void met_requirements_are_found(void **state)
{
	json_t *host = host_with("softgpu", HISTORY_FINE);

	(void)state;
	make_file("/sys/fs/cgroup/cgroup.controllers", "cpuset io memory\n", 0644);
	expect("cgroups", host, DOCTOR_FAIL, "no cpu controller");
	make_file("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory\n", 0644);
	expect("cgroups", host, DOCTOR_OK, "/sys/fs/cgroup");
	make_file("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu\n", 0644);
	expect("cgroups", host, DOCTOR_OK, "/sys/fs/cgroup");
	make_file("/sys/fs/cgroup/cgroup.controllers", "", 0644);
	make_file("/sys/fs/cgroup/cpu/tasks", "", 0644);
	expect("cgroups", host, DOCTOR_OK, "/sys/fs/cgroup/cpu");
	json_decref(host);

	make_file("/usr/lib/gover/libgover-fps.so", "", 0644);
	make_file("/usr/bin/gover-ctl", "", 0755);
	expect("library", NULL, DOCTOR_OK, "libgover-fps.so");
	make_file("/usr/lib/gover/libgover-cl.so", "", 0644);
	host = host_with("lib", HISTORY_FINE);
	expect("layer", host, DOCTOR_OK, "libgover-cl.so");
	json_decref(host);
	make_file("/usr/bin/Xvfb", "", 0755);
	expect("xvfb", NULL, DOCTOR_OK, "Xvfb is installed");

	make_file("/sys/bus/mdev/devices/a/x", "", 0644);
	make_file("/sys/bus/mdev/devices/b/x", "", 0644);
	expect("mdev", NULL, DOCTOR_WARN, "has no GPU");
	make_file("/sys/class/mdev_bus/0000:00:02.0/x", "", 0644);
	expect("mdev", NULL, DOCTOR_OK, "1 GPU with mediated devices, 2 existing vGPUs");

	make_file("/sys/bus/event_source/devices/i915/type", "", 0644);
	expect("i915-pmu", NULL, DOCTOR_WARN, "intel_gpu_top is not in PATH");
	make_file("/usr/bin/intel_gpu_top", "", 0755);
	expect("i915-pmu", NULL, DOCTOR_OK, "are available");
	make_file("/dev/vhost-vsock", "", 0600);
	expect("vsock", NULL, DOCTOR_OK, "over vsock");
}

#define GPU  "/sys/class/mdev_bus/0000:00:02.0/"
#define VGPU "/sys/bus/mdev/devices/aaaaaaaa-0000-0000-0000-000000000001/intel_vgpu/"

/* Adds one file at a time, from a host with only a GPU to a kernel with gover's scheduler. */
static void gvt_g_is_checked_step_by_step(void **state)
{
	json_t *gvt = host_with("gvt", HISTORY_FINE);

	(void)state;
	remove_made("/sys");
	expect("gvt", NULL, DOCTOR_SKIPPED, "");
	make_file("/sys/bus/mdev/devices/other/nvidia/x", "", 0644);
	expect("gvt", NULL, DOCTOR_SKIPPED, "");
	make_file(GPU "mdev_supported_types/i915-GVTg_V5_8/name", "", 0644);
	expect("gvt", NULL, DOCTOR_WARN, "GPU 0000:00:02.0 has no file gover_sharing");
	make_file(GPU "gover_sharing", "hard\n", 0644);
	expect("gvt", NULL, DOCTOR_OK, "1 GPU with GVT-g, no vGPU yet");
	make_file(VGPU "vgpu_id", "1", 0444);
	expect("gvt", NULL, DOCTOR_WARN, "has no file cap, busy_time, sched_time");
	expect("gvt", gvt, DOCTOR_FAIL, "0000-000000000001 has no file cap");
	make_file(VGPU "busy_time", "1", 0444);
	make_file(VGPU "sched_time", "1", 0444);
	expect("gvt", gvt, DOCTOR_FAIL, "has no file cap:");
	make_file(VGPU "cap", "1", 0644);
	expect("gvt", gvt, DOCTOR_WARN, "no file cap_lease_ms");
	make_file(VGPU "cap_lease_ms", "0", 0644);
	expect("gvt", gvt, DOCTOR_WARN, "0000-000000000001 has no file cap_ceiling");
	make_file(VGPU "cap_ceiling", "0", 0644);
	expect("gvt", gvt, DOCTOR_OK, "1 vGPU of GVT-g: caps can be written and have leases");
	if (geteuid() != 0) {
		make_file(GPU "gover_sharing", "hard\n", 0444);
		expect("gvt", gvt, DOCTOR_WARN, "gover_sharing cannot be written: Permission");
		make_file(VGPU "cap_ceiling", "0", 0444);
		expect("gvt", gvt, DOCTOR_FAIL, "cap_ceiling cannot be written: Permission denied");
		make_file(VGPU "cap", "1", 0444);
		expect("gvt", gvt, DOCTOR_FAIL, "cap cannot be written: Permission denied");
	}
	json_decref(gvt);
}

/* Missing files are an error only if the configuration requests guarantees. */
static void missing_guarantees_fail_only_if_they_are_configured(void **state)
{
	static const struct {
		const char *backend, *sharing;
		enum doctor_state wanted;
		const char *text;
	} rows[] = {
		{"gvt", "guarantee", DOCTOR_FAIL, "GPU 0000:00:02.0 has no file gover_sharing"},
		{"auto", "guarantee", DOCTOR_FAIL, "caps can only be hard limits"},
		{"gvt", "auto", DOCTOR_WARN, "caps can only be hard limits"},
		{"gvt", "hard", DOCTOR_OK, "caps can be written"},
		{"softgpu", "guarantee", DOCTOR_OK, "caps can be written"},
	};
	static const char *const files[] = {"vgpu_id", "busy_time",   "sched_time",
					    "cap",     "cap_ceiling", "cap_lease_ms"};
	static struct config config;

	(void)state;
	remove_made("/sys");
	make_file(GPU "mdev_supported_types/i915-GVTg_V5_8/name", "", 0644);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char name[ANY_PATH];

		snprintf(name, sizeof(name), VGPU "%s", files[i]);
		make_file(name, "1", 0644);
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct gpu_config *gpu = &config.gpus[0].gpu;

		config.n_gpus = 1;
		snprintf(gpu->backend, sizeof(gpu->backend), "%s", rows[i].backend);
		snprintf(gpu->sharing, sizeof(gpu->sharing), "%s", rows[i].sharing);
		asked_config = &config;
		expect("gvt", NULL, rows[i].wanted, rows[i].text);
		asked_config = NULL;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bare_host_misses_requirements),
		cmocka_unit_test(bpf_is_checked_if_it_is_configured),
		cmocka_unit_test(a_missing_requirement_of_a_used_backend_is_a_failure),
		cmocka_unit_test(warnings_and_failures_have_advice),
		cmocka_unit_test(problems_of_the_daemon_are_found),
		cmocka_unit_test(a_sandbox_that_hides_control_groups_is_found),
		cmocka_unit_test(the_state_of_the_unit_gives_the_cure),
		cmocka_unit_test(missing_libraries_are_found),
		cmocka_unit_test(met_requirements_are_found),
		cmocka_unit_test(gvt_g_is_checked_step_by_step),
		cmocka_unit_test(missing_guarantees_fail_only_if_they_are_configured),
	};

	return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
