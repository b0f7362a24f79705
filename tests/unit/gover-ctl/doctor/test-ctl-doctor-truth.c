/* SPDX-License-Identifier: MIT */
/* The checks of the sources of backend drm, on simulated hosts made of folders. */
#include "tests/unit/monitor/truth/test-truth.h"

#include "gover-ctl/doctor/doctor.h"
#include "gover-ctl/installation.h"
#include "gover-d/config/config.h"

static struct config config;
static struct installation installation;
static struct doctor_finding finding;

static int set_up(void **state)
{
	int r = make_host(state);

	config_default(&config);
	memset(&installation, 0, sizeof(installation));
	return r;
}

static void use_drm(const char *truth)
{
	strcpy(config.gpus[0].gpu.backend, "drm");
	strcpy(config.gpus[0].gpu.truth, truth);
}

static void expect(const char *check, enum doctor_state wanted, const char *text,
		   const char *advice)
{
	const struct doctor_input input = {
		.root = top,
		.search_path = "",
		.exe = "/none/gover-ctl",
		.where = "/run/x",
		.no_answer = "no answer",
		.installation = &installation,
		.config = &config,
	};
	const char *name;

	for (size_t i = 0; (name = doctor_check(i, &input, &finding)); i++)
		if (strcmp(name, check) == 0)
			break;
	assert_non_null(name);
	if (finding.state != wanted || !strstr(finding.text, text) ||
	    !strstr(finding.advice, advice))
		fail_msg("%s: %s, \"%s\" (%s)", check, doctor_state_name(finding.state),
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

static void a_host_without_a_gpu(void **state)
{
	(void)state;
	expect("fdinfo", DOCTOR_SKIPPED, "", "");
	expect("nvml", DOCTOR_SKIPPED, "", "");
	expect("dmem", DOCTOR_SKIPPED, "", "");
	use_drm("auto");
	expect("fdinfo", DOCTOR_WARN, "no GPU has a render node", "load the driver");
}

static void drivers_with_and_without_statistics(void **state)
{
	(void)state;
	add_gpu(0, "nouveau");
	expect("fdinfo", DOCTOR_WARN, "nouveau does not report", "truth = nvml");
	add_gpu(1, "amdgpu");
	expect("fdinfo", DOCTOR_OK, "amdgpu (backend drm can observe containers)", "");
	add_gpu(2, "panthor");
	write_file("sys/devices/gpu2/profiling", "0\n");
	expect("fdinfo", DOCTOR_WARN, "does not count", "sys/devices/gpu2/profiling");
	write_file("sys/devices/gpu2/profiling", "3\n");
	expect("fdinfo", DOCTOR_OK, "amdgpu", "");
}

static void missing_rights_of_the_daemon(void **state)
{
	static const struct {
		const char *rights;
		enum doctor_state wanted;
		const char *text;
	} rows[] = {
		{"0000000000000000", DOCTOR_FAIL, "CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH"},
		{"0000000000080000", DOCTOR_FAIL, "missing: CAP_DAC_READ_SEARCH)"},
		{"0000000000000004", DOCTOR_FAIL, "missing: CAP_SYS_PTRACE)"},
		{"0000000000080004", DOCTOR_OK, "i915"},
		{"000001ffffffffff", DOCTOR_OK, "i915"},
	};

	(void)state;
	add_gpu(0, "i915");
	use_drm("auto");
	expect("fdinfo", DOCTOR_OK, "i915", ""); /* no daemon runs */
	installation.pid = 77;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[128];

		snprintf(text, sizeof(text), "Name:\tgover-d\nCapEff:\t%s\n", rows[i].rights);
		write_file("proc/77/status", text);
		expect("fdinfo", rows[i].wanted, rows[i].text,
		       rows[i].wanted == DOCTOR_FAIL ? "examples/drm.conf" : "");
	}
}

static void the_library_of_nvidias_driver(void **state)
{
	(void)state;
	use_drm("nvml");
	expect("nvml", DOCTOR_FAIL, "not loaded", "apt install nvidia-driver");
	write_file("proc/driver/nvidia/version", "NVRM version: 535\n");
	expect("nvml", DOCTOR_FAIL, "libnvidia-ml.so.1 is missing", "apt install libnvidia-ml1");
	use_drm("auto");
	expect("nvml", DOCTOR_WARN, "libnvidia-ml.so.1 is missing", "apt install libnvidia-ml1");
	write_file("usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "");
	expect("nvml", DOCTOR_OK, "estimate that of each process", "");
	expect("fdinfo", DOCTOR_SKIPPED, "", ""); /* NVIDIA's driver needs no render node */
}

static void control_groups_that_count_device_memory(void **state)
{
	(void)state;
	write_file("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
	expect("dmem", DOCTOR_SKIPPED, "", "");
	use_drm("auto");
	expect("dmem", DOCTOR_OK, "do not count device memory", "");
	write_file("sys/fs/cgroup/cgroup.controllers", "cpu memory dmem\n");
	expect("dmem", DOCTOR_WARN, "not enabled", "+dmem");
	write_file("sys/fs/cgroup/cgroup.subtree_control", "dmem cpu\n");
	expect("dmem", DOCTOR_OK, "dmem.max", "");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, remove_host)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_host_without_a_gpu),
		TEST(drivers_with_and_without_statistics),
		TEST(missing_rights_of_the_daemon),
		TEST(the_library_of_nvidias_driver),
		TEST(control_groups_that_count_device_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
