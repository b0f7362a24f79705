/* SPDX-License-Identifier: MIT */
/* The table of GPU families. A new family is one file and one row here. */
#include <string.h>

#include "base/cleanup.h"
#include "gpu/gpu.h"

static const struct gpu_ops *const families[] = {
	&gpu_gvt_ops,
	&gpu_softgpu_ops,
	&gpu_sim_ops,
};

const struct gpu_ops *gpu_at(size_t index)
{
	return index < ARRAY_SIZE(families) ? families[index] : NULL;
}

const struct gpu_ops *gpu_find(const char *backend)
{
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		if (strcmp(families[i]->name, backend) == 0)
			return families[i];
	return NULL;
}

const struct gpu_ops *gpu_auto(const struct gpu_config *config)
{
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		if (families[i]->present && families[i]->present(config))
			return families[i];
	return NULL;
}
