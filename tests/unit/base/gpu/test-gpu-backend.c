/* SPDX-License-Identifier: MIT */
/* The table of backends agrees with the functions of the backends. */
#include <string.h>

#include "base/cleanup.h"
#include "base/gpu/backend.h"
#include "gpu/gpu.h"
#include "tests/unit/unit.h"

TEST(a_row_describes_the_functions_of_its_backend)
{
	const struct gpu_ops *ops;

	for (size_t i = 0; (ops = gpu_at(i)); i++) {
		const struct gpu_backend *backend = gpu_backend_find(ops->name);

		assert_non_null(backend);
		assert_int_equal(backend->hard_only, !ops->sharing.set);
		assert_int_equal(backend->kind == GPU_KIND_SIMULATED, ops->in_memory);
	}
	assert_null(gpu_backend_find("auto"));
}

static bool is_device(const struct gpu_backend *backend)
{
	return backend->kind == GPU_KIND_DEVICE;
}

static bool is_simulated(const struct gpu_backend *backend)
{
	return backend->kind == GPU_KIND_SIMULATED;
}

static bool is_any(const struct gpu_backend *backend)
{
	return backend;
}

static bool is_none(const struct gpu_backend *backend)
{
	return !backend;
}

TEST(a_sentence_lists_the_backends_that_fit)
{
	static const struct {
		bool (*fits)(const struct gpu_backend *backend);
		const char *names;
	} rows[] = {
		{is_device, "gvt or xe"},
		{is_simulated, "sim"},
		{is_any, "gvt, xe, softgpu, lib, drm or sim"},
		{is_none, ""},
	};
	char names[GPU_BACKEND_LIST_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		gpu_backend_list(rows[i].fits, names);
		assert_string_equal(names, rows[i].names);
	}
}
