/* SPDX-License-Identifier: MIT */
/* Opens and closes the configured GPUs, and starts intel_gpu_top for Intel GPUs. */
#include <errno.h>
#include <stdio.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gover-d/core/gpus.h"
#include "gover-d/util/log.h"
#include "monitor/igt.h"

#define IGT_PATH "/usr/bin/intel_gpu_top"

static int open_gpu(struct host *host, const struct gpu_section *section, bool dry_run,
		    struct err *reterr)
{
	struct host_gpu *gpu = &host->gpus[host->n_gpus];
	bool automatic = strcmp(section->gpu.backend, "auto") == 0;
	const struct gpu_ops *ops =
		automatic ? gpu_auto(&section->gpu) : gpu_find(section->gpu.backend);
	struct err inner = {""};
	int r;

	if (!ops) {
		log_notice("GPU %s: backend auto found no vGPU scheduler on this host",
			   section->gpu.name);
		return 0;
	}
	gpu->config = section->gpu;
	gpu->config.dry_run = dry_run;
	r = ops->open(&gpu->config, &gpu->gpu, &inner);
	if (r < 0)
		return err_fail(reterr, -r, "GPU %s cannot be opened: %s", section->gpu.name,
				inner.msg);
	gpu->config = section->gpu;
	snprintf(gpu->config.backend, sizeof(gpu->config.backend), "%s", ops->name);
	if (r > 0)
		log_notice("GPU %s: %s", section->gpu.name, inner.msg);
	gpu->ops = ops;
	ops->traits(gpu->gpu, &gpu->traits);
	gpu->mode = GPU_MODE_ACT;
	gpu->selling = true;
	host->n_gpus++;
	return 0;
}

int gpus_open(struct host *host, const struct config *config, bool dry_run, struct err *reterr)
{
	for (int i = 0; i < config->n_gpus; i++) {
		int r = open_gpu(host, &config->gpus[i], dry_run, reterr);

		if (r < 0)
			return r;
	}
	return 0;
}

int gpus_open_some(struct host *host, const struct config *config)
{
	int failed = 0;

	for (int i = 0; i < config->n_gpus; i++) {
		struct err err = {""};

		if (open_gpu(host, &config->gpus[i], /* dry_run= */ false, &err) == 0)
			continue;
		log_error("%s", err.msg);
		failed++;
	}
	return failed;
}

void gpus_close(struct host *host)
{
	for (int i = host->n_gpus; i-- > 0;) {
		struct host_gpu *gpu = &host->gpus[i];

		while (gpu->vgpus) {
			struct vgpu *vgpu = gpu->vgpus;

			host_gpu_remove(gpu, vgpu);
			vgpu_free(gpu, vgpu);
		}
		gpu->igt = igt_free(gpu->igt);
		gpu->ops->close(gpu->gpu);
	}
	host->n_gpus = 0;
}

/* --- intel_gpu_top --- */

/* Returns the setting intel_gpu_top of this GPU: "auto", "off" or a path. */
static const char *igt_setting(const struct config *config, const struct host_gpu *gpu)
{
	for (int i = 0; i < config->n_gpus; i++)
		if (strcmp(config->gpus[i].gpu.name, gpu->config.name) == 0)
			return config->gpus[i].intel_gpu_top;
	return "off";
}

/* The perf counters are named "i915" or, on a host with several Intel GPUs, "i915_ADDRESS". */
static bool intel_gpu_present(void)
{
	glob_t found;
	bool present = glob("/sys/bus/event_source/devices/i915*", 0, NULL, &found) == 0;

	globfree(&found);
	return present;
}

/* The setting "auto" starts intel_gpu_top if the backend cannot read the physical utilisation. */
static bool igt_wanted(const struct host_gpu *gpu)
{
	if (gpu->ops->physical || !intel_gpu_present())
		return false;
	if (access(IGT_PATH, X_OK) == 0)
		return true;
	log_notice(
		"GPU %s: physical utilisation is unknown: %s is missing (package intel-gpu-tools)",
		gpu->config.name, IGT_PATH);
	return false;
}

/* Returns the device argument of intel_gpu_top; NULL: intel_gpu_top uses its default GPU. */
static const char *igt_device(const struct host_gpu *gpu, char text[PATH_MAX])
{
	const char *root = gpu->config.root[0] ? gpu->config.root : "/sys";
	char path[PATH_MAX], real[PATH_MAX];

	if (strcmp(gpu->ops->name, "gvt") != 0 || gpu->config.parent[0] == '\0')
		return NULL;
	snprintf(path, sizeof(path), "%s/class/mdev_bus/%s", root, gpu->config.parent);
	if (!realpath(path, real) || snprintf(text, PATH_MAX, "sys:%s", real) >= PATH_MAX)
		return NULL;
	return text;
}

static int open_igt(struct host_gpu *gpu, const struct config *config, struct err *reterr)
{
	const char *path = igt_setting(config, gpu);
	char device[PATH_MAX];

	if (strcmp(path, "auto") == 0)
		path = igt_wanted(gpu) ? IGT_PATH : "off";
	if (strcmp(path, "off") == 0)
		return 0;
	return igt_spawn(path, igt_device(gpu, device), config->period_ms, &gpu->igt, reterr);
}

int gpus_open_igt(struct host *host, const struct config *config, struct err *reterr)
{
	int r = 0;

	for (int i = 0; r >= 0 && i < host->n_gpus; i++)
		r = open_igt(&host->gpus[i], config, reterr);
	return r;
}

void gpus_dispatch_igt(struct host *host, struct instant now)
{
	struct err err = {""};

	for (int i = 0; i < host->n_gpus; i++)
		if (host->gpus[i].igt && igt_dispatch(host->gpus[i].igt, now.mono_ns, &err) < 0)
			log_warning("GPU %s: %s", host->gpus[i].config.name, err.msg);
}
