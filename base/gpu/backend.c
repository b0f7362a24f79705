/* SPDX-License-Identifier: MIT */
/* The table of the names of the GPU backends. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/gpu/backend.h"
#include "base/gpu/config.h"

#define ROW(word, ...) {.name = #word, __VA_ARGS__},
static const struct gpu_backend backends[] = {GPU_BACKENDS(ROW, ROW)};

#define FITS(word, ...)                                                            \
	_Static_assert(sizeof(#word) <= sizeof(((struct gpu_config *)0)->backend), \
		       "gpu_config.backend has room for " #word);
GPU_BACKENDS(FITS, FITS)

const struct gpu_backend *gpu_backend_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(backends); i++)
		if (strcmp(backends[i].name, name) == 0)
			return &backends[i];
	return NULL;
}

void gpu_backend_list(bool (*fits)(const struct gpu_backend *backend),
		      char ret_names[GPU_BACKEND_LIST_MAX])
{
	const struct gpu_backend *fitting[ARRAY_SIZE(backends)];
	size_t n = 0, used = 0;

	for (size_t i = 0; i < ARRAY_SIZE(backends); i++)
		if (fits(&backends[i]))
			fitting[n++] = &backends[i];
	ret_names[0] = '\0';
	for (size_t i = 0; i < n && used < GPU_BACKEND_LIST_MAX; i++) {
		const char *gap = i + 1 < n ? ", " : " or ";

		used += (size_t)snprintf(ret_names + used, GPU_BACKEND_LIST_MAX - used, "%s%s",
					 i > 0 ? gap : "", fitting[i]->name);
	}
}
