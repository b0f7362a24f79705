/* SPDX-License-Identifier: MIT */
/*
 * The checks of the sources of backend drm. A source that this host does not have is reported only
 * if the daemon uses backend drm.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "gpu/diagnose.h"
#include "gpu/drm/device.h"
#include "gpu/drm/drm.h"
#include "gpu/gpu.h"

#define TEXT_MAX 65536
#define SOURCE	 "drm"
#define NVIDIA	 "/proc/driver/nvidia/version" /* exists if the driver is loaded */

/* The GPUs with a render node. */
struct gpus {
	int n, n_known;
	char known[256];     /* names of the drivers with statistics */
	char unknown[256];   /* names of the other drivers */
	char idle[PATH_MAX]; /* switch of the first driver that does not count; "": none */
};

static void add_name(char *names, size_t size, const char *name)
{
	text_append(names, size, "%s%s", names[0] ? ", " : "", name);
}

static void examine_gpu(void *userdata, const struct device *device)
{
	const struct drm_driver *driver = device_driver(device->driver);
	char silent[PATH_MAX];
	struct gpus *gpus = userdata;

	if (device->driver[0] == '\0')
		return;
	gpus->n++;
	if (!driver || !driver->counts) {
		add_name(gpus->unknown, sizeof(gpus->unknown), device->driver);
		return;
	}
	gpus->n_known++;
	add_name(gpus->known, sizeof(gpus->known), device->driver);
	if (gpus->idle[0] == '\0' && device_is_silent(device->path, silent))
		strcpy(gpus->idle, silent);
}

/* Writes the names of the missing capabilities of the daemon. Returns false if none is missing, or
 * if that is not known. */
static bool misses_rights(const struct gpu_host *host, char missing[64])
{
	static const struct {
		unsigned long long bits; /* one of them is sufficient */
		const char *name;
	} needed[] = {
		{1ULL << 19, "CAP_SYS_PTRACE"},
		{1ULL << 1 | 1ULL << 2, "CAP_DAC_READ_SEARCH"},
	};
	unsigned long long have;

	missing[0] = '\0';
	if (!diagnose_capabilities(host, &have))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (!(have & needed[i].bits))
			add_name(missing, 64, needed[i].name);
	return missing[0];
}

static void judge_rights(const struct gpu_host *host, const struct gpus *gpus,
			 struct finding *finding)
{
	char missing[64], text[384];

	if (!misses_rights(host, missing)) {
		finding_set(finding, FINDING_OK, "",
			    "drivers that report the use of each process: %s", gpus->known);
		return;
	}
	snprintf(text, sizeof(text),
		 "gover-d cannot read the DRM files of other users' processes (missing: %s)",
		 missing);
	finding_advise(
		finding, FINDING_FAIL, text,
		"install the drop-in: sudo install -D -m 644 -t "
		"/etc/systemd/system/gover-d.service.d /usr/share/gover/examples/drm.conf && "
		"sudo systemctl daemon-reload && sudo systemctl restart gover-d");
}

/* True if a [gpu] section requires NVML. */
static bool requires_nvml(const struct gpu_host *host)
{
	for (int i = 0; i < host->n_gpus; i++)
		if (strcmp(host->gpus[i]->backend, SOURCE) == 0 &&
		    strcmp(host->gpus[i]->truth, "nvml") == 0)
			return true;
	return false;
}

static bool has_library(const struct gpu_host *host)
{
	return diagnose_each(host, "/usr/lib*/libnvidia-ml.so.1", NULL, NULL) > 0 ||
	       diagnose_each(host, "/usr/lib/*/libnvidia-ml.so.1", NULL, NULL) > 0 ||
	       diagnose_each(host, "/usr/lib/*/nvidia/current/libnvidia-ml.so.1", NULL, NULL) > 0;
}

static bool has_nvml(const struct gpu_host *host)
{
	return diagnose_each(host, NVIDIA, NULL, NULL) > 0 && has_library(host);
}

