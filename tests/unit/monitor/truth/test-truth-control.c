/* SPDX-License-Identifier: MIT */
/* Tests what the source fdinfo reports if it sees no client, on folders instead of /proc and /sys.
 */
#include "monitor/truth/source-fdinfo.c"
#include "monitor/truth/truth.h"
#include "tests/unit/monitor/truth/test-truth.h"

#define GPU  "0000:03:00.0"
#define MUTE "pos:\t0\nflags:\t02100002\nmnt_id:\t26\n"
/* amdgpu of Linux 5.14 to 5.18 */
#define OLD MUTE "pdev:\t" GPU "\npasid:\t32771\nvram mem:\t262144 kB\ngfx0:\t70.59%\n"

static struct truth *truth;
static uint64_t now_ns;

static int tenant_of(void *userdata, pid_t pid)
{
	(void)userdata;
	return pid >= 900 ? TRUTH_TENANT_UNKNOWN : (int)pid / 100;
}

static int tear_down(void)
{
	truth = truth_close(truth);
	return remove_host();
}

FIXTURE(make_host, tear_down)

/* Takes a sample. Returns the problem. */
static const char *sample(void)
{
	const struct truth_config config = {
		.source = "fdinfo",
		.proc = top_proc,
		.device = GPU,
		.sysfs = top_sys,
		.tenant = tenant_of,
	};
	struct err err;

	if (!truth)
		assert_int_equal(truth_open(&config, &truth, &err), 0);
	now_ns += S;
	assert_int_equal(truth_sample(truth, now_ns), 0);
	return truth_report(truth)->problem.msg;
}

/* --- the ways in which no client is seen --- */

static void known_driver(void)
{
	add_pci_gpu(GPU, "amdgpu");
}

static void no_gpu(void)
{
}

static void other_gpu(void)
{
	add_pci_gpu("0000:04:00.0", "amdgpu");
	add_process(100, "a");
	add_file(100, 3, "/dev/dri/renderD129",
		 "drm-driver:\tamdgpu\ndrm-client-id:\t1\ndrm-pdev:\t0000:04:00.0\n");
}

static void no_driver(void)
{
	known_driver();
	remove_below("sys/bus/pci/devices/" GPU "/driver");
}

static void unknown_driver(void)
{
	add_pci_gpu(GPU, "nouveau");
}

static void file_of(const char *path, const char *text)
{
	known_driver();
	add_process(100, "a");
	add_file(100, 3, path, text);
}

static void old_format(void)
{
	file_of("/dev/dri/renderD128", OLD);
}

static void no_keys(void)
{
	file_of("/dev/dri/card0", MUTE);
}

static void no_keys_in_a_chroot(void)
{
	file_of("/srv/guest/dev/dri/renderD128", MUTE);
}

static void malformed(void)
{
	file_of("/dev/dri/card0", "drm-driver:\tamdgpu\ndrm-engine-gfx:\tmany\n");
}

static void no_client_id(void)
{
	file_of("/dev/dri/card0", "drm-driver:\tamdgpu\ndrm-pdev:\t" GPU "\n");
}

static void no_address(void)
{
	file_of("/dev/dri/card0", "drm-driver:\tamdgpu\ndrm-client-id:\t1\n");
}

static void memory_only(void)
{
	file_of("/dev/dri/card0", "drm-driver:\tnouveau\ndrm-client-id:\t1\ndrm-pdev:\t" GPU
				  "\ndrm-memory-vram:\t1 KiB\n");
}

static void cycles_only(void)
{
	file_of("/dev/dri/card0",
		"drm-driver:\txe\ndrm-client-id:\t1\ndrm-pdev:\t" GPU "\ndrm-cycles-rcs:\t100\n");
}

static void switched_off(void)
{
	known_driver();
	write_file("sys/bus/pci/devices/" GPU "/profiling", "0\n");
}

static void namespace(void)
{
	known_driver();
	add_link("proc/1/ns/pid", "pid:[4026532201]");
}

static void own_namespace(void)
{
	known_driver();
	remove_below("proc/1/ns"); /* not readable without CAP_SYS_PTRACE */
	add_link("proc/self/ns/pid", "pid:[4026532201]");
}

static void empty_proc(void)
{
	known_driver();
	remove_below("proc/1");
}

static void unknown_group(void)
{
	known_driver();
	add_drm_process(900, "a", 3, 1, 0);
}

/* The same clients under other names are seen. */
static void renamed(void)
{
	add_process(100, "a");
	add_file(100, 3, "/containers/7/gpu", drm_text(7, 1, 0));
}

