/* SPDX-License-Identifier: MIT */
/* The part of i915 GVT-g that the scheduling policy uses, for test-sched-policy* only. */
#ifndef TESTS_I915_GVT_H
#define TESTS_I915_GVT_H

#include "i915_drv.h"
#include "kernel/gover_sched_policy/sched_policy.h"

#define ENGINES 2

enum intel_engine_id { RCS0, BCS0 };
enum { INTEL_GVT_REQUEST_SCHED, INTEL_GVT_REQUEST_EVENT_SCHED };

struct intel_engine_cs {
	enum intel_engine_id id;
};

struct intel_runtime_pm {
	int held;
};

struct intel_gvt;

struct drm_i915_private {
	struct intel_runtime_pm runtime_pm;
	struct intel_gvt *gvt;
};

struct intel_gt {
	struct intel_engine_cs engine[ENGINES];
	struct drm_i915_private *i915;
};

struct intel_vgpu_workload {
	struct list_head list;
	struct intel_vgpu *vgpu;
	u64 length_ns;
	u64 end_ns;
};

struct intel_gvt_workload_scheduler {
	struct intel_vgpu *current_vgpu;
	struct intel_vgpu_workload *current_workload[ENGINES];
	bool need_reschedule;
	spinlock_t mmio_context_lock;
	struct intel_vgpu *engine_owner[ENGINES];
	wait_queue_head_t waitq[ENGINES];
	void *sched_data;
	const struct intel_gvt_sched_policy_ops *sched_ops;
};

struct intel_gvt {
	struct mutex sched_lock;
	struct intel_gt *gt;
	struct intel_gvt_workload_scheduler scheduler;
	struct intel_vgpu *idle_vgpu;
	unsigned long service_request;
	wait_queue_head_t service_thread_wq;
};

struct intel_vgpu {
	struct intel_gvt *gvt;
	int id;
	bool active;
	void *sched_data;
	struct {
		int weight;
	} sched_ctl;
	struct {
		struct list_head workload_q_head[ENGINES];
	} submission;
};

#define intel_vgpu_is_active(vgpu) ((vgpu)->active)
#define workload_q_head(vgpu, e)   (&(vgpu)->submission.workload_q_head[(e)->id])
#define for_each_engine(e, gt, i)  for ((i) = 0; (i) < ENGINES && ((e) = &(gt)->engine[(i)]); (i)++)
#define gvt_dbg_core(...)	   ((void)0)

static inline struct drm_i915_private *kdev_to_i915(struct device *dev)
{
	return dev_get_drvdata(dev);
}

static inline void intel_gvt_request_service(struct intel_gvt *gvt, int service)
{
	set_bit(service, &gvt->service_request);
	wake_up(&gvt->service_thread_wq);
}

static inline void intel_runtime_pm_get(struct intel_runtime_pm *rpm)
{
	might_sleep();
	rpm->held++;
}

static inline void intel_runtime_pm_put_unchecked(struct intel_runtime_pm *rpm)
{
	assert(rpm->held > 0);
	rpm->held--;
}

/*
 * Switches the registers of an engine. The device must be awake and the engine's registers locked.
 */
static inline void intel_gvt_switch_mmio(struct intel_vgpu *from, struct intel_vgpu *to,
					 const struct intel_engine_cs *engine)
{
	struct intel_gvt *gvt = from->gvt;

	(void)to;
	(void)engine;
	assert(gvt->gt->i915->runtime_pm.held > 0);
	lockdep_assert_held(&gvt->scheduler.mmio_context_lock);
}

#endif
