/* SPDX-License-Identifier: MIT */
/* A start or a restore: the GPUs of the configuration are opened. Must never touch a vGPU. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gover-d/core/gpus.h"
#include "gover-d/util/log.h"

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
		gpu->ops->close(gpu->gpu);
	}
	host->n_gpus = 0;
}
