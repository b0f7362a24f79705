/* SPDX-License-Identifier: MIT */
/*
 * The checks of GVT-g: the bus of mediated devices, whether vGPUs and GPUs have the files of
 * gover's scheduler, which a stock kernel does not create, and the counters of the GPU.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "gpu/diagnose.h"
#include "gpu/gpu.h"
#include "gpu/gvt/gvt.h"

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

static int check_file(const char *folder, const char *file, int mode)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", folder, file) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	return access(path, mode) < 0 ? -errno : 0;
}

/* Notes @vgpu if this file of it exists and cannot be written. */
static void examine_access(const char *folder, const char *vgpu, const char *file,
			   struct vgpus *vgpus)
{
	int r = check_file(folder, file, R_OK | W_OK);

	if (r == 0 || r == -ENOENT || vgpus->refused[0])
		return;
	note(vgpus->refused, vgpu);
	vgpus->refused_file = file;
	vgpus->refused_errno = -r;
}

/* @folder: intel_vgpu of a vGPU */
static void examine_vgpu(void *userdata, const char *folder)
{
	struct vgpus *vgpus = userdata;
	char missing[sizeof(vgpus->missing)] = "", parent[PATH_MAX];
	const char *vgpu;

	snprintf(parent, sizeof(parent), "%s", folder);
	*strrchr(parent, '/') = '\0';
	vgpu = strrchr(parent, '/') + 1;
	vgpus->n++;
	for (int i = 0; i < GVT_NEEDED; i++)
		if (check_file(folder, gvt_files[i], F_OK) < 0)
			text_append(missing, sizeof(missing), "%s%s", missing[0] ? ", " : "",
				    gvt_files[i]);
	if (missing[0]) {
		if (!vgpus->stock[0])
			memcpy(vgpus->missing, missing, sizeof(missing));
		note(vgpus->stock, vgpu);
		return;
	}
	examine_access(folder, vgpu, gvt_files[GVT_CAP], vgpus);
	examine_access(folder, vgpu, gvt_files[GVT_CEILING], vgpus);
	if (check_file(folder, gvt_files[GVT_LEASE], F_OK) < 0)
		note(vgpus->no_lease, vgpu);
	if (check_file(folder, gvt_files[GVT_CEILING], F_OK) < 0)
		note(vgpus->no_ceiling, vgpu);
}

/* @folder: a GPU on the bus of mediated devices */
static void examine_gpu(void *userdata, const char *folder)
{
	const char *gpu = strrchr(folder, '/') + 1;
	struct gpus *gpus = userdata;
	int r = check_file(folder, "gover_sharing", R_OK | W_OK);

	if (!gvt_is_parent(folder))
		return; /* a GPU of another vendor */
	gpus->n++;
	if (r == -ENOENT)
		note(gpus->no_sharing, gpu);
	if (r == 0 || r == -ENOENT || gpus->refused[0])
		return;
	gpus->refused_errno = -r;
	note(gpus->refused, gpu);
}

/*
 * Returns how serious it is that a GPU has no guarantees: FINDING_FAIL if the configuration
 * requests guarantees, FINDING_OK if it has hard caps only.
 */
static enum finding_state missing_guarantees(const struct gpu_host *host)
{
	enum finding_state state = host->configured && host->n_gpus > 0 ? FINDING_OK : FINDING_WARN;

	for (int n = 0; n < host->n_gpus; n++) {
		const struct gpu_config *gpu = host->gpus[n];

		if (strcmp(gpu->backend, "gvt") != 0 && strcmp(gpu->backend, "auto") != 0)
			continue;
		if (gpu_wants_guarantees(gpu))
			return FINDING_FAIL;
		if (gpu_chooses_sharing(gpu))
			state = FINDING_WARN;
	}
	return state;
}

/* Returns true if a problem with guarantees of this severity was found and reported. */
static bool find_sharing(const struct gpus *gpus, const struct vgpus *vgpus,
			 enum finding_state found, struct finding *finding)
{
	if (gpus->refused[0])
		finding_set(finding, found,
			    "run gover-ctl as root; to give gover-d.service access: udevadm "
			    "trigger --action=change --attr-match=gover_sharing",
			    "GPU %s: file gover_sharing cannot be written: %s", gpus->refused,
			    strerror(gpus->refused_errno));
	else if (gpus->no_sharing[0])
		finding_set(finding, found, "update the kernel module with gover's scheduler",
			    "GPU %s has no file gover_sharing: caps can only be hard limits",
			    gpus->no_sharing);
	else if (vgpus->no_ceiling[0])
		finding_set(finding, FINDING_WARN,
			    "update the kernel module with gover's scheduler",
			    "vGPU %s has no file cap_ceiling: with sharing = guarantee, its "
			    "ceiling stays at its initial cap",
			    vgpus->no_ceiling);
	else
		return false;
	return true;
}

