/* SPDX-License-Identifier: MIT */
/* The table of GPU backends. A new backend has a folder, and one row here. */
#include <string.h>

#include "base/cleanup.h"
#include "gpu/gpu.h"

static const struct gpu_ops *const backends[] = {
	&gpu_gvt_ops, &gpu_xe_ops, &gpu_softgpu_ops, &gpu_lib_ops, &gpu_drm_ops, &gpu_sim_ops,
};

const struct gpu_ops *gpu_at(size_t index)
{
	return index < ARRAY_SIZE(backends) ? backends[index] : NULL;
}

const struct gpu_ops *gpu_find(const char *backend)
{
	for (size_t i = 0; i < ARRAY_SIZE(backends); i++)
		if (strcmp(backends[i]->name, backend) == 0)
			return backends[i];
	return NULL;
}

const struct gpu_ops *gpu_auto(const struct gpu_config *config)
{
	for (size_t i = 0; i < ARRAY_SIZE(backends); i++)
		if (backends[i]->present && backends[i]->present(config))
			return backends[i];
	return NULL;
}
