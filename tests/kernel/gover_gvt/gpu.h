/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A simulated GPU. The scheduler core shares the time of the GPU among vGPUs, each of which has a
 * tenant with a load. Independent of mdev and sysfs.
 *
 * Every function can be called from process context at any time and does its own locking.
 */
#ifndef TESTS_KERNEL_GOVER_GVT_GPU_H
#define TESTS_KERNEL_GOVER_GVT_GPU_H

#include <linux/hrtimer.h>
#include <linux/idr.h>
#include <linux/list.h>
#include <linux/spinlock.h>

#include "sched/sched.h"

#define GPU_LOW_GM_MB 512 /* MB of aperture memory, which limits the number of vGPUs */

struct gpu {
	/*
	 * Protects all fields below and the fields of the vGPUs. Taken in process context and by
	 * the timer, which runs as a soft interrupt; process context therefore uses the _bh calls.
	 */
	spinlock_t lock;
	struct sched sched;
	struct list_head vgpus;
	struct ida ids;
	struct hrtimer timer;
	bool ticking;		/* true while the timer is started */
	u64 now_ns;		/* time up to which the GPU is simulated */
	unsigned int low_gm_mb; /* free */
};

struct vgpu {
	struct sched_vgpu sched;
	struct gpu *gpu;
	struct list_head entry; /* gpu::vgpus */
	int id;
	unsigned int low_gm_mb;
	unsigned int load_pct; /* demand, percent of the whole GPU */
	u64 work_ns;	       /* queued demand */
};

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
 * Each returns -EINVAL if the percentage exceeds 100. After a cap was written,
 * gpu_set_initial_cap() returns -EPERM.
 */
int gpu_set_cap(struct vgpu *vgpu, unsigned int cap_pct);
int gpu_set_initial_cap(struct vgpu *vgpu, unsigned int cap_pct);
int gpu_set_ceiling(struct vgpu *vgpu, unsigned int ceiling_pct);
int gpu_set_load(struct vgpu *vgpu, unsigned int load_pct);
void gpu_set_lease(struct vgpu *vgpu, u32 lease_ms);

#endif
