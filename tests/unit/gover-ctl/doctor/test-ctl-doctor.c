/* SPDX-License-Identifier: MIT */
/* The checks of `doctor` on simulated hosts made of folders. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "gover-ctl/doctor/doctor.h"
#include "gover-ctl/shared/unit.h"
#include "tests/unit/temp-folder.h"
#include "tests/unit/unit.h"

#define ANY_PATH 256

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

static struct finding ask(const char *check, const json_t *host)
{
	char exe[ANY_PATH], search[ANY_PATH];
	struct doctor_input input = {
		.root = temp_folder,
		.search_path = search,
		.exe = exe,
		.where = "/run/x",
		.host = host,
		.no_answer = "no answer from gover-d at /run/x",
	};
	struct finding finding;
	const char *name;

	snprintf(exe, sizeof(exe), "%s/usr/bin/gover-ctl", temp_folder);
	snprintf(search, sizeof(search), "%s/usr/bin", temp_folder);
	for (size_t i = 0; (name = doctor_check(i, &input, &finding)); i++)
		if (strcmp(name, check) == 0)
			return finding;
	fail_msg("no check '%s'", check);
	return finding;
}

static void expect(const char *check, const json_t *host, enum finding_state wanted,
		   const char *says)
{
	struct finding finding = ask(check, host);

	if (finding.state != wanted || !strstr(finding.text, says))
		fail_msg("%s: %s, \"%s\"", check, finding_state_name(finding.state), finding.text);
}

FIXTURE_ONCE(temp_folder_make, temp_folder_remove)

TEST(a_bare_host_misses_requirements)
{
	expect("daemon", NULL, FINDING_FAIL, "no answer from gover-d at /run/x");
	expect("ticks", NULL, FINDING_SKIPPED, "");
	expect("gpus", NULL, FINDING_SKIPPED, "");
	expect("history", NULL, FINDING_SKIPPED, "");
	expect("library", NULL, FINDING_FAIL, "libgover-fps.so");
	expect("xvfb", NULL, FINDING_SKIPPED, ""); /* a production host needs no X server */
	expect("library32", NULL, FINDING_SKIPPED, "");
	expect("vulkan", NULL, FINDING_SKIPPED, "");
	expect("vsock", NULL, FINDING_WARN, "no /dev/vhost-vsock");
}

TEST(bpf_is_checked_if_it_is_configured)
{
	static const struct {
		const char *fps;
		enum finding_state wanted;
		const char *text;
	} rows[] = {
		{"{\"open\": 1}", FINDING_SKIPPED, ""},
		{"{\"bpf_files\": 4, \"bpf_refused\": 0, \"bpf_error\": null}", FINDING_OK,
		 "in 4 library files"},
		{"{\"bpf_files\": 4, \"bpf_refused\": 2, \"bpf_error\": null}", FINDING_WARN,
		 "4 library files; 2 other files"},
		{"{\"bpf_files\": 0, \"bpf_error\": \"built without libbpf\"}", FINDING_FAIL,
		 "built without libbpf"},
	};

	expect("fps-bpf", NULL, FINDING_SKIPPED, "");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *host = host_with("softgpu", HISTORY_FINE);

		assert_int_equal(json_object_set_new(host, "fps", json_loads(rows[i].fps, 0, NULL)),
				 0);
		expect("fps-bpf", host, rows[i].wanted, rows[i].text);
		json_decref(host);
	}
}

TEST(warnings_and_failures_have_advice)
{
	static const char *const checks[] = {"daemon", "library", "vsock"};

	for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
		assert_true(ask(checks[i], NULL).advice[0] != '\0');
}

