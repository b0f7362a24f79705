/* SPDX-License-Identifier: MIT */
/* What tests of backends read from a vGPU and its control groups. */
#ifndef TESTS_UNIT_GPU_TEST_GPU_H
#define TESTS_UNIT_GPU_TEST_GPU_H
#include <unistd.h>

#include "base/linux/cgroup.h"
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

static inline bool group_exists(const struct cgroup_host *host, const char *group)
{
	char path[PATH_MAX];
	bool exists = false;

	for (int i = 0; i < host->n_mounts; i++)
		exists |= cgroup_path(host, i, group, "", path) == 0 && access(path, F_OK) == 0;
	return exists;
}

#endif
