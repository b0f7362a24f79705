/* SPDX-License-Identifier: MIT */
/*
 * The check of GVT-g: whether vGPUs exist, and whether they have the files of gover's scheduler.
 * The scheduler of a stock kernel does not create these files.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gover-ctl/doctor/gvt.h"

#define BUS	  "/sys/bus/mdev/devices"
#define PARENTS	  "/sys/class/mdev_bus"
#define NAME_SIZE 64

/* The number of vGPUs and, for each problem, the first vGPU with this problem. */
struct vgpus {
	int n;
	char stock[NAME_SIZE]; /* first vGPU without the files of gover's scheduler */
	char missing[64];      /* names of the missing files */
	char no_lease[NAME_SIZE];
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

static void examine_vgpu(const struct doctor_input *input, const char *vgpu, struct vgpus *vgpus)
{
	static const char *const needed[] = {"cap", "busy_time", "sched_time"};
	char missing[sizeof(vgpus->missing)] = "";
	int r;

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
	r = check_file(input, vgpu, "cap", R_OK | W_OK);
	if (r < 0) {
		note(vgpus->refused, vgpu);
		vgpus->refused_errno = -r;
	}
	if (check_file(input, vgpu, "cap_lease_ms", F_OK) < 0)
		note(vgpus->no_lease, vgpu);
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

/* Counts the GPUs that can create vGPUs of GVT-g. */
static int count_gpus(const struct doctor_input *input)
{
	char path[PATH_MAX], types[PATH_MAX];
	const struct dirent *entry;
	int n = 0;
	DIR *dir;

	doctor_under_root(input, PARENTS, path);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (snprintf(types, sizeof(types), PARENTS "/%s/mdev_supported_types",
			     entry->d_name) < (int)sizeof(types))
			n += doctor_count(input, types, "i915-GVTg_") > 0;
	if (dir)
		closedir(dir);
	return n;
}

void doctor_gvt_check(const struct doctor_input *input, struct doctor_finding *finding)
{
	enum doctor_state missing = doctor_uses_backend(input, "gvt") ? DOCTOR_FAIL : DOCTOR_WARN;
	const struct vgpus v = examine_vgpus(input);
	int gpus = count_gpus(input);

	if (v.n == 0 && gpus == 0)
		finding->state = DOCTOR_SKIPPED;
	else if (v.n == 0)
		doctor_find(finding, DOCTOR_OK, "",
			    "%d GPU%s with GVT-g, no vGPU yet: support for caps can be checked "
			    "only after a vGPU is created",
			    gpus, gpus == 1 ? "" : "s");
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
			    "vGPU %s: its cap cannot be written: %s", v.refused,
			    strerror(v.refused_errno));
	else if (v.no_lease[0])
		doctor_find(
			finding, DOCTOR_WARN,
			"make sure that `gover-d --restore` runs if gover-d fails permanently",
			"vGPU %s has no file cap_lease_ms: if gover-d fails permanently, the last "
			"caps stay in force",
			v.no_lease);
	else
		doctor_find(finding, DOCTOR_OK, "",
			    "%d vGPU%s of GVT-g: caps can be written and have leases", v.n,
			    v.n == 1 ? "" : "s");
}
