/* SPDX-License-Identifier: MIT */
/* The functions of the backends of base/gpu/backend.h. */
#include <string.h>

#include "base/cleanup.h"
#include "gpu/gpu.h"

#define ROW(name, ...) &gpu_##name##_ops,
static const struct gpu_ops *const backends[] = {GPU_BACKENDS(ROW, ROW)};

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
