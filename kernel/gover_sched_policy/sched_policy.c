/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The scheduling policy of GVT-g: decides with the scheduler core (kernel/sched/sched.h) which vGPU
 * has the GPU. Replaces gvt/sched_policy.c. Accesses the hardware only when a vGPU stops, to
 * restore the host's registers.
 *
 * A workload cannot be preempted. When the turn of a vGPU ends, its workloads are no longer
 * dispatched (need_reschedule). The next vGPU gets the GPU when the workloads in flight have ended.
 * The overrun becomes a debt of the vGPU.
 *
 * The slice of a vGPU shrinks by its busy time: the time in which at least one workload of the vGPU
 * is in flight on any engine. No other vGPU can have the GPU during this time. Busy time never
 * exceeds real time. It may exceed the time for which the engines are busy, because it includes
 * shadowing and waiting for the host's own work.
 *
 * The policy does not poll. It decides when work arrives, when a vGPU has no work left, when the
 * last workload of a vGPU ends after its turn, and when a timer ends a turn, a slice or a slot.
 *
 * Decisions hold gvt->sched_lock, which is also held while waiting for an engine
 * (complete_current_workload()). The accounting has a spinlock of its own, so that readers of sysfs
 * never wait for the GPU. It is taken after gvt->sched_lock.
 */
#include "i915_drv.h"
#include "gvt.h"
#include "gover-compat.h"
#include "sched_policy.h"
#include "kernel/sched/sched.h"

#define TICK_NS	   NSEC_PER_MSEC       /* minimum time to the next timer */
#define STALL_NS   (10 * NSEC_PER_SEC) /* a delay longer than this counts as a single slot */
#define WEIGHT_MAX 16 /* weight of a vGPU that has the whole GPU (VGPU_MAX_WEIGHT in vgpu.c) */

struct gvt_sched_data {
	struct intel_gvt *gvt;
	struct hrtimer timer;
	spinlock_t lock; /* protects the fields below and struct vgpu_sched_data, except active */
	struct sched sched;
	struct list_head vgpus;
};

struct vgpu_sched_data {
	struct sched_vgpu sched;
	struct intel_vgpu *vgpu;
	struct list_head entry; /* entry in gvt_sched_data::vgpus */
	bool active;		/* the guest uses the GPU; protected by gvt->sched_lock */
	unsigned int in_flight; /* number of workloads in flight */
	u64 charged_to_ns;	/* busy time is charged up to here; valid while in_flight > 0 */
};

/* --- the initial discipline of a GPU, a parameter of kvmgt --- */

static const struct sched_discipline *chosen_discipline = &sched_disciplines[0];

static int set_discipline(const char *value, const struct kernel_param *param)
{
	const struct sched_discipline *discipline;
	char name[16];

	if (strscpy(name, value, sizeof(name)) < 0)
		return -EINVAL;
	discipline = sched_discipline_find(strim(name));
	if (!discipline)
		return -EINVAL;
	chosen_discipline = discipline;
	return 0;
}

static int get_discipline(char *buffer, const struct kernel_param *param)
{
	return scnprintf(buffer, PAGE_SIZE, "%s\n", chosen_discipline->name);
}

static const struct kernel_param_ops discipline_ops = {
	.set = set_discipline,
	.get = get_discipline,
};
module_param_cb(discipline, &discipline_ops, NULL, 0444);
MODULE_PARM_DESC(discipline, "how vGPUs share the GPU: cap, guarantee or weight (default cap)");

/* --- accounting --- */

static void charge(struct gvt_sched_data *data, u64 to_ns)
{
	struct vgpu_sched_data *v;

	list_for_each_entry(v, &data->vgpus, entry) {
		if (v->in_flight == 0 || v->charged_to_ns >= to_ns)
			continue;
		sched_account(&data->sched, &v->sched, to_ns - v->charged_to_ns);
		v->charged_to_ns = to_ns;
	}
}

/*
 * Charges busy time to all vGPUs up to now and returns the current time. If this call is late, it
 * first opens the missed slots, each with its nominal start time.
 */
