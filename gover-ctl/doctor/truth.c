/* SPDX-License-Identifier: MIT */
/*
 * The checks of the sources of backend drm (monitor/truth/). A source that this host does not have
 * is reported only if the daemon uses backend drm.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "gover-ctl/doctor/truth.h"
#include "gover-ctl/installation.h"
#include "gover-d/config/config.h"

#define TEXT_MAX 65536
#define SOURCE	 "drm"

/* Drivers whose DRM files have the time or the cycles of each client. */
static const struct driver {
	const char *name;
	const char *switch_file; /* below the device; contains 0 if the driver does not count */
} drivers[] = {
	{"amdgpu", NULL},
	{"etnaviv", NULL},
	{"i915", NULL},
	{"msm", NULL},
	{"v3d", NULL},
	{"xe", NULL},
	{"panfrost", "profiling"},
	{"panthor", "profiling"},
};

/* The GPUs with a render node. */
struct gpus {
	int n, n_known;
	char known[256];     /* names of the drivers with statistics */
	char unknown[256];   /* names of the other drivers */
	char idle[PATH_MAX]; /* switch of the first driver that does not count; "": none */
};

static void add_name(char *names, size_t size, const char *name)
{
	size_t used = strlen(names);

	snprintf(names + used, size - used, "%s%s", used ? ", " : "", name);
}

static bool is_switched_off(const char *path)
{
	CLEANUP_FREE char *text = NULL;

	return file_read(path, 64, &text, NULL) == 0 && text[0] == '0';
}

static void examine_gpu(const char *device, struct gpus *gpus)
{
	char link[PATH_MAX], target[PATH_MAX];
	const char *name;

	if (snprintf(link, sizeof(link), "%s/driver", device) >= (int)sizeof(link) ||
	    !realpath(link, target))
		return;
	name = strrchr(target, '/') + 1;
	gpus->n++;
	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++) {
		if (strcmp(name, drivers[i].name) != 0)
			continue;
		gpus->n_known++;
		add_name(gpus->known, sizeof(gpus->known), name);
		if (drivers[i].switch_file && gpus->idle[0] == '\0' &&
		    snprintf(link, sizeof(link), "%s/%s", device, drivers[i].switch_file) <
			    (int)sizeof(link) &&
		    is_switched_off(link))
			strcpy(gpus->idle, link);
		return;
	}
	add_name(gpus->unknown, sizeof(gpus->unknown), name);
}

static void find_gpus(const struct doctor_input *input, struct gpus *gpus)
{
	char folder[PATH_MAX], path[PATH_MAX], device[PATH_MAX];
	const struct dirent *entry;
	DIR *dir;

	doctor_under_root(input, "/sys/class/drm", folder);
	dir = opendir(folder);
	while (dir && (entry = readdir(dir)))
		if (strncmp(entry->d_name, "renderD", 7) == 0 &&
		    snprintf(path, sizeof(path), "%s/%s/device", folder, entry->d_name) <
			    (int)sizeof(path) &&
		    realpath(path, device))
			examine_gpu(device, gpus);
	if (dir)
		closedir(dir);
}

/* Writes the names of the missing capabilities of the daemon. Returns false if none is missing, or
 * if that is not known. */
static bool misses_rights(const struct doctor_input *input, char missing[64])
{
	static const struct {
		unsigned long long bits; /* one of them is sufficient */
		const char *name;
	} needed[] = {
		{1ULL << 19, "CAP_SYS_PTRACE"},
		{1ULL << 1 | 1ULL << 2, "CAP_DAC_READ_SEARCH"},
	};
	char name[64], path[PATH_MAX];
	CLEANUP_FREE char *text = NULL;
	unsigned long long have;
	const char *line;

	missing[0] = '\0';
	if (!input->installation || !input->installation->pid)
		return false;
	snprintf(name, sizeof(name), "/proc/%ld/status", (long)input->installation->pid);
	doctor_under_root(input, name, path);
	if (file_read(path, TEXT_MAX, &text, NULL) < 0)
		return false;
	line = strstr(text, "\nCapEff:");
	if (!line || sscanf(line, "\nCapEff: %llx", &have) != 1)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (!(have & needed[i].bits))
			add_name(missing, 64, needed[i].name);
	return missing[0];
}

static void judge_rights(const struct doctor_input *input, const struct gpus *gpus,
			 struct doctor_finding *finding)
{
	char missing[64], text[384];

	if (!misses_rights(input, missing)) {
		doctor_find(finding, DOCTOR_OK, "",
			    "drivers that report the use of each process: %s", gpus->known);
		return;
	}
	snprintf(text, sizeof(text),
		 "gover-d cannot read the DRM files of other users' processes (missing: %s)",
		 missing);
	doctor_advise(finding, DOCTOR_FAIL, text,
		      "install the drop-in: sudo install -D -m 644 -t "
		      "/etc/systemd/system/gover-d.service.d /usr/share/gover/examples/drm.conf && "
		      "sudo systemctl daemon-reload && sudo systemctl restart gover-d");
}

