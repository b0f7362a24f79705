/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The simulated GPU. It switches between functions by itself, like a GPU whose firmware schedules.
 * Turns are simulated up to the current time before each access, so a late timer does not affect
 * the shares.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/slab.h>

#include "gover-compat.h"
#include "gpu.h"

#define TICK_NS (50 * NSEC_PER_MSEC)
/* A longer time between two accesses is not simulated, for example after a suspend. */
#define STALL_NS (10 * NSEC_PER_SEC)

static void catch_up(struct gpu *gpu)
{
	u64 now_ns = ktime_get_ns();

	lockdep_assert_held(&gpu->lock);
	if (now_ns > gpu->sim.now_ns + STALL_NS)
		quanta_gpu_skip(&gpu->sim, now_ns);
	quanta_gpu_advance(&gpu->sim, now_ns);
}

static enum hrtimer_restart tick(struct hrtimer *timer)
{
	struct gpu *gpu = container_of(timer, struct gpu, timer);
	unsigned long flags;

	spin_lock_irqsave(&gpu->lock, flags);
	catch_up(gpu);
	spin_unlock_irqrestore(&gpu->lock, flags);
	hrtimer_forward_now(timer, ns_to_ktime(TICK_NS));
	return HRTIMER_RESTART;
}

struct gpu *gpu_new(unsigned int total_vfs)
{
	struct gpu *gpu = kzalloc(sizeof(*gpu), GFP_KERNEL);

	if (!gpu)
		return NULL;
	kref_init(&gpu->kref);
	spin_lock_init(&gpu->lock);
	quanta_gpu_start(&gpu->sim, total_vfs, ktime_get_ns());
	hrtimer_setup(&gpu->timer, tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	hrtimer_start(&gpu->timer, ns_to_ktime(TICK_NS), HRTIMER_MODE_REL_SOFT);
	return gpu;
}

void gpu_stop_timer(struct gpu *gpu)
{
	hrtimer_cancel(&gpu->timer);
}

static void release(struct kref *kref)
{
	kfree(container_of(kref, struct gpu, kref));
}

void gpu_get(struct gpu *gpu)
{
	kref_get(&gpu->kref);
}

void gpu_put(struct gpu *gpu)
{
	kref_put(&gpu->kref, release);
}

static u64 idle_ns(const struct gpu *gpu)
{
	u64 ns = gpu->sim.quanta.elapsed_ns;
	unsigned int i;

	for (i = 0; i < gpu->sim.quanta.n_functions; i++)
		ns -= gpu->sim.functions[i].active_ns;
	return ns;
}

void gpu_read(struct gpu *gpu, unsigned int function, struct gpu_state *ret_state)
{
	const struct quanta_function *f = &gpu->sim.functions[function];
	unsigned long flags;

	spin_lock_irqsave(&gpu->lock, flags);
	catch_up(gpu);
	*ret_state = (struct gpu_state){
		.quantum_ms = f->quantum_ms,
		.timeout_us = f->timeout_us,
		.priority = f->priority,
		.enabled = f->present,
		.load_pct = gpu->sim.tenants[function].load_pct,
		.active_ticks = quanta_gpu_ticks(f->active_ns),
		.total_ticks = quanta_gpu_ticks(quanta_allotted_ns(&gpu->sim.quanta, function)),
		.idle_ms = div_u64(idle_ns(gpu), NSEC_PER_MSEC),
	};
	spin_unlock_irqrestore(&gpu->lock, flags);
}

static void set(struct quanta *quanta, unsigned int function, enum gpu_setting setting, u32 value)
{
	switch (setting) {
	case GPU_QUANTUM_MS:
		quanta_set_quantum(quanta, function, value);
		break;
	case GPU_TIMEOUT_US:
		quanta_set_timeout(quanta, function, value);
		break;
	case GPU_PRIORITY:
		quanta_set_priority(quanta, function, value);
		break;
	}
}

void gpu_set(struct gpu *gpu, unsigned int function, enum gpu_setting setting, u32 value)
{
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&gpu->lock, flags);
	catch_up(gpu);
	for (i = 0; i < gpu->sim.quanta.n_functions; i++)
		if (function == i || function == GPU_ALL)
			set(&gpu->sim.quanta, i, setting, value);
	spin_unlock_irqrestore(&gpu->lock, flags);
}

void gpu_set_vfs(struct gpu *gpu, unsigned int n_vfs)
{
	unsigned long flags;

	spin_lock_irqsave(&gpu->lock, flags);
	catch_up(gpu);
	quanta_gpu_set_vfs(&gpu->sim, n_vfs);
	spin_unlock_irqrestore(&gpu->lock, flags);
}

void gpu_stop_vf(struct gpu *gpu, unsigned int function)
{
	unsigned long flags;

	spin_lock_irqsave(&gpu->lock, flags);
	catch_up(gpu);
	quanta_gpu_stop(&gpu->sim, function);
	spin_unlock_irqrestore(&gpu->lock, flags);
}

int gpu_set_load(struct gpu *gpu, unsigned int function, unsigned int load_pct)
{
	unsigned long flags;

	if (load_pct > 100 && load_pct != QUANTA_GPU_ENDLESS)
		return -EINVAL;
	spin_lock_irqsave(&gpu->lock, flags);
	catch_up(gpu);
	quanta_gpu_set_load(&gpu->sim, function, load_pct);
	spin_unlock_irqrestore(&gpu->lock, flags);
	return 0;
}
