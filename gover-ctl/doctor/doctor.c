/* SPDX-License-Identifier: MIT */
/*
 * The checks of `doctor`. What the daemon works with now is a failure where it is missing; what
 * only another backend would need is a warning.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "gover-ctl/doctor/gvt.h"
#include "gover-ctl/field.h"
#include "gover-ctl/verb/launch.h"
#include "gover-ctl/writer.h"

void doctor_find(struct doctor_finding *finding, enum doctor_state state, const char *advice,
		 const char *format, ...)
{
	va_list ap;

	finding->state = state;
	snprintf(finding->advice, sizeof(finding->advice), "%s", advice);
	va_start(ap, format);
	vsnprintf(finding->text, sizeof(finding->text), format, ap);
	va_end(ap);
}

bool doctor_drives(const struct doctor_look *look, const char *backend)
{
	const json_t *gpu;
	size_t i;

	json_array_foreach (json_object_get(look->host, "gpus"), i, gpu) {
		if (strcmp(field_text(gpu, "backend"), backend) == 0)
			return true;
	}
	return false;
}

void doctor_under_root(const struct doctor_look *look, const char *path, char full[PATH_MAX])
{
	snprintf(full, PATH_MAX, "%s%s", look->root, path);
}

int doctor_count(const struct doctor_look *look, const char *folder, const char *prefix)
{
	char path[PATH_MAX];
	struct dirent *entry;
	int n = 0;
	DIR *dir;

	doctor_under_root(look, folder, path);
	dir = opendir(path);
	if (!dir)
		return -1;
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.' && strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
	closedir(dir);
	return n;
}

static void check_daemon(const struct doctor_look *look, struct doctor_finding *finding)
{
	char up[WRITER_SPAN_MAX];

	if (!look->host) {
		doctor_find(finding, DOCTOR_FAIL, "start it: systemctl start gover-d", "%s",
			    look->no_answer);
		return;
	}
	writer_format_span(field_number(look->host, "uptime_s"), up);
	doctor_find(finding, DOCTOR_OK, "", "gover-d %s answers at %s, up %s",
		    field_text(look->host, "version"), look->where, up);
}

static void check_ticks(const struct doctor_look *look, struct doctor_finding *finding)
{
	double ticks = field_number(look->host, "ticks"),
	       late = field_number(look->host, "late_ticks");

	if (!look->host)
		finding->state = DOCTOR_NOT_ASKED;
	else if (!field_true(look->host, "ready"))
		doctor_find(finding, DOCTOR_FAIL, "see its log: journalctl -u gover-d",
			    "the daemon has done no tick yet");
	else if (late > ticks / 100)
		doctor_find(finding, DOCTOR_WARN,
			    "the host is short of CPU time: give gover-d a higher weight",
			    "%.0f of %.0f ticks were late; late ticks decide nothing", late, ticks);
	else
		doctor_find(finding, DOCTOR_OK, "", "%.0f ticks, %.0f late", ticks, late);
}

static void check_gpus(const struct doctor_look *look, struct doctor_finding *finding)
{
	const json_t *gpus = json_object_get(look->host, "gpus"), *gpu;
	char names[256] = "";
	size_t i;

	if (!look->host) {
		finding->state = DOCTOR_NOT_ASKED;
		return;
	}
	json_array_foreach (gpus, i, gpu) {
		size_t used = strlen(names);

		snprintf(names + used, sizeof(names) - used, "%s%s (%s, %s)", used ? ", " : "",
			 field_text(gpu, "name"), field_text(gpu, "backend"),
			 field_text(gpu, "mode"));
		if (!field_true(gpu, "telemetry_valid")) {
			doctor_find(finding, DOCTOR_FAIL,
				    "see `gover-ctl alerts` and journalctl -u gover-d",
				    "busy time of GPU %s cannot be read: nothing is decided there",
				    field_text(gpu, "name"));
			return;
		}
	}
	if (json_array_size(gpus) == 0)
		doctor_find(finding, DOCTOR_WARN,
			    "set `backend` in a [gpu] section of gover.conf: softgpu "
			    "shares CPU cores as a GPU, sim is a simulation",
			    "the daemon drives no GPU");
	else
		doctor_find(finding, DOCTOR_OK, "", "driven: %s", names);
}

static void check_history(const struct doctor_look *look, struct doctor_finding *finding)
{
	const json_t *history = json_object_get(look->host, "history");
	const char *error = field_text(history, "error");

	if (!look->host)
		finding->state = DOCTOR_NOT_ASKED;
	else if (!field_true(history, "enabled"))
		doctor_find(finding, DOCTOR_FAIL,
			    "see that state_dir of gover.conf can be written and has room",
			    "no history is kept%s%s", error[0] ? ": " : "", error);
	else if (error[0])
		doctor_find(finding, DOCTOR_FAIL,
			    "see that state_dir of gover.conf can be written and has room",
			    "history cannot be written: %s; %.0f rows lost", error,
			    field_number(history, "dropped"));
	else if (field_number(history, "dropped") > 0)
		doctor_find(finding, DOCTOR_WARN, "", "history is kept; %.0f rows were lost",
			    field_number(history, "dropped"));
	else
		doctor_find(finding, DOCTOR_OK, "", "history is kept: %.0f rows written",
			    field_number(history, "written"));
}

/* Does the list of controllers, as in "cpuset cpu io", hold cpu? */
static bool holds_cpu(const char *controllers)
{
	for (const char *at = controllers; (at = strstr(at, "cpu")); at += 3)
		if ((at == controllers || at[-1] == ' ') && strchr(" \n", at[3]))
			return true;
	return false;
}

