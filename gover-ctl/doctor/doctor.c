/* SPDX-License-Identifier: MIT */
/*
 * The checks of `doctor`. A missing requirement of a backend is a failure if the daemon uses this
 * backend, and a warning otherwise.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-ctl/doctor/doctor.h"
#include "gover-ctl/doctor/access.h"
#include "gover-ctl/doctor/cgroup.h"
#include "gover-ctl/doctor/gvt.h"
#include "gover-ctl/doctor/library.h"
#include "gover-ctl/doctor/service.h"
#include "gover-ctl/doctor/sriov.h"
#include "gover-ctl/doctor/truth.h"
#include "gover-ctl/field.h"
#include "gover-ctl/verb/launch.h"
#include "gover-ctl/writer.h"

#define S_PER_DAY 86400

static void check_ticks(const struct doctor_input *input, struct doctor_finding *finding)
{
	double ticks = field_number(input->host, "ticks"),
	       late = field_number(input->host, "late_ticks");

	if (!input->host)
		finding->state = DOCTOR_SKIPPED;
	else if (!field_true(input->host, "ready"))
		doctor_find(finding, DOCTOR_FAIL, "see the log: journalctl -u gover-d",
			    "the daemon has not completed its first tick");
	else if (late > ticks / 100)
		doctor_find(finding, DOCTOR_WARN,
			    "raise the CPU weight of gover-d (systemd: CPUWeight)",
			    "%.0f of %.0f ticks were late; late ticks make no decisions", late,
			    ticks);
	else
		doctor_find(finding, DOCTOR_OK, "", "%.0f ticks, %.0f late", ticks, late);
}

static void check_gpus(const struct doctor_input *input, struct doctor_finding *finding)
{
	const json_t *gpus = json_object_get(input->host, "gpus"), *gpu;
	char names[256] = "";
	size_t i;

	if (!input->host) {
		finding->state = DOCTOR_SKIPPED;
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
				    "busy time of GPU %s cannot be read: no decisions for this GPU",
				    field_text(gpu, "name"));
			return;
		}
	}
	if (json_array_size(gpus) == 0)
		doctor_find(finding, DOCTOR_WARN,
			    "set `backend` in a [gpu] section of gover.conf (softgpu "
			    "shares CPU cores, lib gives OpenCL programs turns, sim simulates a "
			    "GPU)",
			    "the daemon controls no GPU");
	else
		doctor_find(finding, DOCTOR_OK, "", "controlled GPUs: %s", names);
}

static void check_history(const struct doctor_input *input, struct doctor_finding *finding)
{
	const json_t *history = json_object_get(input->host, "history");
	const char *error = field_text(history, "error");

	if (!input->host)
		finding->state = DOCTOR_SKIPPED;
	else if (!field_true(history, "enabled"))
		doctor_find(finding, DOCTOR_FAIL,
			    "make state_dir of gover.conf writable and free disk space",
			    "history is not recorded%s%s", error[0] ? ": " : "", error);
	else if (error[0])
		doctor_find(finding, DOCTOR_FAIL,
			    "make state_dir of gover.conf writable and free disk space",
			    "history cannot be written: %s (%.0f rows lost)", error,
			    field_number(history, "dropped"));
	else if (json_array_size(json_object_get(history, "damaged")) > 0)
		doctor_find(
			finding, DOCTOR_WARN,
			"copy the files from state_dir of gover.conf if you need them "
			"(sqlite3 FILE .recover), then remove them",
			"damaged files of the history were set aside: %zu, the first is %s",
			json_array_size(json_object_get(history, "damaged")),
			json_string_value(json_array_get(json_object_get(history, "damaged"), 0)));
	else if (field_number(history, "clock_ahead_s") > S_PER_DAY)
		doctor_find(finding, DOCTOR_WARN,
			    "check the clock; old rows are removed again after two days",
			    "the clock is %.0f days ahead of the recorded time",
			    field_number(history, "clock_ahead_s") / S_PER_DAY);
	else if (field_number(history, "dropped") > 0)
		doctor_find(finding, DOCTOR_WARN, "",
			    "history is recorded, but %.0f rows were lost",
			    field_number(history, "dropped"));
	else
		doctor_find(finding, DOCTOR_OK, "", "history is recorded: %.0f rows written",
			    field_number(history, "written"));
}

/*
 * If no GPU has fps_source = bpf, the reply of the daemon contains no files and no error, and the
 * check is skipped.
 */
