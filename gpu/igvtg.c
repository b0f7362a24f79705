/* SPDX-License-Identifier: MIT */
/*
 * Intel GVT-g as it was until 2016q4 (the Igvtg kernels 4.3): ROOT/kernel/vgt/vmN, and their use in
 * debugfs. A cap is given there when a vGPU is made, and neither read nor changed later, so such a
 * host can only be watched. Must never write to it.
 *
 * kernel/debug/vgt/show_qos_stat has a line for each VM: which portion of the time its vGPU had the
 * GPU and which part of that it used, in percent since the file was read last, by whomever: it is
 * read once for all at an instant, and another reader makes one sample wrong. Without it there is
 * no busy time.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"
#include "gpu/gpu.h"
#include "gpu/gvt-host.h"

#define STAT_MAX 8192 /* a line of 100 characters for each of 64 VMs, and room */

struct gpu {
	int dir;  /* ROOT/kernel/vgt */
	int stat; /* show_qos_stat; -1: not there */
	uint64_t read_at_ns;
	struct gpu_vgpu *attached;
};

struct gpu_vgpu {
	struct gpu_vgpu *next; /* gpu.attached */
	struct gpu *gpu;
	char id[ID_MAX]; /* vmN */
	int vm;
	bool busy_valid;
	double busy_ns, sched_ns; /* without a limit that is known, all time is allotted */
};

static bool tree_present(const struct gpu_config *config)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/kernel/vgt", gvt_host_root(config));
	return config->parent[0] == '\0' && access(path, F_OK) == 0;
}

static int open_gpu(const struct gpu_config *config, struct gpu **ret_gpu, struct err *reterr)
{
	const char *root = gvt_host_root(config);
	struct gpu *gpu = calloc(1, sizeof(*gpu));
	char path[PATH_MAX];

	if (!gpu)
		return err_fail(reterr, ENOMEM, "gpu %s: out of memory", config->name);
	snprintf(path, sizeof(path), "%s/kernel/vgt", root);
	gpu->dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (gpu->dir < 0) {
		free(gpu);
		return err_fail(reterr, EOPNOTSUPP, "gpu %s: %s: %s: no kernel of Igvtg 2016q4",
				config->name, path, strerror(errno));
	}
	snprintf(path, sizeof(path), "%s/kernel/debug/vgt/show_qos_stat", root);
	gpu->stat = open(path, O_RDONLY | O_CLOEXEC);
	*ret_gpu = gpu;
	return 0;
}

static void close_gpu(struct gpu *gpu)
{
	if (!gpu)
		return;
	cleanup_closep(&gpu->dir);
	cleanup_closep(&gpu->stat);
	free(gpu);
}

static void get_traits(const struct gpu *gpu, struct gpu_traits *ret_traits)
{
	(void)gpu;
	*ret_traits = (struct gpu_traits){
		.step_pct = 1,
		.floor_pct = 1,
		.min_interval_ms = 1500, /* a slice cycle, where its tick is 15 ms */
		.share = GPU_HARD_CAP,
		.read_only = true,
	};
}

/* N of "vmN"; vm0 is the host itself. -EINVAL. */
static int parse_vm(const char *name, int *ret_vm)
{
	int64_t vm;

	if (strncmp(name, "vm", 2) != 0 || parse_int(name + 2, 1, INT32_MAX, &vm) < 0)
		return -EINVAL;
	*ret_vm = (int)vm;
	return 0;
}

static int list_vgpus(struct gpu *gpu, gpu_found_fn found, void *userdata)
{
	int fd = openat(gpu->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), vm;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		cleanup_closep(&fd);
		return -errno;
	}
	while ((entry = readdir(dir)))
		if (parse_vm(entry->d_name, &vm) == 0)
			found(userdata, entry->d_name, 0);
	closedir(dir);
	return 0;
}

static int create_vgpu(struct gpu *gpu, const char *id, int cap_pct, struct err *reterr)
{
	(void)gpu, (void)cap_pct;
	return err_fail(reterr, EOPNOTSUPP, "vGPU %s: this host can only be watched", id);
}

static int destroy_vgpu(struct gpu *gpu, const char *id, struct err *reterr)
{
	(void)gpu;
	return err_fail(reterr, EOPNOTSUPP, "vGPU %s: this host can only be watched", id);
}