/* The folder in which the cpu controller is at work: v2's root, or v1's. -ENOENT. */
static int find_cpu_controller(const struct doctor_look *look, char ret_path[PATH_MAX])
{
	static const char *const v1[] = {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"};
	CLEANUP_FREE char *controllers = NULL;
	char path[PATH_MAX];

	doctor_under_root(look, "/sys/fs/cgroup/cgroup.controllers", path);
	if (file_read(path, 4096, &controllers, NULL) == 0 && holds_cpu(controllers)) {
		doctor_under_root(look, "/sys/fs/cgroup", ret_path);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(v1); i++) {
		doctor_under_root(look, v1[i], ret_path);
		if (access(ret_path, F_OK) == 0)
			return 0;
	}
	return -ENOENT;
}

static void check_cgroup(const struct doctor_look *look, struct doctor_finding *finding)
{
	enum doctor_state lacking = doctor_drives(look, "softgpu") ? DOCTOR_FAIL : DOCTOR_WARN;
	char path[PATH_MAX];

	if (find_cpu_controller(look, path) < 0)
		doctor_find(finding, lacking,
			    "in a container: hand it the cpu controller (systemd: Delegate=cpu)",
			    "no cpu controller of control groups: softgpu cannot work here");
	else if (access(path, W_OK) < 0)
		doctor_find(finding, lacking, "run gover-d as root, or delegate it a control group",
			    "control groups for softgpu at %s cannot be written: %s", path,
			    strerror(errno));
	else
		doctor_find(finding, DOCTOR_OK, "", "control groups for softgpu can be made at %s",
			    path);
}

static void check_library(const struct doctor_look *look, struct doctor_finding *finding)
{
	char path[PATH_MAX];
	struct err err;

	if (launch_find_library(look->library, look->exe, path, &err) < 0)
		doctor_find(finding, DOCTOR_FAIL, "without it no FPS is seen: install gover whole",
			    "%s", err.msg);
	else
		doctor_find(finding, DOCTOR_OK, "", "frames are counted by %s", path);
}

/* Asked only where the daemon was told to have the kernel count frames. */
static void check_bpf(const struct doctor_look *look, struct doctor_finding *finding)
{
	const json_t *fps = json_object_get(look->host, "fps");
	double files = field_number(fps, "bpf_files"), refused = field_number(fps, "bpf_refused");
	const char *error = field_text(fps, "bpf_error");

	if (error[0])
		doctor_find(finding, DOCTOR_FAIL,
			    "see to that, or set fps_source = preload in the [gpu] section",
			    "fps_source = bpf: %s", error);
	else if (refused > 0)
		doctor_find(finding, DOCTOR_WARN, "",
			    "the kernel counts frames in %.0f library files; %.0f others were "
			    "refused, or too many",
			    files, refused);
	else if (files > 0)
		doctor_find(finding, DOCTOR_OK, "",
			    "the kernel counts frames in %.0f library files", files);
	else
		finding->state = DOCTOR_NOT_ASKED;
}

static void check_xvfb(const struct doctor_look *look, struct doctor_finding *finding)
{
	if (launch_find_command("Xvfb", look->search_path) == 0)
		doctor_find(finding, DOCTOR_OK, "",
			    "Xvfb is there: programs can render without a screen");
	else
		doctor_find(finding, DOCTOR_WARN, "apt install xvfb",
			    "no Xvfb in PATH: programs that render need a screen, and the demo "
			    "needs it");
}

static void check_mdev(const struct doctor_look *look, struct doctor_finding *finding)
{
	enum doctor_state lacking = doctor_drives(look, "gvt") ? DOCTOR_FAIL : DOCTOR_WARN;
	int vgpus = doctor_count(look, "/sys/bus/mdev/devices", "");
	int parents = doctor_count(look, "/sys/class/mdev_bus", "");

	if (vgpus < 0)
		doctor_find(finding, lacking,
			    "with an Intel GPU from Broadwell to Comet Lake: boot with "
			    "i915.enable_gvt=1 and load kvmgt; without one use softgpu",
			    "no bus of mediated devices (/sys/bus/mdev): this host has no GVT-g");
	else if (parents <= 0)
		doctor_find(finding, lacking, "boot with i915.enable_gvt=1 and load kvmgt",
			    "a bus of mediated devices, and no GPU on it that could carry vGPUs");
	else
		doctor_find(finding, DOCTOR_OK, "",
			    "%d GPU%s can carry mediated devices, %d vGPU%s exist", parents,
			    parents == 1 ? "" : "s", vgpus, vgpus == 1 ? "" : "s");
}

static void check_pmu(const struct doctor_look *look, struct doctor_finding *finding)
{
	int pmus = doctor_count(look, "/sys/bus/event_source/devices", "i915");

	if (pmus <= 0)
		doctor_find(finding, DOCTOR_WARN, "",
			    "no i915 performance counters: use of a physical Intel GPU cannot be "
			    "measured");
	else if (launch_find_command("intel_gpu_top", look->search_path) < 0)
		doctor_find(finding, DOCTOR_WARN, "apt install intel-gpu-tools",
			    "i915 performance counters, and no intel_gpu_top in PATH to read them");
	else
		doctor_find(finding, DOCTOR_OK, "",
			    "i915 performance counters and intel_gpu_top are there");
}

static void check_vsock(const struct doctor_look *look, struct doctor_finding *finding)
{
	if (doctor_count(look, "/dev", "vhost-vsock") > 0)
		doctor_find(finding, DOCTOR_OK, "",
			    "virtual machines can have vsock, and report frames over it");
	else
		doctor_find(
			finding, DOCTOR_WARN,
			"modprobe vhost_vsock, or use virtio-serial: [fps] ports",
			"no /dev/vhost-vsock: virtual machines cannot report frames over vsock");
}

static const struct {
	const char *name;
	void (*check)(const struct doctor_look *look, struct doctor_finding *finding);
} checks[] = {
	{"daemon", check_daemon},   {"ticks", check_ticks},    {"gpus", check_gpus},
	{"history", check_history}, {"cgroups", check_cgroup}, {"library", check_library},
	{"xvfb", check_xvfb},	    {"mdev", check_mdev},      {"gvt", doctor_gvt_check},
	{"i915-pmu", check_pmu},    {"vsock", check_vsock},    {"fps-bpf", check_bpf},
};

const char *doctor_check(size_t index, const struct doctor_look *look,
			 struct doctor_finding *ret_finding)
{
	if (index >= ARRAY_SIZE(checks))
		return NULL;
	*ret_finding = (struct doctor_finding){.state = DOCTOR_OK};
	checks[index].check(look, ret_finding);
	return checks[index].name;
}

const char *doctor_state_name(enum doctor_state state)
{
	switch (state) {
	case DOCTOR_OK:
		return "ok";
	case DOCTOR_WARN:
		return "warn";
	case DOCTOR_FAIL:
		return "fail";
	case DOCTOR_NOT_ASKED:
		break;
	}
	return "not asked";
}