static u64 catch_up(struct gvt_sched_data *data)
{
	u64 now_ns = ktime_get_ns();

	lockdep_assert_held(&data->lock);
	if (now_ns > data->sched.slot_end_ns + STALL_NS) {
		charge(data, now_ns);
		sched_open_slot(&data->sched, now_ns);
	}
	while (now_ns >= data->sched.slot_end_ns) {
		charge(data, data->sched.slot_end_ns);
		sched_open_slot(&data->sched, data->sched.slot_end_ns);
	}
	charge(data, now_ns);
	return now_ns;
}

void intel_vgpu_begin_workload(struct intel_vgpu *vgpu)
{
	struct gvt_sched_data *data = vgpu->gvt->scheduler.sched_data;
	struct vgpu_sched_data *v = vgpu->sched_data;

	lockdep_assert_held(&vgpu->gvt->sched_lock);
	spin_lock(&data->lock);
	if (v->in_flight++ == 0)
		v->charged_to_ns = ktime_get_ns();
	spin_unlock(&data->lock);
}

static bool has_work(const struct vgpu_sched_data *v)
{
	struct intel_engine_cs *engine;
	enum intel_engine_id id;

	if (!v->active || !intel_vgpu_is_active(v->vgpu))
		return false;
	for_each_engine(engine, v->vgpu->gvt->gt, id) {
		if (!list_empty(workload_q_head(v->vgpu, engine)))
			return true;
	}
	return false;
}

void intel_vgpu_end_workload(struct intel_vgpu *vgpu)
{
	struct gvt_sched_data *data = vgpu->gvt->scheduler.sched_data;
	struct vgpu_sched_data *v = vgpu->sched_data;

	lockdep_assert_held(&vgpu->gvt->sched_lock);
	spin_lock(&data->lock);
	catch_up(data);
	if (!WARN_ON_ONCE(v->in_flight == 0))
		v->in_flight--;
	spin_unlock(&data->lock);
	/* A vGPU with more work on any engine keeps its turn, so no new decision is needed. */
	if (!has_work(v))
		intel_gvt_kick_schedule(vgpu->gvt);
}

void intel_vgpu_read_sched(struct intel_vgpu *vgpu, struct intel_vgpu_sched_state *ret_state)
{
	struct gvt_sched_data *data = vgpu->gvt->scheduler.sched_data;
	struct vgpu_sched_data *v = vgpu->sched_data;
	u64 now_ns;

	spin_lock(&data->lock);
	now_ns = catch_up(data);
	*ret_state = (struct intel_vgpu_sched_state){
		.cap_pct = v->sched.next_cap_pct,
		.initial_cap_pct = v->sched.initial_cap_pct,
		.ceiling_pct = v->sched.next_ceiling_pct,
		.lease_ns = v->sched.lease_ns,
		.busy_ns = v->sched.busy_ns,
		.sched_ns = sched_allotted_ns(&v->sched, now_ns),
	};
	spin_unlock(&data->lock);
}

int intel_vgpu_set_cap(struct intel_vgpu *vgpu, u32 cap_pct)
{
	struct gvt_sched_data *data = vgpu->gvt->scheduler.sched_data;
	struct vgpu_sched_data *v = vgpu->sched_data;

	if (cap_pct > 100)
		return -EINVAL;
	spin_lock(&data->lock);
	sched_set_cap(&v->sched, cap_pct, catch_up(data));
	spin_unlock(&data->lock);
	return 0;
}

int intel_vgpu_set_initial_cap(struct intel_vgpu *vgpu, u32 cap_pct)
{
	struct gvt_sched_data *data = vgpu->gvt->scheduler.sched_data;
	struct vgpu_sched_data *v = vgpu->sched_data;
	int r;

	if (cap_pct > 100)
		return -EINVAL;
	spin_lock(&data->lock);
	catch_up(data);
	r = sched_set_initial_cap(&v->sched, cap_pct) < 0 ? -EPERM : 0;
	spin_unlock(&data->lock);
	return r;
}

int intel_vgpu_set_ceiling(struct intel_vgpu *vgpu, u32 ceiling_pct)
{
	struct gvt_sched_data *data = vgpu->gvt->scheduler.sched_data;
	struct vgpu_sched_data *v = vgpu->sched_data;

	if (ceiling_pct > 100)
		return -EINVAL;
	spin_lock(&data->lock);
	catch_up(data);
	sched_set_ceiling(&v->sched, ceiling_pct);
	spin_unlock(&data->lock);
	return 0;
}

