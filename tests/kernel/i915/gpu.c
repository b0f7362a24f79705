/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A simulated GPU with the scheduling policy for i915. The threads call the policy and hold locks
 * as gvt/scheduler.c, gvt/vgpu.c and gvt/kvmgt.c of Linux 6.1 do. While an engine is busy, its
 * thread sleeps.
 */
#include <linux/delay.h>
#include <linux/kthread.h>

#include "gpu.h"

#define WORKLOAD_NS (4 * NSEC_PER_MSEC)
#define DEMAND_MS   100

/* --- guests --- */

/* like intel_vgpu_queue_workload() */
static void queue(struct vgpu *vgpu, unsigned int e, u64 length_ns)
{
	struct intel_gvt *gvt = vgpu->intel.gvt;
	struct intel_vgpu_workload *workload = kzalloc(sizeof(*workload), GFP_KERNEL);

	lockdep_assert_held(&vgpu->vgpu_lock);
	if (!workload)
		return;
	workload->vgpu = &vgpu->intel;
	workload->length_ns = length_ns;
	list_add_tail(&workload->list, &vgpu->intel.submission.workload_q_head[e]);
	if (e == RCS0)
		vgpu->n_queued++;
	intel_gvt_kick_schedule(gvt);
	wake_up(&gvt->scheduler.waitq[e]);
}

/*
 * A guest keeps two workloads in the queue of the first engine. With every eighth workload the
 * guest also submits a workload to the other engine.
 */
static void submit(struct vgpu *vgpu)
{
	u64 length_ns;

	while (vgpu->intel.active && vgpu->n_queued < 2 && vgpu->work_ns > 0) {
		length_ns = min_t(u64, vgpu->work_ns, WORKLOAD_NS);
		vgpu->work_ns -= length_ns;
		queue(vgpu, RCS0, length_ns);
		if (++vgpu->n_submitted % 8 == 0)
			queue(vgpu, BCS0, length_ns);
	}
}

static void add_demand(struct work_struct *work)
{
	struct gpu *gpu = container_of(to_delayed_work(work), struct gpu, demand);
	struct vgpu *vgpu;

	mutex_lock(&gpu->lock);
	list_for_each_entry(vgpu, &gpu->vgpus, entry) {
		mutex_lock(&vgpu->vgpu_lock);
		vgpu->work_ns += vgpu->load_pct * (DEMAND_MS * NSEC_PER_MSEC / 100);
		submit(vgpu);
		mutex_unlock(&vgpu->vgpu_lock);
	}
	if (!list_empty(&gpu->vgpus))
		schedule_delayed_work(&gpu->demand, msecs_to_jiffies(DEMAND_MS));
	mutex_unlock(&gpu->lock);
}

/* --- the driver's threads --- */

/* like pick_next_workload() */
static struct intel_vgpu_workload *take(struct engine *engine)
{
	struct intel_gvt *gvt = &engine->gpu->gvt;
	struct intel_gvt_workload_scheduler *scheduler = &gvt->scheduler;
	struct intel_vgpu_workload *workload = NULL;
	struct intel_vgpu *intel;
	struct list_head *head;

	mutex_lock(&gvt->sched_lock);
	intel = scheduler->current_vgpu;
	if (!intel || scheduler->need_reschedule || !intel->active)
		goto out;
	head = &intel->submission.workload_q_head[engine->id];
	if (list_empty(head))
		goto out;
	WARN_ON_ONCE(scheduler->current_workload[engine->id]);
	workload = list_first_entry(head, struct intel_vgpu_workload, list);
	scheduler->current_workload[engine->id] = workload;
	intel_vgpu_begin_workload(intel);
	atomic_inc(&container_of(intel, struct vgpu, intel)->running);
out:
	mutex_unlock(&gvt->sched_lock);
	return workload;
}

/* like complete_current_workload() */
static void complete_workload(struct engine *engine, struct intel_vgpu_workload *workload)
{
	struct intel_gvt *gvt = &engine->gpu->gvt;
	struct vgpu *vgpu = container_of(workload->vgpu, struct vgpu, intel);

	mutex_lock(&vgpu->vgpu_lock);
	mutex_lock(&gvt->sched_lock);
	gvt->scheduler.current_workload[engine->id] = NULL;
	list_del(&workload->list);
	if (engine->id == RCS0)
		vgpu->n_queued--;
	intel_vgpu_end_workload(&vgpu->intel);
	kfree(workload);
	atomic_dec(&vgpu->running);
	wake_up(&engine->gpu->completed);
	if (gvt->scheduler.need_reschedule)
		intel_gvt_request_service(gvt, INTEL_GVT_REQUEST_EVENT_SCHED);
	mutex_unlock(&gvt->sched_lock);
	submit(vgpu);
	mutex_unlock(&vgpu->vgpu_lock);
}

