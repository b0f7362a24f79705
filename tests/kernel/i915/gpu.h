/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Replaces the simulated GPU of tests/kernel/gover_gvt by a GPU that the policy of
 * kernel/gover_sched_policy schedules. Threads dispatch workloads like the threads of i915 GVT-g,
 * and sleep for the duration of each workload.
 */
#ifndef TESTS_KERNEL_I915_GPU_H
#define TESTS_KERNEL_I915_GPU_H

#include <linux/idr.h>
#include <linux/workqueue.h>

#include "gpu-calls.h"
#include "gvt.h"
#include "kernel/sched/sched.h"

struct engine {
	struct gpu *gpu;
	unsigned int id;
	struct task_struct *thread;
};

struct gpu {
	struct intel_gvt gvt;
	struct intel_gt gt;
	struct drm_i915_private i915;
	struct intel_vgpu idle;
	struct engine engines[ENGINES];
	struct task_struct *service;
	wait_queue_head_t completed;

	struct mutex lock; /* protects the fields below */
	struct list_head vgpus;
	struct ida ids;
	unsigned int low_gm_mb;	    /* free */
	struct delayed_work demand; /* submits the demand of all guests ten times a second */
};

struct vgpu {
	struct intel_vgpu intel;
	struct mutex vgpu_lock; /* protects the queues and the demand of the vGPU */
	struct gpu *gpu;
	struct list_head entry; /* gpu::vgpus */
	atomic_t running;	/* number of running workloads */
	int id;
	unsigned int low_gm_mb;
	unsigned int load_pct; /* demand of the guest in percent of the whole GPU */
	u64 work_ns;	       /* demand that is not submitted yet */
	unsigned int n_queued; /* number of queued workloads of the first engine */
	unsigned int n_submitted;
};

#endif