int intel_vgpu_set_lease(struct intel_vgpu *vgpu, u32 lease_ms)
{
	struct gvt_sched_data *data = vgpu->gvt->scheduler.sched_data;
	struct vgpu_sched_data *v = vgpu->sched_data;

	spin_lock(&data->lock);
	sched_set_lease(&v->sched, (u64)lease_ms * NSEC_PER_MSEC, catch_up(data));
	spin_unlock(&data->lock);
	return 0;
}

/* --- the discipline of a GPU --- */

const char *intel_gvt_sharing(struct intel_gvt *gvt)
{
	struct gvt_sched_data *data = gvt->scheduler.sched_data;
	const char *word;

	spin_lock(&data->lock);
	word = sched_sharing_name(data->sched.discipline);
	spin_unlock(&data->lock);
	return word;
}

/* Time up to now is charged in the previous discipline, also of workloads in flight. */
int intel_gvt_set_sharing(struct intel_gvt *gvt, const char *word)
{
	struct gvt_sched_data *data = gvt->scheduler.sched_data;
	const struct sched_discipline *discipline = sched_sharing_find(word);

	if (!discipline)
		return -EINVAL;
	spin_lock(&data->lock);
	catch_up(data);
	sched_set_discipline(&data->sched, discipline);
	spin_unlock(&data->lock);
	intel_gvt_kick_schedule(gvt);
	return 0;
}

/* --- decision --- */

/*
 * A vGPU without work keeps the GPU while no other vGPU needs the GPU, so that its next workload is
 * dispatched immediately. The slice of the vGPU does not shrink during this time.
 */
static bool may_stay(const struct intel_vgpu *vgpu)
{
	const struct vgpu_sched_data *v = vgpu ? vgpu->sched_data : NULL;

	return v && v->active && v->sched.limit_ns > 0;
}

/* Returns the vGPU that gets the GPU now. Sets *ret_until_ns to the time of the next decision. */
static struct intel_vgpu *choose(struct intel_gvt *gvt, u64 *ret_until_ns)
{
	struct gvt_sched_data *data = gvt->scheduler.sched_data;
	struct intel_vgpu *chosen = gvt->idle_vgpu;
	struct sched_vgpu *picked;
	struct vgpu_sched_data *v;
	u64 now_ns, run_ns;

	spin_lock(&data->lock);
	now_ns = catch_up(data);
	list_for_each_entry(v, &data->vgpus, entry)
		sched_set_pending(&data->sched, &v->sched, has_work(v));
	*ret_until_ns = data->sched.slot_end_ns;
	picked = sched_pick(&data->sched, &run_ns);
	if (picked) {
		chosen = container_of(picked, struct vgpu_sched_data, sched)->vgpu;
		run_ns = max_t(u64, run_ns, TICK_NS);
		*ret_until_ns = min_t(u64, *ret_until_ns, now_ns + run_ns);
	} else if (may_stay(gvt->scheduler.current_vgpu)) {
		chosen = gvt->scheduler.current_vgpu;
	}
	spin_unlock(&data->lock);
	return chosen;
}

static bool is_in_flight(struct intel_gvt *gvt)
{
	struct intel_engine_cs *engine;
	enum intel_engine_id id;

	for_each_engine(engine, gvt->gt, id) {
		if (gvt->scheduler.current_workload[engine->id])
			return true;
	}
	return false;
}

/*
 * Gives the GPU to @vgpu. While a workload is in flight, only sets need_reschedule, which requests
 * a new decision when the workload ends.
 */
static void assign_gpu(struct intel_gvt *gvt, struct intel_vgpu *vgpu)
{
	struct intel_gvt_workload_scheduler *scheduler = &gvt->scheduler;
	struct intel_engine_cs *engine;
	enum intel_engine_id id;

	if (vgpu == scheduler->current_vgpu && !scheduler->need_reschedule)
		return;
	if (vgpu != scheduler->current_vgpu) {
		scheduler->need_reschedule = true;
		if (is_in_flight(gvt))
			return;
		scheduler->current_vgpu = vgpu;
	}
	scheduler->need_reschedule = false;
	for_each_engine(engine, gvt->gt, id)
		wake_up(&scheduler->waitq[engine->id]);
}

