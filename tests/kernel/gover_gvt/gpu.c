/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The simulated GPU. It switches between vGPUs by itself, like a GPU with its own scheduler. Turns
 * are simulated up to the current time at every tick of a timer and before each read or change. A
 * late timer therefore does not affect the shares.
 */
#include <linux/ktime.h>
#include <linux/minmax.h>

#include "gover-compat.h"
#include "gpu.h"

#define TICK_NS NSEC_PER_MSEC
/* A longer time between two updates is not simulated, for example after a suspend. */
#define STALL_NS (10 * NSEC_PER_SEC)

/* The demand of a tenant arrives at the start of each slot and is queued until it is served. */
static void add_demand(struct gpu *gpu, struct vgpu *vgpu, u64 ns)
{
	vgpu->work_ns += vgpu->load_pct * ((u32)ns / 100);
	sched_set_pending(&gpu->sched, &vgpu->sched, vgpu->work_ns > 0);
}

static void open_slot(struct gpu *gpu)
{
	struct vgpu *vgpu;

	sched_open_slot(&gpu->sched, gpu->now_ns);
	list_for_each_entry(vgpu, &gpu->vgpus, entry)
		add_demand(gpu, vgpu, SCHED_SLOT_NS);
}

/*
 * Advances the simulation to the end of the current turn or of the current slot, whichever is
 * earlier, but not beyond @to_ns.
 */
static void step(struct gpu *gpu, u64 to_ns)
{
	u64 until_ns = min_t(u64, to_ns, gpu->sched.slot_end_ns);
	struct sched_vgpu *picked;
	struct vgpu *vgpu;
	u64 run_ns;

	picked = sched_pick(&gpu->sched, &run_ns);
	if (picked) {
		vgpu = container_of(picked, struct vgpu, sched);
		run_ns = min3(run_ns, vgpu->work_ns, until_ns - gpu->now_ns);
		until_ns = gpu->now_ns + run_ns;
		sched_account(&gpu->sched, picked, run_ns);
		vgpu->work_ns -= run_ns;
		sched_set_pending(&gpu->sched, picked, vgpu->work_ns > 0);
	}
	gpu->now_ns = until_ns;
	if (gpu->now_ns == gpu->sched.slot_end_ns)
		open_slot(gpu);
}

static void catch_up(struct gpu *gpu)
{
	u64 now_ns = ktime_get_ns();

	lockdep_assert_held(&gpu->lock);
	if (now_ns > gpu->now_ns + STALL_NS) {
		gpu->now_ns = now_ns;
		open_slot(gpu);
	}
	while (gpu->now_ns < now_ns)
		step(gpu, now_ns);
}

/*
 * The timer runs every millisecond while a vGPU is runnable. Otherwise it runs at the end of each
 * slot, to end expired leases.
 */
static enum hrtimer_restart tick(struct hrtimer *timer)
{
	struct gpu *gpu = container_of(timer, struct gpu, timer);
	u64 next_ns;

