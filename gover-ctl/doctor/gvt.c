/* SPDX-License-Identifier: MIT */
/*
 * What GVT-g a host has, and whether its scheduler takes caps: a stock kernel's does not. Looks at
 * names and permissions only.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gover-ctl/doctor/gvt.h"

#define BUS	      "/sys/bus/mdev/devices"
#define PARENTS	      "/sys/class/mdev_bus"
#define NAME_MAX_SAID 64

/* Counts over all vGPUs; of each trouble the first vGPU that has it. */
struct vgpus {
	int n;
	char stock[NAME_MAX_SAID], lacks[64]; /* without these files of the scheduler */
	char no_lease[NAME_MAX_SAID];
	char refused[NAME_MAX_SAID];
	int refused_errno;
};

static void note(char first[NAME_MAX_SAID], const char *name)
{
	if (first[0] == '\0')
		snprintf(first, NAME_MAX_SAID, "%.*s", NAME_MAX_SAID - 1, name);
}

static int look_at(const struct doctor_look *look, const char *vgpu, const char *file, int mode)
{
	char name[PATH_MAX], path[PATH_MAX];

	if (snprintf(name, sizeof(name), BUS "/%s/intel_vgpu%s%s", vgpu, file[0] ? "/" : "",
		     file) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	doctor_under_root(look, name, path);
	return access(path, mode) < 0 ? -errno : 0;
}

static void look_at_vgpu(const struct doctor_look *look, const char *vgpu, struct vgpus *vgpus)
{
	static const char *const needed[] = {"cap", "busy_time", "sched_time"};
	char lacks[sizeof(vgpus->lacks)] = "";
	int r;

	if (look_at(look, vgpu, "", F_OK) < 0)
		return; /* another vendor's */
	vgpus->n++;
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		size_t used = strlen(lacks);

		if (look_at(look, vgpu, needed[i], F_OK) < 0)
			snprintf(lacks + used, sizeof(lacks) - used, "%s%s", used ? ", " : "",
				 needed[i]);
	}
	if (lacks[0]) {
		if (!vgpus->stock[0])
			memcpy(vgpus->lacks, lacks, sizeof(lacks));
		note(vgpus->stock, vgpu);
		return;
	}
	r = look_at(look, vgpu, "cap", R_OK | W_OK);
	if (r < 0) {
		note(vgpus->refused, vgpu);
		vgpus->refused_errno = -r;
	}
	if (look_at(look, vgpu, "cap_lease_ms", F_OK) < 0)
		note(vgpus->no_lease, vgpu);
}

static struct vgpus look_at_vgpus(const struct doctor_look *look)
{
	struct vgpus vgpus = {.n = 0};
	const struct dirent *entry;
	char path[PATH_MAX];
	DIR *dir;

	doctor_under_root(look, BUS, path);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			look_at_vgpu(look, entry->d_name, &vgpus);
	if (dir)
		closedir(dir);
	return vgpus;
}

/* GPUs with types of GVT-g. */
static int count_gpus(const struct doctor_look *look)
{
	char path[PATH_MAX], types[PATH_MAX];
	const struct dirent *entry;
	int n = 0;
	DIR *dir;

	doctor_under_root(look, PARENTS, path);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (snprintf(types, sizeof(types), PARENTS "/%s/mdev_supported_types",
			     entry->d_name) < (int)sizeof(types))
			n += doctor_count(look, types, "i915-GVTg_") > 0;
	if (dir)
		closedir(dir);
	return n;
}

void doctor_gvt_check(const struct doctor_look *look, struct doctor_finding *finding)
{
	enum doctor_state lacking = doctor_drives(look, "gvt") ? DOCTOR_FAIL : DOCTOR_WARN;
	const struct vgpus v = look_at_vgpus(look);
	int gpus = count_gpus(look);

	if (v.n == 0 && gpus == 0)
		finding->state = DOCTOR_NOT_ASKED;
	else if (v.n == 0)
		doctor_find(finding, DOCTOR_OK, "",
			    "%d GPU%s with GVT-g and no vGPU yet: with the first it shows whether "
			    "the kernel takes caps",
			    gpus, gpus == 1 ? "" : "s");
	else if (v.stock[0])
		doctor_find(finding, lacking,
			    "this is GVT-g as in stock kernels, which share by the weight of the "
			    "type: build the kernel module with gover's scheduler",
			    "vGPU %s has no file %s: its cap can be neither seen nor changed",
			    v.stock, v.lacks);
	else if (v.refused[0])
		doctor_find(finding, lacking,
			    "run this as root; for gover-d.service: udevadm trigger "
			    "--action=add --subsystem-match=mdev",
			    "the cap of vGPU %s cannot be written: %s", v.refused,
			    strerror(v.refused_errno));
	else if (v.no_lease[0])
		doctor_find(finding, DOCTOR_WARN,
			    "have `gover-d --restore` run where gover-d fails for good",
			    "vGPU %s has no file cap_lease_ms: where gover-d is gone for good, its "
			    "last caps stay",
			    v.no_lease);
	else
		doctor_find(finding, DOCTOR_OK, "",
			    "%d vGPU%s of GVT-g: caps can be written and are leased", v.n,
			    v.n == 1 ? "" : "s");
}