static void check_bpf(const struct doctor_input *input, struct doctor_finding *finding)
{
	const json_t *fps = json_object_get(input->host, "fps");
	double files = field_number(fps, "bpf_files"), refused = field_number(fps, "bpf_refused");
	const char *error = field_text(fps, "bpf_error");

	if (error[0])
		doctor_find(finding, DOCTOR_FAIL,
			    "fix this error, or set fps_source = preload in the [gpu] section",
			    "fps_source = bpf: %s", error);
	else if (refused > 0)
		doctor_find(finding, DOCTOR_WARN, "",
			    "the kernel counts frames by probes in %.0f library files; %.0f other "
			    "files were "
			    "rejected or exceed the limit",
			    files, refused);
	else if (files > 0)
		doctor_find(finding, DOCTOR_OK, "",
			    "the kernel counts frames by probes in %.0f library files", files);
	else
		finding->state = DOCTOR_SKIPPED;
}

static void check_xvfb(const struct doctor_input *input, struct doctor_finding *finding)
{
	if (launch_find_command("Xvfb", input->search_path) == 0)
		doctor_find(finding, DOCTOR_OK, "",
			    "Xvfb is installed: programs can render without a screen");
	else /* a production host needs no X server */
		finding->state = DOCTOR_SKIPPED;
}

static void check_mdev(const struct doctor_input *input, struct doctor_finding *finding)
{
	enum doctor_state missing = doctor_uses_backend(input, "gvt") ? DOCTOR_FAIL : DOCTOR_WARN;
	int vgpus = doctor_count(input, "/sys/bus/mdev/devices", "");
	int parents = doctor_count(input, "/sys/class/mdev_bus", "");

	if (vgpus < 0)
		doctor_find(
			finding, missing,
			"for an Intel GPU from Broadwell to Comet Lake: boot with "
			"i915.enable_gvt=1 and load kvmgt; otherwise use xe (SR-IOV) or softgpu",
			"no mediated device bus (/sys/bus/mdev): this host has no GVT-g");
	else if (parents <= 0)
		doctor_find(finding, missing, "boot with i915.enable_gvt=1 and load kvmgt",
			    "the mediated device bus has no GPU that supports vGPUs");
	else
		doctor_find(finding, DOCTOR_OK, "",
			    "%d GPU%s with mediated devices, %d existing vGPU%s", parents,
			    parents == 1 ? "" : "s", vgpus, vgpus == 1 ? "" : "s");
}

static void check_pmu(const struct doctor_input *input, struct doctor_finding *finding)
{
	int pmus = doctor_count(input, "/sys/bus/event_source/devices", "i915");

	if (pmus <= 0)
		doctor_find(finding, DOCTOR_WARN, "",
			    "no i915 performance counters: the utilisation of a physical Intel GPU "
			    "cannot be measured");
	else if (launch_find_command("intel_gpu_top", input->search_path) < 0)
		doctor_find(finding, DOCTOR_WARN, "apt install intel-gpu-tools",
			    "i915 performance counters exist, but intel_gpu_top is not in PATH");
	else
		doctor_find(finding, DOCTOR_OK, "",
			    "i915 performance counters and intel_gpu_top are available");
}

static void check_vsock(const struct doctor_input *input, struct doctor_finding *finding)
{
	if (doctor_count(input, "/dev", "vhost-vsock") > 0)
		doctor_find(finding, DOCTOR_OK, "",
			    "virtual machines can report frames over vsock");
	else
		doctor_find(
			finding, DOCTOR_WARN,
			"modprobe vhost_vsock, or use virtio-serial (ports of [fps])",
			"no /dev/vhost-vsock: virtual machines cannot report frames over vsock");
}

static const struct {
	const char *name;
	void (*check)(const struct doctor_input *input, struct doctor_finding *finding);
} checks[] = {
	{"daemon", doctor_service_check},
	{"access", doctor_access_check},
	{"ticks", check_ticks},
	{"gpus", check_gpus},
	{"history", check_history},
	{"cgroups", doctor_cgroup_check},
	{"library", doctor_library_check},
	{"library32", doctor_library32_check},
	{"vulkan", doctor_vulkan_check},
	{"layer", doctor_layer_check},
	{"xvfb", check_xvfb},
	{"mdev", check_mdev},
	{"gvt", doctor_gvt_check},
	{"i915-pmu", check_pmu},
	{"sriov", doctor_sriov_check},
	{"xe-pmu", doctor_sriov_pmu_check},
	{"fdinfo", doctor_fdinfo_check},
	{"nvml", doctor_nvml_check},
	{"dmem", doctor_dmem_check},
	{"vsock", check_vsock},
	{"fps-bpf", check_bpf},
};

const char *doctor_check(size_t index, const struct doctor_input *input,
			 struct doctor_finding *ret_finding)
{
	if (index >= ARRAY_SIZE(checks))
		return NULL;
	*ret_finding = (struct doctor_finding){.state = DOCTOR_OK};
	checks[index].check(input, ret_finding);
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
	case DOCTOR_SKIPPED:
		break;
	}
	return "skipped";
}
