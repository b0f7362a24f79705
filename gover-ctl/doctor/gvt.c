/* SPDX-License-Identifier: MIT */
/*
 * The check of GVT-g: whether vGPUs exist, and whether vGPUs and GPUs have the files of gover's
 * scheduler. The scheduler of a stock kernel does not create these files.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gover-ctl/doctor/gvt.h"
#include "gover-d/config/config.h"

#define BUS	  "/sys/bus/mdev/devices"
#define PARENTS	  "/sys/class/mdev_bus"
#define NAME_SIZE 64

/* The number of vGPUs and, for each problem, the first vGPU with this problem. */
struct vgpus {
	int n;
	char stock[NAME_SIZE]; /* first vGPU without the files of gover's scheduler */
	char missing[64];      /* names of the missing files */
	char no_lease[NAME_SIZE];
	char no_ceiling[NAME_SIZE];
	char refused[NAME_SIZE];
	const char *refused_file;
	int refused_errno;
};

/* The number of GPUs that can create vGPUs of GVT-g and, for each problem, the first such GPU. */
struct gpus {
	int n;
	char no_sharing[NAME_SIZE]; /* first GPU without the file gover_sharing */
	char refused[NAME_SIZE];
	int refused_errno;
};

static void note(char first[NAME_SIZE], const char *name)
{
	if (first[0] == '\0')
		snprintf(first, NAME_SIZE, "%.*s", NAME_SIZE - 1, name);
}

static int check_file(const struct doctor_input *input, const char *vgpu, const char *file,
		      int mode)
{
	char name[PATH_MAX], path[PATH_MAX];

	if (snprintf(name, sizeof(name), BUS "/%s/intel_vgpu%s%s", vgpu, file[0] ? "/" : "",
		     file) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	doctor_under_root(input, name, path);
	return access(path, mode) < 0 ? -errno : 0;
}

/* Notes @vgpu if this file of it exists and cannot be written. */
static void examine_access(const struct doctor_input *input, const char *vgpu, const char *file,
			   struct vgpus *vgpus)
{
	int r = check_file(input, vgpu, file, R_OK | W_OK);

	if (r == 0 || r == -ENOENT || vgpus->refused[0])
		return;
	note(vgpus->refused, vgpu);
	vgpus->refused_file = file;
	vgpus->refused_errno = -r;
}

static void examine_vgpu(const struct doctor_input *input, const char *vgpu, struct vgpus *vgpus)
{
	static const char *const needed[] = {"cap", "busy_time", "sched_time"};
	char missing[sizeof(vgpus->missing)] = "";

	if (check_file(input, vgpu, "", F_OK) < 0)
		return; /* a mediated device of another vendor */
	vgpus->n++;
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		size_t used = strlen(missing);

		if (check_file(input, vgpu, needed[i], F_OK) < 0)
			snprintf(missing + used, sizeof(missing) - used, "%s%s", used ? ", " : "",
				 needed[i]);
	}
	if (missing[0]) {
		if (!vgpus->stock[0])
			memcpy(vgpus->missing, missing, sizeof(missing));
		note(vgpus->stock, vgpu);
		return;
	}
	examine_access(input, vgpu, "cap", vgpus);
	examine_access(input, vgpu, "cap_ceiling", vgpus);
	if (check_file(input, vgpu, "cap_lease_ms", F_OK) < 0)
		note(vgpus->no_lease, vgpu);
	if (check_file(input, vgpu, "cap_ceiling", F_OK) < 0)
		note(vgpus->no_ceiling, vgpu);
}

static struct vgpus examine_vgpus(const struct doctor_input *input)
{
	struct vgpus vgpus = {.n = 0};
	const struct dirent *entry;
	char path[PATH_MAX];
	DIR *dir;

	doctor_under_root(input, BUS, path);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			examine_vgpu(input, entry->d_name, &vgpus);
	if (dir)
		closedir(dir);
	return vgpus;
}

static void examine_gpu(const struct doctor_input *input, const char *gpu, struct gpus *gpus)
{
	char name[PATH_MAX], path[PATH_MAX];

	snprintf(name, sizeof(name), PARENTS "/%.*s/mdev_supported_types", NAME_MAX, gpu);
	if (doctor_count(input, name, "i915-GVTg_") <= 0)
		return; /* a GPU of another vendor */
	gpus->n++;
	snprintf(name, sizeof(name), PARENTS "/%.*s/gover_sharing", NAME_MAX, gpu);
	doctor_under_root(input, name, path);
	if (access(path, R_OK | W_OK) == 0)
		return;
	if (errno == ENOENT) {
		note(gpus->no_sharing, gpu);
		return;
	}
	if (gpus->refused[0])
		return;
	gpus->refused_errno = errno;
	note(gpus->refused, gpu);
}

