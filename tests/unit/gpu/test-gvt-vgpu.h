/* SPDX-License-Identifier: MIT */
/* Makes the files of GVT-g hosts, GPUs and vGPUs in the temporary folder. */
#ifndef TESTS_UNIT_GPU_TEST_GVT_VGPU_H
#define TESTS_UNIT_GPU_TEST_GVT_VGPU_H

#include "tests/unit/gpu/test-gvt.h"
#include "tests/unit/unit.h"

#define A  "aaaaaaaa-0000-0000-0000-000000000001"
#define B  "bbbbbbbb-0000-0000-0000-000000000002"
#define P1 "0000:00:02.0"
#define P2 "0000:03:00.0"

static const struct gpu_ops *const ops = &gpu_gvt_ops;

/* Creates a GPU on the bus, with a type that shows its vendor. */
static inline void make_parent(const char *name, const char *type)
{
	make_dir("class/mdev_bus/%s/mdev_supported_types/%s", name, type);
	make_dir("bus/mdev/devices");
}

/* Creates a vGPU as in sysfs: a folder below the GPU, and a link to this folder on the bus. */
static inline void make_vgpu(const char *parent, const char *id, int cap_pct)
{
	char from[128], to[160];

	make_dir("class/mdev_bus/%s/%s/intel_vgpu", parent, id);
	write_file("1\n", "class/mdev_bus/%s/%s/intel_vgpu/vgpu_id", parent, id);
	write_file("1000000\n", "class/mdev_bus/%s/%s/intel_vgpu/busy_time", parent, id);
	write_file("2000000\n", "class/mdev_bus/%s/%s/intel_vgpu/sched_time", parent, id);
	write_file(cap_pct == 0 ? "0\n" : "30\n", "class/mdev_bus/%s/%s/intel_vgpu/cap", parent,
		   id);
	write_file("40\n", "class/mdev_bus/%s/%s/intel_vgpu/initial_cap", parent, id);
	write_file("0\n", "class/mdev_bus/%s/%s/intel_vgpu/cap_lease_ms", parent, id);
	snprintf(to, sizeof(to), "../../../class/mdev_bus/%s/%s", parent, id);
	snprintf(from, sizeof(from), "%s/bus/mdev/devices/%s", root, id);
	assert_int_equal(symlink(to, from), 0);
}

static inline struct gpu_vgpu *attach(const char *id)
{
	struct gpu_vgpu *vgpu;

	if (ops->attach(gpu, id, 0, &vgpu, &err) < 0)
		fail_msg("%s", err.msg);
	return vgpu;
}

/* Opens a GPU that has the vGPU A. */
static inline void open_one_vgpu(void)
{
	make_parent(P1, "i915-GVTg_V5_8");
	make_vgpu(P1, A, 30);
	open_gpu(ops);
}

static inline struct gpu_vgpu *open_vgpu(void)
{
	open_one_vgpu();
	return attach(A);
}

#endif