void intel_gvt_schedule(struct intel_gvt *gvt)
{
	struct gvt_sched_data *data = gvt->scheduler.sched_data;
	u64 until_ns;

	clear_bit(INTEL_GVT_REQUEST_SCHED, &gvt->service_request);
	clear_bit(INTEL_GVT_REQUEST_EVENT_SCHED, &gvt->service_request);
	/*
	 * Clear the requests before the decision, so that a change during the decision requests
	 * another decision.
	 */
	smp_mb__after_atomic();

	mutex_lock(&gvt->sched_lock);
	if (!list_empty(&data->vgpus)) {
		assign_gpu(gvt, choose(gvt, &until_ns));
		hrtimer_start(&data->timer, ns_to_ktime(until_ns), HRTIMER_MODE_ABS);
	}
	mutex_unlock(&gvt->sched_lock);
}

void intel_gvt_kick_schedule(struct intel_gvt *gvt)
{
	intel_gvt_request_service(gvt, INTEL_GVT_REQUEST_EVENT_SCHED);
}

static enum hrtimer_restart slice_timer_expired(struct hrtimer *timer)
{
	struct gvt_sched_data *data = container_of(timer, struct gvt_sched_data, timer);

	intel_gvt_request_service(data->gvt, INTEL_GVT_REQUEST_SCHED);
	return HRTIMER_NORESTART;
}

/* --- creation and removal --- */

