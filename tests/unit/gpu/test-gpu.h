/* SPDX-License-Identifier: MIT */
/* What tests of backends read from a vGPU. */
#ifndef TESTS_UNIT_GPU_TEST_GPU_H
#define TESTS_UNIT_GPU_TEST_GPU_H
#include "gpu/gpu.h"
#include "tests/unit/unit.h"

static inline void expect_cap(const struct gpu_ops *ops, struct gpu_vgpu *vgpu, int cap_pct)
{
	int is_pct;

	assert_int_equal(ops->read_cap(vgpu, &is_pct), 0);
	assert_int_equal(is_pct, cap_pct);
}

static inline struct gpu_reading reading_at(const struct gpu_ops *ops, struct gpu_vgpu *vgpu,
					    uint64_t now_mono_ns)
{
	struct gpu_reading reading;

	assert_int_equal(ops->read(vgpu, now_mono_ns, &reading), 0);
	return reading;
}

#endif
