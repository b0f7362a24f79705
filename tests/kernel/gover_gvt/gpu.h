/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A simulated GPU. The scheduler core shares the time of the GPU among vGPUs, each of which has a
 * tenant with a load. Independent of mdev and sysfs.
 */
#ifndef TESTS_KERNEL_GOVER_GVT_GPU_H
#define TESTS_KERNEL_GOVER_GVT_GPU_H

#include <linux/hrtimer.h>
#include <linux/idr.h>
#include <linux/list.h>
#include <linux/spinlock.h>

#include "gpu-calls.h"
#include "kernel/sched/sched.h"

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
#endif