static int gover_init(struct intel_gvt *gvt)
{
	struct gvt_sched_data *data = kzalloc(sizeof(*data), GFP_KERNEL);

	if (!data)
		return -ENOMEM;
	data->gvt = gvt;
	hrtimer_setup(&data->timer, slice_timer_expired, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	spin_lock_init(&data->lock);
	INIT_LIST_HEAD(&data->vgpus);
	sched_start(&data->sched, chosen_discipline, ktime_get_ns());
	gvt->scheduler.sched_data = data;
	return 0;
}

static void gover_clean(struct intel_gvt *gvt)
{
	struct gvt_sched_data *data = gvt->scheduler.sched_data;

	hrtimer_cancel(&data->timer);
	kfree(data);
	gvt->scheduler.sched_data = NULL;
}

/*
 * The cap, lease and counters of a vGPU exist from its creation on, even without a guest, and
 * survive resets by the guest. The initial cap is the share of the GPU that the type represents.
 */
static int gover_init_vgpu(struct intel_vgpu *vgpu)
{
	struct gvt_sched_data *data = vgpu->gvt->scheduler.sched_data;
	struct vgpu_sched_data *v;

	if (vgpu->id == 0) /* the idle vGPU of GVT-g is not scheduled */
		return 0;
	v = kzalloc(sizeof(*v), GFP_KERNEL);
	if (!v)
		return -ENOMEM;
	v->vgpu = vgpu;
	vgpu->sched_data = v;
	spin_lock(&data->lock);
	sched_add(&data->sched, &v->sched, vgpu->sched_ctl.weight * 100 / WEIGHT_MAX,
		  catch_up(data));
	list_add_tail(&v->entry, &data->vgpus);
	spin_unlock(&data->lock);
	intel_gvt_kick_schedule(vgpu->gvt);
	return 0;
}

static void gover_clean_vgpu(struct intel_vgpu *vgpu)
{
	struct intel_gvt_workload_scheduler *scheduler = &vgpu->gvt->scheduler;
	struct gvt_sched_data *data = scheduler->sched_data;
	struct vgpu_sched_data *v = vgpu->sched_data;

	if (scheduler->current_vgpu == vgpu)
		scheduler->current_vgpu = NULL;
	if (!v)
		return;
	spin_lock(&data->lock);
	catch_up(data);
	sched_remove(&data->sched, &v->sched);
	list_del(&v->entry);
	spin_unlock(&data->lock);
	if (list_empty(&data->vgpus))
		hrtimer_cancel(&data->timer);
	vgpu->sched_data = NULL;
	kfree(v);
}

static void gover_start_schedule(struct intel_vgpu *vgpu)
{
	struct vgpu_sched_data *v = vgpu->sched_data;

	v->active = true;
	intel_gvt_kick_schedule(vgpu->gvt);
}

static void gover_stop_schedule(struct intel_vgpu *vgpu)
{
	struct vgpu_sched_data *v = vgpu->sched_data;

	v->active = false;
	intel_gvt_kick_schedule(vgpu->gvt);
}

static const struct intel_gvt_sched_policy_ops gover_schedule_ops = {
	.init = gover_init,
	.clean = gover_clean,
	.init_vgpu = gover_init_vgpu,
	.clean_vgpu = gover_clean_vgpu,
	.start_schedule = gover_start_schedule,
	.stop_schedule = gover_stop_schedule,
};

/* --- interface of the driver --- */

int intel_gvt_init_sched_policy(struct intel_gvt *gvt)
{
	int r;

	mutex_lock(&gvt->sched_lock);
	gvt->scheduler.sched_ops = &gover_schedule_ops;
	r = gvt->scheduler.sched_ops->init(gvt);
	mutex_unlock(&gvt->sched_lock);
	return r;
}

void intel_gvt_clean_sched_policy(struct intel_gvt *gvt)
{
	mutex_lock(&gvt->sched_lock);
	gvt->scheduler.sched_ops->clean(gvt);
	mutex_unlock(&gvt->sched_lock);
}

int intel_vgpu_init_sched_policy(struct intel_vgpu *vgpu)
{
	int r;

	mutex_lock(&vgpu->gvt->sched_lock);
	r = vgpu->gvt->scheduler.sched_ops->init_vgpu(vgpu);
	mutex_unlock(&vgpu->gvt->sched_lock);
	return r;
}

void intel_vgpu_clean_sched_policy(struct intel_vgpu *vgpu)
{
	mutex_lock(&vgpu->gvt->sched_lock);
	vgpu->gvt->scheduler.sched_ops->clean_vgpu(vgpu);
	mutex_unlock(&vgpu->gvt->sched_lock);
}

void intel_vgpu_start_schedule(struct intel_vgpu *vgpu)
{
	const struct vgpu_sched_data *v = vgpu->sched_data;

	mutex_lock(&vgpu->gvt->sched_lock);
	if (!v->active) {
		gvt_dbg_core("vgpu%d: start schedule\n", vgpu->id);
		vgpu->gvt->scheduler.sched_ops->start_schedule(vgpu);
	}
	mutex_unlock(&vgpu->gvt->sched_lock);
}

/* Restores the host's registers on each engine that has the state of @vgpu loaded. */
static void take_engines(struct intel_vgpu *vgpu)
{
	struct intel_gvt_workload_scheduler *scheduler = &vgpu->gvt->scheduler;
	struct intel_runtime_pm *rpm = &vgpu->gvt->gt->i915->runtime_pm;
	struct intel_engine_cs *engine;
	enum intel_engine_id id;

	intel_runtime_pm_get(rpm);
	spin_lock_bh(&scheduler->mmio_context_lock);
	for_each_engine(engine, vgpu->gvt->gt, id) {
		if (scheduler->engine_owner[engine->id] == vgpu) {
			intel_gvt_switch_mmio(vgpu, NULL, engine);
			scheduler->engine_owner[engine->id] = NULL;
		}
	}
	spin_unlock_bh(&scheduler->mmio_context_lock);
	intel_runtime_pm_put_unchecked(rpm);
}

void intel_vgpu_stop_schedule(struct intel_vgpu *vgpu)
{
	struct intel_gvt_workload_scheduler *scheduler = &vgpu->gvt->scheduler;
	const struct vgpu_sched_data *v = vgpu->sched_data;

	mutex_lock(&vgpu->gvt->sched_lock);
	if (v->active) {
		gvt_dbg_core("vgpu%d: stop schedule\n", vgpu->id);
		scheduler->sched_ops->stop_schedule(vgpu);
		if (scheduler->current_vgpu == vgpu) {
			/* Stops dispatching workloads of @vgpu and lets the next vGPU run. */
			scheduler->need_reschedule = true;
			scheduler->current_vgpu = NULL;
		}
		take_engines(vgpu);
	}
	mutex_unlock(&vgpu->gvt->sched_lock);
}