TEST(problems_of_the_daemon_are_found)
{
	static const struct {
		const char *check, *host;
		enum finding_state state;
		const char *text;
	} rows[] = {
		{"daemon", "{\"version\": \"0.1.0\", \"uptime_s\": 60}", FINDING_OK,
		 "gover-d 0.1.0 is running at /run/x, up 1 min"},
		{"ticks", "{\"ready\": false}", FINDING_FAIL, "not completed its first tick"},
		{"ticks", "{\"ready\": true, \"ticks\": 1000, \"late_ticks\": 10}", FINDING_OK,
		 "10 late"},
		{"ticks", "{\"ready\": true, \"ticks\": 1000, \"late_ticks\": 11}", FINDING_WARN,
		 "11 of 1000"},
		{"gpus", "{\"gpus\": []}", FINDING_WARN, "controls no GPU"},
		{"gpus",
		 "{\"gpus\": [{\"name\": \"g\", \"backend\": \"sim\", \"mode\": \"act\", "
		 "\"telemetry_valid\": true}]}",
		 FINDING_OK, "g (sim, act)"},
		{"gpus", "{\"gpus\": [{\"name\": \"g\", \"telemetry_valid\": false}]}",
		 FINDING_FAIL, "busy time of GPU g"},
		{"gpus",
		 "{\"gpus\": [{\"name\": \"g\", \"telemetry_valid\": false, "
		 "\"problem\": \"GPU g cannot be opened: no driver\"}]}",
		 FINDING_FAIL, "GPU g cannot be opened: no driver: no decisions for this GPU"},
		{"sources",
		 "{\"gpus\": [{\"name\": \"g\", \"truth\": \"fdinfo\", \"source\": {\"last\": "
		 "{\"clients\": 3, \"outside\": 1, \"denied\": 0}}}]}",
		 FINDING_OK, "g: fdinfo read 3 clients, 1 outside the control groups of vGPUs"},
		{"sources",
		 "{\"gpus\": [{\"name\": \"g\", \"truth\": \"fdinfo\", "
		 "\"problem\": \"proc hides processes\", \"source\": {\"last\": "
		 "{\"clients\": 0, \"denied\": 9}}}]}",
		 FINDING_WARN, "0 clients, 9 unreadable; proc hides processes"},
		{"sources", "{\"gpus\": [{\"name\": \"g\", \"source\": null}]}", FINDING_SKIPPED,
		 ""},
		{"history", "{\"history\": " HISTORY_FINE "}", FINDING_OK, "5 rows written"},
		{"history", "{\"history\": {\"enabled\": false, \"error\": \"disk full\"}}",
		 FINDING_FAIL, "disk full"},
		{"history",
		 "{\"history\": {\"enabled\": true, \"dropped\": 3, \"error\": \"EIO\"}}",
		 FINDING_FAIL, "EIO (3 rows lost)"},
		{"history", "{\"history\": {\"enabled\": true, \"dropped\": 3, \"error\": null}}",
		 FINDING_WARN, "3 rows were lost"},
		{"history", "{\"history\": {\"enabled\": true, \"clock_ahead_s\": 69120012.5}}",
		 FINDING_WARN, "the clock is 800 days ahead"},
		{"history",
		 "{\"history\": {\"enabled\": true, \"damaged\": [\"history.db.damaged-1\"]}}",
		 FINDING_WARN, "history.db.damaged-1"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *host = json_loads(rows[i].host, 0, NULL);

		expect(rows[i].check, host, rows[i].state, rows[i].text);
		json_decref(host);
	}
}

/* Each library is a finding of its own; without the 64-bit library there is only one finding. */
TEST(missing_libraries_are_found)
{
	make_file("/usr/bin/gover-ctl", "", 0755);
	make_file("/usr/lib/gover/libgover-fps.so", "", 0644);
#ifdef __x86_64__
	expect("library32", NULL, FINDING_WARN, "32/libgover-fps.so is missing");
	make_file("/usr/lib/gover/32/libgover-fps.so", "", 0644);
	expect("library32", NULL, FINDING_OK, "32/libgover-fps.so");
#endif
	expect("vulkan", NULL, FINDING_WARN, "libgover-fps-layer.so is missing");
	assert_string_equal(ask("vulkan", NULL).advice, "sudo apt install libgover-fps");
	make_file("/usr/lib/gover/libgover-fps-layer.so", "", 0644);
	expect("vulkan", NULL, FINDING_WARN, "no implicit_layer.d/gover_fps.json");
	make_file("/usr/share/vulkan/implicit_layer.d/gover_fps.json", "", 0644);
	expect("vulkan", NULL, FINDING_OK, "libgover-fps-layer.so");
}

/* The unit, whose state systemd reports, decides about the first cure if no daemon answers. */
TEST(the_state_of_the_unit_gives_the_cure)
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
	json_t *config = json_pack("{s:s}", "socket", "/run/gover/gover.sock");

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
		struct finding finding;

		installation.unit.known = true;
		assert_string_equal(doctor_check(0, &input, &finding), "daemon");
		assert_int_equal(finding.state, FINDING_FAIL);
		if (!strstr(finding.text, units[i].text) ||
		    !strstr(finding.advice, units[i].advice))
			fail_msg("row %zu: \"%s\" -> \"%s\"", i, finding.text, finding.advice);
	}
	json_decref(config);
}

TEST(met_requirements_are_found)
{
	json_t *lib = host_with("lib", HISTORY_FINE), *softgpu = host_with("softgpu", HISTORY_FINE);

	expect("layer", lib, FINDING_FAIL, "libgover-cl.so");
	expect("layer", softgpu, FINDING_SKIPPED, "");
	make_file("/usr/lib/gover/libgover-fps.so", "", 0644);
	make_file("/usr/bin/gover-ctl", "", 0755);
	expect("library", NULL, FINDING_OK, "libgover-fps.so");
	make_file("/usr/lib/gover/libgover-cl.so", "", 0644);
	expect("layer", lib, FINDING_OK, "libgover-cl.so");
	json_decref(lib);
	json_decref(softgpu);
	make_file("/usr/bin/Xvfb", "", 0755);
	expect("xvfb", NULL, FINDING_OK, "Xvfb is installed");
	make_file("/dev/vhost-vsock", "", 0600);
	expect("vsock", NULL, FINDING_OK, "over vsock");
}