static void of_a_thread(void)
{
	add_process(100, "a"); /* its first thread has ended */
	remove_below("proc/100/fd/x");
	write_file("proc/100/task/100/x", "");
	write_file("proc/100/task/101/x", "");
	add_process(101, "a"); /* proc lists no threads, but has their folders */
	add_drm_file(101, 3, 7, 1);
	assert_int_equal(rename(below("proc/101"), below("proc/thread")), 0);
	add_link("proc/00101", "thread");
	add_link("proc/101", "thread");
}

static const struct {
	const char *way;
	void (*make)(void);
	const char *problem; /* "": the GPU is idle, or its clients are seen */
	uint64_t clients;
} rows[] = {
	{"no client, driver and kernel known", known_driver, "", 0},
	{"address that no GPU has", no_gpu, "no GPU " GPU " exists in sysfs", 0},
	{"address of another GPU than that of the programs", other_gpu, "no GPU " GPU, 0},
	{"GPU without a driver", no_driver, "GPU " GPU " has no driver", 0},
	{"driver that is not known to publish use", unknown_driver, "driver nouveau is not known",
	 0},
	{"text of Linux 5.14 to 5.18 (amdgpu)", old_format, "1 DRM files of this GPU have no time",
	 0},
	{"text without drm- keys", no_keys, "1 DRM files of this GPU have no time", 0},
	{"the same in a chroot", no_keys_in_a_chroot, "1 DRM files of this GPU have no time", 0},
	{"malformed value", malformed, "1 DRM files have a text that is malformed", 0},
	{"no drm-client-id", no_client_id, "1 DRM files have a text that is malformed", 0},
	{"no drm-pdev", no_address, "1 DRM files have a text that is malformed", 0},
	{"memory keys only", memory_only, "1 DRM files of this GPU have no time", 1},
	{"drm-cycles without total or frequency", cycles_only, "1 DRM files of this GPU", 1},
	{"profiling = 0 (panfrost, panthor)", switched_off, "counts no use until 1 is written", 0},
	{"proc of another PID namespace", namespace, "of a PID namespace", 0},
	{"daemon in another PID namespace", own_namespace, "of a PID namespace", 0},
	{"empty proc", empty_proc, "proc lists no process", 0},
	{"unreadable control group of a client", unknown_group, "the control groups of 1 programs",
	 1},
	{"node with another name (bind mount)", renamed, "", 1},
	{"first thread of the process has ended", of_a_thread, "", 1},
};

TEST(the_table_of_ways_to_see_nobody)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *problem;

		if (i > 0)
			assert_int_equal(make_host(), 0);
		rows[i].make();
		problem = sample();
		print_message("fdinfo | %s | %s\n", rows[i].way, problem[0] ? problem : "ok");
		if (rows[i].problem[0] ? !strstr(problem, rows[i].problem) : problem[0] != '\0')
			fail_msg("%s: \"%s\"", rows[i].way, problem);
		assert_int_equal(truth_report(truth)->last.clients, rows[i].clients);
		truth = truth_close(truth);
		if (i + 1 < ARRAY_SIZE(rows))
			remove_host();
	}
}

TEST(what_was_seen_once_is_idle_without_it)
{
	add_drm_process(100, "a", 3, 7, 1);
	assert_string_equal(sample(), "");
	write_file("proc/100/fdinfo/3", "");
	remove_below("proc/100");
	assert_string_equal(sample(), "");
	assert_int_equal(truth_report(truth)->last.clients, 0);
	assert_int_equal(truth_report(truth)->most.clients, 1);
	/* another driver must show it again */
	add_pci_gpu(GPU, "vfio-pci");
	assert_non_null(strstr(sample(), "driver vfio-pci is not known"));
	remove_below("sys/bus/pci/devices/" GPU);
	assert_non_null(strstr(sample(), "no GPU " GPU));
	known_driver();
	assert_string_equal(sample(), "");
}

TEST(drivers_publish_use_since_a_kernel)
{
	assert_false(control_knows("amdgpu", "5.18.19"));
	assert_true(control_knows("amdgpu", "5.19.0-1-amd64"));
	assert_true(control_knows("amdgpu", "6.1.0"));
	assert_false(control_knows("xe", "6.8.0-31-generic"));
	assert_true(control_knows("xe", "6.11.0"));
	assert_false(control_knows("nouveau", "6.11.0"));
	assert_false(control_knows("i915", "unknown"));
}