/* True if a [gpu] section requires NVML. */
static bool requires_nvml(const struct doctor_input *input)
{
	for (int i = 0; input->config && i < input->config->n_gpus; i++) {
		const struct gpu_config *gpu = &input->config->gpus[i].gpu;

		if (strcmp(gpu->backend, SOURCE) == 0 && strcmp(gpu->truth, "nvml") == 0)
			return true;
	}
	return false;
}

static bool has_library(const struct doctor_input *input)
{
	static const char *const folders[] = {
		"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
		"/usr/lib/x86_64-linux-gnu/nvidia/current", "/usr/lib64", "/usr/lib"};
	char name[PATH_MAX], path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		snprintf(name, sizeof(name), "%s/libnvidia-ml.so.1", folders[i]);
		doctor_under_root(input, name, path);
		if (access(path, R_OK) == 0)
			return true;
	}
	return false;
}

static bool has_nvml(const struct doctor_input *input)
{
	return doctor_count(input, "/proc/driver/nvidia", "version") > 0 && has_library(input);
}

void doctor_fdinfo_check(const struct doctor_input *input, struct doctor_finding *finding)
{
	bool used = doctor_uses_backend(input, SOURCE);
	struct gpus gpus = {.n = 0};
	char advice[PATH_MAX + 32];

	find_gpus(input, &gpus);
	if (gpus.n == 0 && (!used || has_nvml(input)))
		finding->state = DOCTOR_SKIPPED;
	else if (gpus.n == 0)
		doctor_find(finding, DOCTOR_WARN,
			    "load the driver of the GPU; NVIDIA's driver needs truth = nvml",
			    "no GPU has a render node (/dev/dri/renderD*)");
	else if (gpus.n_known == 0)
		doctor_find(finding, DOCTOR_WARN,
			    "for NVIDIA's driver, set truth = nvml in the [gpu] section",
			    "the driver%s %s do%s not report the use of each process",
			    gpus.n == 1 ? "" : "s", gpus.unknown, gpus.n == 1 ? "es" : "");
	else if (gpus.idle[0]) {
		snprintf(advice, sizeof(advice), "echo 1 | sudo tee %s", gpus.idle);
		doctor_find(finding, DOCTOR_WARN, advice,
			    "a driver does not count the use of each process, to save power (%s)",
			    gpus.known);
	} else if (used) {
		judge_rights(input, &gpus, finding);
	} else {
		doctor_find(finding, DOCTOR_OK, "",
			    "drivers that report the use of each process: %s (backend drm can "
			    "observe containers)",
			    gpus.known);
	}
}

void doctor_nvml_check(const struct doctor_input *input, struct doctor_finding *finding)
{
	bool driver = doctor_count(input, "/proc/driver/nvidia", "version") > 0,
	     library = has_library(input), required = requires_nvml(input);
	enum doctor_state missing = required ? DOCTOR_FAIL : DOCTOR_WARN;

	if (driver && library)
		doctor_find(finding, DOCTOR_OK, "",
			    "NVIDIA's driver and its library NVML report the use of the GPU, and "
			    "estimate that of each process (backend drm, truth = nvml)");
	else if (driver)
		doctor_find(finding, missing, "apt install libnvidia-ml1",
			    "NVIDIA's driver is loaded, but libnvidia-ml.so.1 is missing");
	else if (required)
		doctor_find(finding, missing, "apt install nvidia-driver",
			    "truth = nvml: NVIDIA's driver is not loaded");
	else
		finding->state = DOCTOR_SKIPPED;
}

/* Returns true if a list of controllers contains "dmem". */
static bool has_dmem(const struct doctor_input *input, const char *file)
{
	CLEANUP_FREE char *text = NULL;
	char path[PATH_MAX];

	doctor_under_root(input, file, path);
	if (file_read(path, TEXT_MAX, &text, NULL) < 0)
		return false;
	for (char *rest = text, *word; (word = strsep(&rest, " \n"));)
		if (strcmp(word, "dmem") == 0)
			return true;
	return false;
}

void doctor_dmem_check(const struct doctor_input *input, struct doctor_finding *finding)
{
	bool used = doctor_uses_backend(input, SOURCE);

	if (!has_dmem(input, "/sys/fs/cgroup/cgroup.controllers")) {
		finding->state = DOCTOR_SKIPPED;
		if (used)
			doctor_find(finding, DOCTOR_OK, "",
				    "control groups do not count device memory (Linux 6.14 or "
				    "later, version 2): that of DRM files or NVML is used");
	} else if (!has_dmem(input, "/sys/fs/cgroup/cgroup.subtree_control")) {
		doctor_find(finding, used ? DOCTOR_WARN : DOCTOR_OK,
			    "echo +dmem | sudo tee /sys/fs/cgroup/cgroup.subtree_control "
			    "/sys/fs/cgroup/system.slice/cgroup.subtree_control",
			    "control groups can count device memory, but the controller dmem is "
			    "not enabled for services");
	} else {
		doctor_find(finding, DOCTOR_OK, "",
			    "control groups count device memory (dmem.current), and an operator "
			    "can limit it (dmem.max)");
	}
}
