/* SPDX-License-Identifier: MIT */
/*
 * The checks of `doctor`. A missing requirement of a backend is a failure if the daemon uses this
 * backend, and a warning otherwise.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/terminal/field.h"
#include "base/terminal/writer.h"
#include "gover-ctl/doctor/doctor.h"
#include "gover-ctl/verb/launch.h"

#define S_PER_DAY 86400

static void check_ticks(const struct doctor_input *input, struct finding *finding)
{
	double ticks = field_number(input->host, "ticks"),
	       late = field_number(input->host, "late_ticks");

	if (!input->host)
		finding->state = FINDING_SKIPPED;
	else if (!field_true(input->host, "ready"))
		finding_set(finding, FINDING_FAIL, "see the log: journalctl -u gover-d",
			    "the daemon has not completed its first tick");
	else if (late > ticks / 100)
		finding_set(finding, FINDING_WARN,
			    "raise the CPU weight of gover-d (systemd: CPUWeight)",
			    "%.0f of %.0f ticks were late; late ticks make no decisions", late,
			    ticks);
	else
		finding_set(finding, FINDING_OK, "", "%.0f ticks, %.0f late", ticks, late);
}

static void find_silent(const json_t *gpu, struct finding *finding)
{
	const char *problem = field_text(gpu, "problem");
	char text[ERR_MSG_MAX];

	snprintf(text, sizeof(text), "busy time of GPU %s cannot be read", field_text(gpu, "name"));
	finding_set(finding, FINDING_FAIL, "see `gover-ctl alerts` and journalctl -u gover-d",
		    "%s: no decisions for this GPU", problem[0] ? problem : text);
}

static void check_gpus(const struct doctor_input *input, struct finding *finding)
{
	const json_t *gpus = json_object_get(input->host, "gpus"), *gpu;
	char names[256] = "";
	size_t i;

	if (!input->host) {
		finding->state = FINDING_SKIPPED;
		return;
	}
	json_array_foreach (gpus, i, gpu) {
		size_t used = strlen(names);

		snprintf(names + used, sizeof(names) - used, "%s%s (%s, %s)", used ? ", " : "",
			 field_text(gpu, "name"), field_text(gpu, "backend"),
			 field_text(gpu, "mode"));
		if (!field_true(gpu, "telemetry_valid")) {
			find_silent(gpu, finding);
			return;
		}
	}
	if (json_array_size(gpus) == 0)
		finding_set(finding, FINDING_WARN,
			    "set `backend` in a [gpu] section of gover.conf (softgpu "
			    "shares CPU cores, lib gives OpenCL programs turns, sim simulates a "
			    "GPU)",
			    "the daemon controls no GPU");
	else
		finding_set(finding, FINDING_OK, "", "controlled GPUs: %s", names);
}

static void check_history(const struct doctor_input *input, struct finding *finding)
{
	const json_t *history = json_object_get(input->host, "history");
	const char *error = field_text(history, "error");

	if (!input->host)
		finding->state = FINDING_SKIPPED;
	else if (!field_true(history, "enabled"))
		finding_set(finding, FINDING_FAIL,
			    "make state_dir of gover.conf writable and free disk space",
			    "history is not recorded%s%s", error[0] ? ": " : "", error);
	else if (error[0])
		finding_set(finding, FINDING_FAIL,
			    "make state_dir of gover.conf writable and free disk space",
			    "history cannot be written: %s (%.0f rows lost)", error,
			    field_number(history, "dropped"));
	else if (json_array_size(json_object_get(history, "damaged")) > 0)
		finding_set(
			finding, FINDING_WARN,
			"copy the files from state_dir of gover.conf if you need them "
			"(sqlite3 FILE .recover), then remove them",
			"damaged files of the history were set aside: %zu, the first is %s",
			json_array_size(json_object_get(history, "damaged")),
			json_string_value(json_array_get(json_object_get(history, "damaged"), 0)));
	else if (field_number(history, "clock_ahead_s") > S_PER_DAY)
		finding_set(finding, FINDING_WARN,
			    "check the clock; old rows are removed again after two days",
			    "the clock is %.0f days ahead of the recorded time",
			    field_number(history, "clock_ahead_s") / S_PER_DAY);
	else if (field_number(history, "dropped") > 0)
		finding_set(finding, FINDING_WARN, "",
			    "history is recorded, but %.0f rows were lost",
			    field_number(history, "dropped"));
	else
		finding_set(finding, FINDING_OK, "", "history is recorded: %.0f rows written",
			    field_number(history, "written"));
}

/*
 * If no GPU has fps_source = bpf, the reply of the daemon contains no files and no error, and the
 * check is skipped.
 */