	spin_lock(&gpu->lock);
	catch_up(gpu);
	next_ns = gpu->sched.slot_end_ns;
	if (gpu->sched.n_runnable > 0)
		next_ns = min_t(u64, next_ns, gpu->now_ns + TICK_NS);
	hrtimer_set_expires(timer, ns_to_ktime(next_ns));
	gpu->ticking = !list_empty(&gpu->vgpus);
	spin_unlock(&gpu->lock);
	return gpu->ticking ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

void gpu_init(struct gpu *gpu, const struct sched_discipline *discipline)
{
	spin_lock_init(&gpu->lock);
	INIT_LIST_HEAD(&gpu->vgpus);
	ida_init(&gpu->ids);
	hrtimer_setup(&gpu->timer, tick, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	gpu->low_gm_mb = GPU_LOW_GM_MB;
	gpu->now_ns = ktime_get_ns();
	sched_start(&gpu->sched, discipline, gpu->now_ns);
}

void gpu_fini(struct gpu *gpu)
{
	WARN_ON(!list_empty(&gpu->vgpus));
	hrtimer_cancel(&gpu->timer);
	ida_destroy(&gpu->ids);
}

/* --- the discipline --- */

const char *gpu_sharing(struct gpu *gpu)
{
	const char *word;

	spin_lock_bh(&gpu->lock);
	word = sched_sharing_name(gpu->sched.discipline);
	spin_unlock_bh(&gpu->lock);
	return word;
}

int gpu_set_sharing(struct gpu *gpu, const char *word)
{
	const struct sched_discipline *discipline = sched_sharing_find(word);

	if (!discipline)
		return -EINVAL;
	spin_lock_bh(&gpu->lock);
	catch_up(gpu);
	sched_set_discipline(&gpu->sched, discipline);
	spin_unlock_bh(&gpu->lock);
	return 0;
}

/* --- vGPUs --- */

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
	spin_lock_bh(&gpu->lock);
	if (gpu->low_gm_mb < low_gm_mb) {
		spin_unlock_bh(&gpu->lock);
		ida_free(&gpu->ids, id);
		return -ENOSPC;
	}
	WRITE_ONCE(gpu->low_gm_mb, gpu->low_gm_mb - low_gm_mb);
	catch_up(gpu);
	sched_add(&gpu->sched, &vgpu->sched, cap_pct, gpu->now_ns);
	list_add_tail(&vgpu->entry, &gpu->vgpus);
	/* The last tick may still be running. Starting the timer during a tick is allowed. */
	if (!gpu->ticking)
		hrtimer_start(&gpu->timer, ns_to_ktime(gpu->sched.slot_end_ns),
			      HRTIMER_MODE_ABS_SOFT);
	gpu->ticking = true;
	spin_unlock_bh(&gpu->lock);
	return 0;
}

void gpu_remove(struct vgpu *vgpu)
{
	struct gpu *gpu = vgpu->gpu;

	spin_lock_bh(&gpu->lock);
	catch_up(gpu);
	sched_remove(&gpu->sched, &vgpu->sched);
	list_del(&vgpu->entry);
	WRITE_ONCE(gpu->low_gm_mb, gpu->low_gm_mb + vgpu->low_gm_mb);
	spin_unlock_bh(&gpu->lock);
	ida_free(&gpu->ids, vgpu->id);
}

void gpu_read(struct vgpu *vgpu, struct vgpu_state *ret_state)
{
	struct gpu *gpu = vgpu->gpu;

	spin_lock_bh(&gpu->lock);
	catch_up(gpu);
	*ret_state = (struct vgpu_state){
		.cap_pct = vgpu->sched.next_cap_pct,
		.initial_cap_pct = vgpu->sched.initial_cap_pct,
		.ceiling_pct = vgpu->sched.next_ceiling_pct,
		.load_pct = vgpu->load_pct,
		.lease_ns = vgpu->sched.lease_ns,
		.busy_ns = vgpu->sched.busy_ns,
		.sched_ns = sched_allotted_ns(&vgpu->sched, gpu->now_ns),
	};
	spin_unlock_bh(&gpu->lock);
}

int gpu_set_cap(struct vgpu *vgpu, unsigned int cap_pct)
{
	struct gpu *gpu = vgpu->gpu;

	if (cap_pct > 100)
		return -EINVAL;
	spin_lock_bh(&gpu->lock);
	catch_up(gpu);
	sched_set_cap(&vgpu->sched, cap_pct, gpu->now_ns);
	spin_unlock_bh(&gpu->lock);
	return 0;
}

int gpu_set_initial_cap(struct vgpu *vgpu, unsigned int cap_pct)
{
	struct gpu *gpu = vgpu->gpu;
	int r;

	if (cap_pct > 100)
		return -EINVAL;
	spin_lock_bh(&gpu->lock);
	catch_up(gpu);
	r = sched_set_initial_cap(&vgpu->sched, cap_pct) < 0 ? -EPERM : 0;
	spin_unlock_bh(&gpu->lock);
	return r;
}

int gpu_set_ceiling(struct vgpu *vgpu, unsigned int ceiling_pct)
{
	struct gpu *gpu = vgpu->gpu;

	if (ceiling_pct > 100)
		return -EINVAL;
	spin_lock_bh(&gpu->lock);
	catch_up(gpu);
	sched_set_ceiling(&vgpu->sched, ceiling_pct);
	spin_unlock_bh(&gpu->lock);
	return 0;
}

/*
 * A changed load discards the queued work of the previous load. Writing an unchanged load has no
 * effect.
 */
int gpu_set_load(struct vgpu *vgpu, unsigned int load_pct)
{
	struct gpu *gpu = vgpu->gpu;

	if (load_pct > 100)
		return -EINVAL;
	spin_lock_bh(&gpu->lock);
	catch_up(gpu);
	if (load_pct != vgpu->load_pct) {
		vgpu->load_pct = load_pct;
		vgpu->work_ns = 0;
		add_demand(gpu, vgpu, gpu->sched.slot_end_ns - gpu->now_ns);
	}
	spin_unlock_bh(&gpu->lock);
	return 0;
}

int gpu_set_lease(struct vgpu *vgpu, u32 lease_ms)
{
	struct gpu *gpu = vgpu->gpu;

	spin_lock_bh(&gpu->lock);
	catch_up(gpu);
	sched_set_lease(&vgpu->sched, (u64)lease_ms * NSEC_PER_MSEC, gpu->now_ns);
	spin_unlock_bh(&gpu->lock);
	return 0;
}