static struct gpus examine_gpus(const struct doctor_input *input)
{
	struct gpus gpus = {.n = 0};
	const struct dirent *entry;
	char path[PATH_MAX];
	DIR *dir;

	doctor_under_root(input, PARENTS, path);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			examine_gpu(input, entry->d_name, &gpus);
	if (dir)
		closedir(dir);
	return gpus;
}

/*
 * Returns how serious it is that a GPU has no guarantees: DOCTOR_FAIL if the configuration requests
 * guarantees, DOCTOR_OK if it has hard caps only.
 */
static enum doctor_state missing_guarantees(const struct doctor_input *input)
{
	const struct config *config = input->config;
	enum doctor_state state = config && config->n_gpus > 0 ? DOCTOR_OK : DOCTOR_WARN;

	for (int n = 0; config && n < config->n_gpus; n++) {
		const struct gpu_config *gpu = &config->gpus[n].gpu;

		if (strcmp(gpu->backend, "gvt") != 0 && strcmp(gpu->backend, "auto") != 0)
			continue;
		if (gpu_wants_guarantees(gpu))
			return DOCTOR_FAIL;
		if (gpu_chooses_sharing(gpu))
			state = DOCTOR_WARN;
	}
	return state;
}

/* Returns true if a problem with guarantees of this severity was found and reported. */
static bool find_sharing(const struct gpus *gpus, const struct vgpus *vgpus,
			 enum doctor_state found, struct doctor_finding *finding)
{
	if (gpus->refused[0])
		doctor_find(finding, found,
			    "run gover-ctl as root; to give gover-d.service access: udevadm "
			    "trigger --action=change --attr-match=gover_sharing",
			    "GPU %s: file gover_sharing cannot be written: %s", gpus->refused,
			    strerror(gpus->refused_errno));
	else if (gpus->no_sharing[0])
		doctor_find(finding, found, "update the kernel module with gover's scheduler",
			    "GPU %s has no file gover_sharing: caps can only be hard limits",
			    gpus->no_sharing);
	else if (vgpus->no_ceiling[0])
		doctor_find(finding, DOCTOR_WARN, "update the kernel module with gover's scheduler",
			    "vGPU %s has no file cap_ceiling: with sharing = guarantee, its "
			    "ceiling stays at its initial cap",
			    vgpus->no_ceiling);
	else
		return false;
	return true;
}

void doctor_gvt_check(const struct doctor_input *input, struct doctor_finding *finding)
{
	enum doctor_state missing = doctor_uses_backend(input, "gvt") ? DOCTOR_FAIL : DOCTOR_WARN;
	enum doctor_state sharing = missing_guarantees(input);
	const struct vgpus v = examine_vgpus(input);
	const struct gpus gpus = examine_gpus(input);

	if (v.n == 0 && gpus.n == 0)
		finding->state = DOCTOR_SKIPPED;
	else if (v.stock[0])
		doctor_find(finding, missing,
			    "the kernel has the stock scheduler of GVT-g, which has no caps: build "
			    "the kernel module with gover's scheduler",
			    "vGPU %s has no file %s: its cap cannot be read or changed", v.stock,
			    v.missing);
	else if (v.refused[0])
		doctor_find(finding, missing,
			    "run gover-ctl as root; to give gover-d.service access: udevadm "
			    "trigger --action=add --subsystem-match=mdev",
			    "vGPU %s: file %s cannot be written: %s", v.refused, v.refused_file,
			    strerror(v.refused_errno));
	else if (sharing == DOCTOR_FAIL && find_sharing(&gpus, &v, sharing, finding))
		return;
	else if (v.no_lease[0])
		doctor_find(
			finding, DOCTOR_WARN,
			"make sure that `gover-d --restore` runs if gover-d fails permanently",
			"vGPU %s has no file cap_lease_ms: if gover-d fails permanently, the last "
			"caps stay in force",
			v.no_lease);
	else if (sharing == DOCTOR_WARN && find_sharing(&gpus, &v, sharing, finding))
		return;
	else if (v.n == 0)
		doctor_find(finding, DOCTOR_OK, "",
			    "%d GPU%s with GVT-g, no vGPU yet: support for caps can be checked "
			    "only after a vGPU is created",
			    gpus.n, gpus.n == 1 ? "" : "s");
	else
		doctor_find(finding, DOCTOR_OK, "",
			    "%d vGPU%s of GVT-g: caps can be written and have leases", v.n,
			    v.n == 1 ? "" : "s");
}