static void check_fdinfo(const struct gpu_host *host, struct finding *finding)
{
	bool used = diagnose_uses(host, SOURCE);
	struct gpus gpus = {.n = 0};
	char advice[PATH_MAX + 32], sysfs[PATH_MAX];

	diagnose_path(host, "/sys", sysfs);
	device_each(sysfs, examine_gpu, &gpus);
	if (gpus.n == 0 && (!used || has_nvml(host)))
		finding->state = FINDING_SKIPPED;
	else if (gpus.n == 0)
		finding_set(finding, FINDING_WARN,
			    "load the driver of the GPU; NVIDIA's driver needs truth = nvml",
			    "no GPU has a render node (/dev/dri/renderD*)");
	else if (gpus.n_known == 0)
		finding_set(finding, FINDING_WARN,
			    "for NVIDIA's driver, set truth = nvml in the [gpu] section",
			    "the driver%s %s do%s not report the use of each process",
			    gpus.n == 1 ? "" : "s", gpus.unknown, gpus.n == 1 ? "es" : "");
	else if (gpus.idle[0]) {
		snprintf(advice, sizeof(advice), "echo 1 | sudo tee %s", gpus.idle);
		finding_set(finding, FINDING_WARN, advice,
			    "a driver does not count the use of each process, to save power (%s)",
			    gpus.known);
	} else if (used) {
		judge_rights(host, &gpus, finding);
	} else {
		finding_set(finding, FINDING_OK, "",
			    "drivers that report the use of each process: %s (backend drm can "
			    "observe containers)",
			    gpus.known);
	}
}

static void check_nvml(const struct gpu_host *host, struct finding *finding)
{
	bool driver = diagnose_each(host, NVIDIA, NULL, NULL) > 0, library = has_library(host),
	     required = requires_nvml(host);
	enum finding_state missing = required ? FINDING_FAIL : FINDING_WARN;

	if (driver && library)
		finding_set(finding, FINDING_OK, "",
			    "NVIDIA's driver and its library NVML report the use of the GPU, and "
			    "estimate that of each process (backend drm, truth = nvml)");
	else if (driver)
		finding_set(finding, missing, "apt install libnvidia-ml1",
			    "NVIDIA's driver is loaded, but libnvidia-ml.so.1 is missing");
	else if (required)
		finding_set(finding, missing, "apt install nvidia-driver",
			    "truth = nvml: NVIDIA's driver is not loaded");
	else
		finding->state = FINDING_SKIPPED;
}

/* Returns true if a list of controllers contains "dmem". */
static bool has_dmem(const struct gpu_host *host, const char *file)
{
	CLEANUP_FREE char *text = NULL;
	char path[PATH_MAX];

	diagnose_path(host, file, path);
	if (file_read(path, TEXT_MAX, &text, NULL) < 0)
		return false;
	for (char *rest = text, *word; (word = strsep(&rest, " \n"));)
		if (strcmp(word, "dmem") == 0)
			return true;
	return false;
}

static void check_dmem(const struct gpu_host *host, struct finding *finding)
{
	bool used = diagnose_uses(host, SOURCE);

	if (!has_dmem(host, "/sys/fs/cgroup/cgroup.controllers")) {
		finding->state = FINDING_SKIPPED;
		if (used)
			finding_set(finding, FINDING_OK, "",
				    "control groups do not count device memory (Linux 6.14 or "
				    "later, version 2): that of DRM files or NVML is used");
	} else if (!has_dmem(host, "/sys/fs/cgroup/cgroup.subtree_control")) {
		finding_set(finding, used ? FINDING_WARN : FINDING_OK,
			    "echo +dmem | sudo tee /sys/fs/cgroup/cgroup.subtree_control "
			    "/sys/fs/cgroup/system.slice/cgroup.subtree_control",
			    "control groups can count device memory, but the controller dmem is "
			    "not enabled for services");
	} else {
		finding_set(finding, FINDING_OK, "",
			    "control groups count device memory (dmem.current), and an operator "
			    "can limit it (dmem.max)");
	}
}

const struct gpu_check gpu_drm_checks[] = {
	{"fdinfo", check_fdinfo}, {"nvml", check_nvml}, {"dmem", check_dmem}, {NULL, NULL}};