static void check_gvt(const struct gpu_host *host, struct finding *finding)
{
	enum finding_state missing = diagnose_missing(host, "gvt");
	enum finding_state sharing = missing_guarantees(host);
	struct vgpus v = {.n = 0};
	struct gpus gpus = {.n = 0};

	diagnose_each(host, BUS "/*/intel_vgpu", examine_vgpu, &v);
	diagnose_each(host, PARENTS "/*", examine_gpu, &gpus);
	if (v.n == 0 && gpus.n == 0)
		finding->state = FINDING_SKIPPED;
	else if (v.stock[0])
		finding_set(finding, missing,
			    "the kernel has the stock scheduler of GVT-g, which has no caps: build "
			    "the kernel module with gover's scheduler",
			    "vGPU %s has no file %s: its cap cannot be read or changed", v.stock,
			    v.missing);
	else if (v.refused[0])
		finding_set(finding, missing,
			    "run gover-ctl as root; to give gover-d.service access: udevadm "
			    "trigger --action=add --subsystem-match=mdev",
			    "vGPU %s: file %s cannot be written: %s", v.refused, v.refused_file,
			    strerror(v.refused_errno));
	else if (sharing == FINDING_FAIL && find_sharing(&gpus, &v, sharing, finding))
		return;
	else if (v.no_lease[0])
		finding_set(
			finding, FINDING_WARN,
			"make sure that `gover-d --restore` runs if gover-d fails permanently",
			"vGPU %s has no file cap_lease_ms: if gover-d fails permanently, the last "
			"caps stay in force",
			v.no_lease);
	else if (sharing == FINDING_WARN && find_sharing(&gpus, &v, sharing, finding))
		return;
	else if (v.n == 0)
		finding_set(finding, FINDING_OK, "",
			    "%d GPU%s with GVT-g, no vGPU yet: support for caps can be checked "
			    "only after a vGPU is created",
			    gpus.n, gpus.n == 1 ? "" : "s");
	else
		finding_set(finding, FINDING_OK, "",
			    "%d vGPU%s of GVT-g: caps can be written and have leases", v.n,
			    v.n == 1 ? "" : "s");
}

static void check_mdev(const struct gpu_host *host, struct finding *finding)
{
	enum finding_state missing = diagnose_missing(host, "gvt");
	int vgpus = diagnose_each(host, BUS "/*", NULL, NULL);
	int parents = diagnose_each(host, PARENTS "/*", NULL, NULL);

	if (diagnose_each(host, BUS, NULL, NULL) == 0)
		finding_set(
			finding, missing,
			"for an Intel GPU from Broadwell to Comet Lake: boot with "
			"i915.enable_gvt=1 and load kvmgt; otherwise use xe (SR-IOV) or softgpu",
			"no mediated device bus (/sys/bus/mdev): this host has no GVT-g");
	else if (parents == 0)
		finding_set(finding, missing, "boot with i915.enable_gvt=1 and load kvmgt",
			    "the mediated device bus has no GPU that supports vGPUs");
	else
		finding_set(finding, FINDING_OK, "",
			    "%d GPU%s with mediated devices, %d existing vGPU%s", parents,
			    parents == 1 ? "" : "s", vgpus, vgpus == 1 ? "" : "s");
}

static void check_pmu(const struct gpu_host *host, struct finding *finding)
{
	if (diagnose_each(host, "/sys/bus/event_source/devices/i915*", NULL, NULL) == 0)
		finding_set(finding, FINDING_WARN, "",
			    "no i915 performance counters: the utilisation of a physical Intel GPU "
			    "cannot be measured");
	else if (file_find_command("intel_gpu_top", host->search_path) < 0)
		finding_set(finding, FINDING_WARN, "apt install intel-gpu-tools",
			    "i915 performance counters exist, but intel_gpu_top is not in PATH");
	else
		finding_set(finding, FINDING_OK, "",
			    "i915 performance counters and intel_gpu_top are available");
}

const struct gpu_check gpu_gvt_checks[] = {
	{"mdev", check_mdev}, {"gvt", check_gvt}, {"i915-pmu", check_pmu}, {NULL, NULL}};