static int attach_vgpu(struct gpu *gpu, const char *id, uint64_t now_mono_ns,
		       struct gpu_vgpu **ret_vgpu, struct err *reterr)
{
	struct gpu_vgpu *vgpu;
	int vm;

	(void)now_mono_ns;
	if (parse_vm(id, &vm) < 0 || faccessat(gpu->dir, id, F_OK, 0) < 0)
		return err_fail(reterr, ENOENT, "vGPU %s does not exist", id);
	vgpu = calloc(1, sizeof(*vgpu));
	if (!vgpu)
		return err_fail(reterr, ENOMEM, "vGPU %s: out of memory", id);
	(void)id_copy(vgpu->id, id);
	vgpu->vm = vm;
	vgpu->gpu = gpu;
	vgpu->next = gpu->attached;
	*ret_vgpu = gpu->attached = vgpu;
	return 0;
}

static void detach_vgpu(struct gpu_vgpu *vgpu)
{
	struct gpu_vgpu **at;

	if (!vgpu)
		return;
	for (at = &vgpu->gpu->attached; *at != vgpu; at = &(*at)->next)
		;
	*at = vgpu->next;
	free(vgpu);
}

/* A line: "VM-%d Sched time: ... Busy time: ... vGPU portion: %d HW utilization: %d". Before the
 * portion the kernel leaves the blank out where no time has passed. */
static void take_line(struct gpu *gpu, const char *line, double passed_ns)
{
	struct gpu_vgpu *vgpu = gpu->attached;
	int vm, portion_pct, use_pct;

	if (sscanf(line, "VM-%d Sched time: %*u Busy time: %*u vGPU portion: %d HW utilization: %d",
		   &vm, &portion_pct, &use_pct) != 3)
		return;
	while (vgpu && vgpu->vm != vm)
		vgpu = vgpu->next;
	if (!vgpu || portion_pct < 0 || use_pct < 0)
		return;
	vgpu->busy_valid = true;
	vgpu->sched_ns += passed_ns;
	vgpu->busy_ns += passed_ns * portion_pct / 100 * use_pct / 100;
}

/* Once for all at an instant; the first time only begins the count. */
static void read_stat(struct gpu *gpu, uint64_t now_mono_ns)
{
	double passed_ns = gpu->read_at_ns ? (double)(now_mono_ns - gpu->read_at_ns) : 0;
	char text[STAT_MAX], *rest = text, *line;

	if (now_mono_ns == gpu->read_at_ns)
		return;
	gpu->read_at_ns = now_mono_ns;
	for (struct gpu_vgpu *vgpu = gpu->attached; vgpu; vgpu = vgpu->next)
		vgpu->busy_valid = false;
	if (gpu->stat < 0 || file_pread_text(gpu->stat, text, sizeof(text)) < 0)
		return;
	while ((line = strsep(&rest, "\n")))
		take_line(gpu, line + strspn(line, " \t"), passed_ns);
}

static int read_vgpu(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, struct gpu_reading *ret_reading)
{
	if (faccessat(vgpu->gpu->dir, vgpu->id, F_OK, 0) < 0)
		return -ENODEV;
	read_stat(vgpu->gpu, now_mono_ns);
	*ret_reading = (struct gpu_reading){
		.at_ns = now_mono_ns,
		.busy_valid = vgpu->busy_valid,
		.busy_ns = (uint64_t)vgpu->busy_ns,
		.sched_ns = (uint64_t)vgpu->sched_ns,
	};
	return 0;
}

static int write_cap(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, int cap_pct)
{
	(void)vgpu, (void)now_mono_ns, (void)cap_pct;
	return -EOPNOTSUPP;
}

/* What it was made with is told nowhere: it counts as no limit. */
static int read_cap(struct gpu_vgpu *vgpu, int *ret_cap_pct)
{
	(void)vgpu;
	*ret_cap_pct = 0;
	return 0;
}

const struct gpu_ops gpu_igvtg_ops = {
	.name = "igvtg",
	.summary = "Intel GVT-g of 2016q4 and before, which can only be watched",
	.present = tree_present,
	.open = open_gpu,
	.close = close_gpu,
	.traits = get_traits,
	.list = list_vgpus,
	.create = create_vgpu,
	.destroy = destroy_vgpu,
	.attach = attach_vgpu,
	.detach = detach_vgpu,
	.read = read_vgpu,
	.write_cap = write_cap,
	.read_cap = read_cap,
	.physical = NULL,
};