static void run(struct engine *engine, struct intel_vgpu_workload *workload)
{
	struct intel_gvt_workload_scheduler *scheduler = &engine->gpu->gvt.scheduler;
	unsigned long us = div_u64(workload->length_ns, NSEC_PER_USEC);

	spin_lock_bh(&scheduler->mmio_context_lock);
	scheduler->engine_owner[engine->id] = workload->vgpu;
	spin_unlock_bh(&scheduler->mmio_context_lock);
	usleep_range(us, us + 1);
	complete_workload(engine, workload);
}

/* like workload_thread() */
static int run_engine(void *arg)
{
	struct engine *engine = arg;
	wait_queue_head_t *waitq = &engine->gpu->gvt.scheduler.waitq[engine->id];
	struct intel_vgpu_workload *workload;
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	while (!kthread_should_stop()) {
		add_wait_queue(waitq, &wait);
		while (!(workload = take(engine)) && !kthread_should_stop())
			wait_woken(&wait, TASK_INTERRUPTIBLE, MAX_SCHEDULE_TIMEOUT);
		remove_wait_queue(waitq, &wait);
		if (workload)
			run(engine, workload);
	}
	return 0;
}

/* like gvt_service_thread() */
static int serve(void *arg)
{
	struct intel_gvt *gvt = arg;

	while (!kthread_should_stop()) {
		wait_event_interruptible(gvt->service_thread_wq,
					 kthread_should_stop() || READ_ONCE(gvt->service_request));
		if (!kthread_should_stop())
			intel_gvt_schedule(gvt);
	}
	return 0;
}

/* --- the device --- */

static void init_vgpu(struct intel_vgpu *intel, struct intel_gvt *gvt, int id, int weight)
{
	unsigned int e;

	intel->gvt = gvt;
	intel->id = id;
	intel->sched_ctl.weight = weight;
	for (e = 0; e < ENGINES; e++)
		INIT_LIST_HEAD(&intel->submission.workload_q_head[e]);
	WARN_ON(intel_vgpu_init_sched_policy(intel));
}

static void init_gvt(struct gpu *gpu)
{
	struct intel_gvt *gvt = &gpu->gvt;
	unsigned int e;

	mutex_init(&gvt->sched_lock);
	spin_lock_init(&gvt->scheduler.mmio_context_lock);
	init_waitqueue_head(&gvt->service_thread_wq);
	gvt->gt = &gpu->gt;
	gpu->gt.i915 = &gpu->i915;
	for (e = 0; e < ENGINES; e++) {
		gpu->gt.engine[e].id = e;
		init_waitqueue_head(&gvt->scheduler.waitq[e]);
		gpu->engines[e] = (struct engine){.gpu = gpu, .id = e};
		gpu->engines[e].thread = kthread_run(run_engine, &gpu->engines[e], "gvt:%u", e);
	}
	WARN_ON(intel_gvt_init_sched_policy(gvt));
	gpu->service = kthread_run(serve, gvt, "gvt_service_thread");
	init_vgpu(&gpu->idle, gvt, 0, 0);
	gvt->idle_vgpu = &gpu->idle;
}

void gpu_init(struct gpu *gpu, const struct sched_discipline *discipline)
{
	mutex_init(&gpu->lock);
	INIT_LIST_HEAD(&gpu->vgpus);
	ida_init(&gpu->ids);
	init_waitqueue_head(&gpu->completed);
	INIT_DELAYED_WORK(&gpu->demand, add_demand);
	gpu->low_gm_mb = GPU_LOW_GM_MB;
	WARN_ON(i915_discipline->set(discipline->name, NULL));
	init_gvt(gpu);
}

/* Same order as intel_gvt_clean_device(). */
void gpu_fini(struct gpu *gpu)
{
	unsigned int e;

	WARN_ON(!list_empty(&gpu->vgpus));
	cancel_delayed_work_sync(&gpu->demand);
	intel_vgpu_clean_sched_policy(&gpu->idle);
	gpu->gvt.idle_vgpu = NULL;
	kthread_stop(gpu->service);
	intel_gvt_clean_sched_policy(&gpu->gvt);
	for (e = 0; e < ENGINES; e++)
		kthread_stop(gpu->engines[e].thread);
	WARN_ON(gpu->gvt.scheduler.current_vgpu);
	ida_destroy(&gpu->ids);
}

unsigned int gpu_room(struct gpu *gpu, unsigned int low_gm_mb)
{
	return READ_ONCE(gpu->low_gm_mb) / low_gm_mb;
}

