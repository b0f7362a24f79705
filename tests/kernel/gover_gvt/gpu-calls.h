/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The functions of a GPU, which gpu.c of this folder and that of tests/kernel/i915 implement. Every
 * function can be called from process context at any time and does its own locking.
 */
#ifndef TESTS_KERNEL_GOVER_GVT_GPU_CALLS_H
#define TESTS_KERNEL_GOVER_GVT_GPU_CALLS_H

#include <linux/types.h>

struct gpu;
struct vgpu;
struct sched_discipline;

#define GPU_LOW_GM_MB 512 /* MB of aperture memory, which limits the number of vGPUs */

/* The state of a vGPU at one instant. */
struct vgpu_state {
	unsigned int cap_pct; /* the last cap that was written */
	unsigned int initial_cap_pct;
	unsigned int ceiling_pct;
	unsigned int load_pct;
	u64 lease_ns;
	u64 busy_ns;
	u64 sched_ns;
};

void gpu_init(struct gpu *gpu, const struct sched_discipline *discipline);
void gpu_fini(struct gpu *gpu); /* Call after the last gpu_remove(). */

/*
 * gpu_sharing() returns the word of the discipline in force: "hard" (caps are limits), "guarantee"
 * or "weight". gpu_set_sharing() changes the discipline at once. @word is "hard" or "guarantee",
 * with or without a newline; for other words it returns -EINVAL and changes nothing.
 */
const char *gpu_sharing(struct gpu *gpu);
int gpu_set_sharing(struct gpu *gpu, const char *word);

/* Returns how many more vGPUs of @low_gm_mb MB the free aperture memory allows. */
unsigned int gpu_room(struct gpu *gpu, unsigned int low_gm_mb);

/*
 * Adds @vgpu, which must be zeroed, with an idle tenant. Returns -ENOSPC if too little aperture
 * memory is free, or -ENOMEM.
 */
int gpu_add(struct gpu *gpu, struct vgpu *vgpu, unsigned int low_gm_mb, unsigned int cap_pct);
void gpu_remove(struct vgpu *vgpu); /* the caller frees @vgpu */

void gpu_read(struct vgpu *vgpu, struct vgpu_state *ret_state);

/*
 * Each returns 0, or -EINVAL if a percentage exceeds 100. After a cap was written,
 * gpu_set_initial_cap() returns -EPERM.
 */
int gpu_set_cap(struct vgpu *vgpu, unsigned int cap_pct);
int gpu_set_initial_cap(struct vgpu *vgpu, unsigned int cap_pct);
int gpu_set_ceiling(struct vgpu *vgpu, unsigned int ceiling_pct);
int gpu_set_load(struct vgpu *vgpu, unsigned int load_pct);
int gpu_set_lease(struct vgpu *vgpu, u32 lease_ms);

#endif
