/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A GPU that is not there: its time passes as on a real one and the scheduler core shares it out
 * among vGPUs, whose tenants want a part of it each. Knows nothing of mdev and sysfs.
 *
 * Every function may be called from process context at any time; a GPU locks itself.
 */
#ifndef KERNEL_GOVER_GVT_GPU_H
#define KERNEL_GOVER_GVT_GPU_H

#include <linux/hrtimer.h>
#include <linux/idr.h>
#include <linux/list.h>
#include <linux/spinlock.h>

#include "sched/sched.h"

#define GPU_LOW_GM_MB 512 /* of aperture, which is what limits the number of vGPUs */

struct gpu {
	/*
	 * Protects all below, the vGPUs' fields among it. Taken in process context and by the
	 * timer, which runs as a soft interrupt; hence the _bh in the former.
	 */
	spinlock_t lock;
	struct sched sched;
	struct list_head vgpus;
	struct ida ids;
	struct hrtimer timer;
	bool ticking;		/* the timer runs, or is about to */
	u64 now_ns;		/* up to where the books are kept */
	unsigned int low_gm_mb; /* not given to any vGPU */
};

struct vgpu {
	struct sched_vgpu sched;
	struct gpu *gpu;
	struct list_head entry; /* gpu::vgpus */
	int id;
	unsigned int low_gm_mb;
	unsigned int load_pct; /* what its tenant wants of the whole GPU */
	u64 work_ns;	       /* of which this waits to be done */
};

/* What can be read of a vGPU, all at one instant. */
struct vgpu_state {
	unsigned int cap_pct; /* as set last */
	unsigned int initial_cap_pct;
	unsigned int load_pct;
	u64 lease_ns;
	u64 busy_ns;
	u64 sched_ns;
};

void gpu_init(struct gpu *gpu, const struct sched_discipline *discipline);
void gpu_fini(struct gpu *gpu); /* after its last vGPU has gone */

/* How many more vGPUs with @low_gm_mb fit. */
unsigned int gpu_room(struct gpu *gpu, unsigned int low_gm_mb);

/* Adds @vgpu, all zero, with an idle tenant. -ENOSPC: no room. -ENOMEM. */
int gpu_add(struct gpu *gpu, struct vgpu *vgpu, unsigned int low_gm_mb, unsigned int cap_pct);
void gpu_remove(struct vgpu *vgpu); /* the caller frees it */

void gpu_read(struct vgpu *vgpu, struct vgpu_state *ret_state);

/* -EINVAL: more than 100 %. -EPERM: the initial cap once a cap was set. */
int gpu_set_cap(struct vgpu *vgpu, unsigned int cap_pct);
int gpu_set_initial_cap(struct vgpu *vgpu, unsigned int cap_pct);
int gpu_set_load(struct vgpu *vgpu, unsigned int load_pct);
void gpu_set_lease(struct vgpu *vgpu, u32 lease_ms);

#endif
