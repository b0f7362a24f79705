/* SPDX-License-Identifier: MIT */
/* Replaces gpu/gpu.c: the only backend is the one of the test. Its functions never block. */
#ifndef TESTS_UNIT_GOVER_D_FAKE_BACKEND_H
#define TESTS_UNIT_GOVER_D_FAKE_BACKEND_H

#include <stdio.h>
#include <string.h>

#include "gover-d/model/host.h"
#include "tests/unit/unit.h"

static struct gpu_ops fake_backend; /* copy of the functions of the test, with open and close */
static struct gpu *fake_backend_gpu;

const struct gpu_ops *gpu_at(size_t index)
{
	return index == 0 ? &fake_backend : NULL;
}

const struct gpu_ops *gpu_find(const char *backend)
{
	(void)backend;
	return &fake_backend;
}

const struct gpu_ops *gpu_auto(const struct gpu_config *config)
{
	(void)config;
	return NULL;
}

static int fake_backend_open(const struct gpu_config *config, struct gpu **ret_gpu,
			     struct err *reterr)
{
	(void)config, (void)reterr;
	*ret_gpu = fake_backend_gpu;
	return 0;
}

static void fake_backend_close(struct gpu *gpu)
{
	(void)gpu;
}

/* Opens the GPU @gpu of the test, which may not be NULL, as gpus_open() does. */
static inline void fake_backend_add(struct host_gpu *host_gpu, const struct gpu_ops *ops,
				    struct gpu *gpu)
{
	static struct gpu_io_patience patience;

	fake_backend = *ops;
	fake_backend.in_memory = true;
	fake_backend.open = fake_backend_open;
	fake_backend.close = fake_backend_close;
	fake_backend_gpu = gpu;
	snprintf(host_gpu->config.backend, sizeof(host_gpu->config.backend), "%s", ops->name);
	assert_int_equal(gpu_io_new(&host_gpu->config, &patience, &host_gpu->io, NULL), 0);
	assert_int_equal(gpu_io_wait_open(host_gpu->io, 0, NULL), 0);
	host_gpu->state = GPU_OPEN;
}

#endif