static void check_bpf(const struct doctor_input *input, struct finding *finding)
{
	const json_t *fps = json_object_get(input->host, "fps");
	double files = field_number(fps, "bpf_files"), refused = field_number(fps, "bpf_refused");
	const char *error = field_text(fps, "bpf_error");

	if (error[0])
		finding_set(finding, FINDING_FAIL,
			    "fix this error, or set fps_source = preload in the [gpu] section",
			    "fps_source = bpf: %s", error);
	else if (refused > 0)
		finding_set(finding, FINDING_WARN, "",
			    "the kernel counts frames by probes in %.0f library files; %.0f other "
			    "files were "
			    "rejected or exceed the limit",
			    files, refused);
	else if (files > 0)
		finding_set(finding, FINDING_OK, "",
			    "the kernel counts frames by probes in %.0f library files", files);
	else
		finding->state = FINDING_SKIPPED;
}

static void check_xvfb(const struct doctor_input *input, struct finding *finding)
{
	if (file_find_command("Xvfb", input->search_path) == 0)
		finding_set(finding, FINDING_OK, "",
			    "Xvfb is installed: programs can render without a screen");
	else /* a production host needs no X server */
		finding->state = FINDING_SKIPPED;
}

/* Adds the counts of the last sample that are not 0. */
static void add_counts(const json_t *gpu, char *text, size_t size)
{
	static const struct {
		const char *key, *meaning;
	} rows[] = {{"outside", "outside the control groups of vGPUs"},
		    {"refused", "malformed"},
		    {"denied", "unreadable"},
		    {"no_times", "without times"},
		    {"ignored", "beyond the limit"}};
	const json_t *last = json_object_get(json_object_get(gpu, "source"), "last");
	size_t used = strlen(text);

	used += (size_t)snprintf(text + used, size - used, "%s%s: %s read %.0f clients",
				 used ? "; " : "", field_text(gpu, "name"),
				 field_text(gpu, "truth"), field_number(last, "clients"));
	for (size_t i = 0; i < ARRAY_SIZE(rows) && used < size; i++)
		if (field_number(last, rows[i].key) > 0)
			used += (size_t)snprintf(text + used, size - used, ", %.0f %s",
						 field_number(last, rows[i].key), rows[i].meaning);
}

static void check_sources(const struct doctor_input *input, struct finding *finding)
{
	const json_t *gpus = json_object_get(input->host, "gpus"), *gpu;
	const char *problem = "";
	char text[512] = "";
	size_t i;

	json_array_foreach (gpus, i, gpu) {
		if (!json_is_object(json_object_get(gpu, "source")) ||
		    strlen(text) + 1 >= sizeof(text))
			continue;
		add_counts(gpu, text, sizeof(text));
		if (!problem[0])
			problem = field_text(gpu, "problem");
	}
	if (!text[0])
		finding->state = FINDING_SKIPPED;
	else
		finding_set(finding, problem[0] ? FINDING_WARN : FINDING_OK, "", "%s%s%s", text,
			    problem[0] ? "; " : "", problem);
}

static void check_vsock(const struct doctor_input *input, struct finding *finding)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/dev/vhost-vsock", input->root);
	if (access(path, F_OK) == 0)
		finding_set(finding, FINDING_OK, "",
			    "virtual machines can report frames over vsock");
	else
		finding_set(
			finding, FINDING_WARN,
			"modprobe vhost_vsock, or use virtio-serial (ports of [fps])",
			"no /dev/vhost-vsock: virtual machines cannot report frames over vsock");
}

/* In the order of the output. */
static const struct {
	const char *name;
	/* NULL: a check of a backend, in `gover-d --diagnose` */
	void (*check)(const struct doctor_input *input, struct finding *finding);
} checks[] = {
	{"daemon", doctor_service_check},
	{"access", doctor_access_check},
	{"ticks", check_ticks},
	{"gpus", check_gpus},
	{"history", check_history},
	{"cgroups", NULL},
	{"library", doctor_library_check},
	{"library32", doctor_library32_check},
	{"vulkan", doctor_vulkan_check},
	{"layer", doctor_layer_check},
	{"xvfb", check_xvfb},
	{"mdev", NULL},
	{"gvt", NULL},
	{"i915-pmu", NULL},
	{"sriov", NULL},
	{"xe-pmu", NULL},
	{"fdinfo", NULL},
	{"nvml", NULL},
	{"dmem", NULL},
	{"sources", check_sources},
	{"vsock", check_vsock},
	{"fps-bpf", check_bpf},
};

const char *doctor_check(size_t index, const struct doctor_input *input,
			 struct finding *ret_finding)
{
	if (index >= ARRAY_SIZE(checks))
		return NULL;
	*ret_finding = (struct finding){.state = FINDING_SKIPPED};
	if (checks[index].check) {
		ret_finding->state = FINDING_OK;
		checks[index].check(input, ret_finding);
	}
	return checks[index].name;
}

bool doctor_uses_backend(const struct doctor_input *input, const char *backend)
{
	const json_t *backends = json_object_get(input->config, "backends"), *entry;
	size_t i;

	json_array_foreach (input->host ? NULL : backends, i, entry)
		if (strcmp(json_string_value(entry), backend) == 0)
			return true;
	json_array_foreach (json_object_get(input->host, "gpus"), i, entry)
		if (strcmp(field_text(entry, "backend"), backend) == 0)
			return true;
	return false;
}