int gpu_add(struct gpu *gpu, struct vgpu *vgpu, unsigned int low_gm_mb, unsigned int cap_pct)
{
	int id = ida_alloc_min(&gpu->ids, 1, GFP_KERNEL);

	if (id < 0)
		return id;
	vgpu->id = id;
	vgpu->gpu = gpu;
	vgpu->low_gm_mb = low_gm_mb;
	mutex_init(&vgpu->vgpu_lock);
	mutex_lock(&gpu->lock);
	if (gpu->low_gm_mb < low_gm_mb) {
		mutex_unlock(&gpu->lock);
		ida_free(&gpu->ids, id);
		return -ENOSPC;
	}
	WRITE_ONCE(gpu->low_gm_mb, gpu->low_gm_mb - low_gm_mb);
	init_vgpu(&vgpu->intel, &gpu->gvt, id, DIV_ROUND_CLOSEST(cap_pct * 16, 100));
	vgpu->intel.active = true;
	intel_vgpu_start_schedule(&vgpu->intel);
	list_add_tail(&vgpu->entry, &gpu->vgpus);
	schedule_delayed_work(&gpu->demand, 0);
	mutex_unlock(&gpu->lock);
	return 0;
}

/*
 * Like intel_gvt_deactivate_vgpu() and intel_vgpu_clean_workloads(). After the first wait, an
 * engine can take one more workload. i915 frees this workload together with the queue. This
 * function waits until the workload ends. The policy sees no difference.
 */
static void stop(struct vgpu *vgpu)
{
	struct intel_vgpu_workload *workload, *next;
	unsigned int e;

	mutex_lock(&vgpu->vgpu_lock);
	vgpu->intel.active = false;
	mutex_unlock(&vgpu->vgpu_lock);
	wait_event(vgpu->gpu->completed, atomic_read(&vgpu->running) == 0);
	mutex_lock(&vgpu->vgpu_lock);
	intel_vgpu_stop_schedule(&vgpu->intel);
	mutex_unlock(&vgpu->vgpu_lock);
	wait_event(vgpu->gpu->completed, atomic_read(&vgpu->running) == 0);
	mutex_lock(&vgpu->vgpu_lock);
	for (e = 0; e < ENGINES; e++) {
		list_for_each_entry_safe(workload, next, &vgpu->intel.submission.workload_q_head[e],
					 list) {
			list_del(&workload->list);
			kfree(workload);
		}
	}
	mutex_unlock(&vgpu->vgpu_lock);
}

void gpu_remove(struct vgpu *vgpu)
{
	struct gpu *gpu = vgpu->gpu;

	mutex_lock(&gpu->lock);
	list_del(&vgpu->entry);
	WRITE_ONCE(gpu->low_gm_mb, gpu->low_gm_mb + vgpu->low_gm_mb);
	mutex_unlock(&gpu->lock);
	stop(vgpu);
	mutex_lock(&vgpu->vgpu_lock);
	intel_vgpu_clean_sched_policy(&vgpu->intel);
	mutex_unlock(&vgpu->vgpu_lock);
	ida_free(&gpu->ids, vgpu->id);
}

/* --- interface of the files --- */

const char *gpu_sharing(struct gpu *gpu)
{
	return intel_gvt_sharing(&gpu->gvt);
}

int gpu_set_sharing(struct gpu *gpu, const char *word)
{
	return intel_gvt_set_sharing(&gpu->gvt, word);
}

void gpu_read(struct vgpu *vgpu, struct vgpu_state *ret_state)
{
	struct intel_vgpu_sched_state sched;

	intel_vgpu_read_sched(&vgpu->intel, &sched);
	*ret_state = (struct vgpu_state){
		.cap_pct = sched.cap_pct,
		.initial_cap_pct = sched.initial_cap_pct,
		.ceiling_pct = sched.ceiling_pct,
		.load_pct = READ_ONCE(vgpu->load_pct),
		.lease_ns = sched.lease_ns,
		.busy_ns = sched.busy_ns,
		.sched_ns = sched.sched_ns,
	};
}

int gpu_set_cap(struct vgpu *vgpu, unsigned int cap_pct)
{
	return intel_vgpu_set_cap(&vgpu->intel, cap_pct);
}

int gpu_set_initial_cap(struct vgpu *vgpu, unsigned int cap_pct)
{
	return intel_vgpu_set_initial_cap(&vgpu->intel, cap_pct);
}

int gpu_set_ceiling(struct vgpu *vgpu, unsigned int ceiling_pct)
{
	return intel_vgpu_set_ceiling(&vgpu->intel, ceiling_pct);
}

int gpu_set_load(struct vgpu *vgpu, unsigned int load_pct)
{
	if (load_pct > 100)
		return -EINVAL;
	mutex_lock(&vgpu->vgpu_lock);
	vgpu->load_pct = load_pct;
	vgpu->work_ns = 0;
	mutex_unlock(&vgpu->vgpu_lock);
	return 0;
}

int gpu_set_lease(struct vgpu *vgpu, u32 lease_ms)
{
	intel_vgpu_set_lease(&vgpu->intel, lease_ms);
	return 0;
}
