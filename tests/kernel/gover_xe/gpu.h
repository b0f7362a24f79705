/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A simulated GPU with SR-IOV. Independent of PCI and sysfs. It lives until the last reference is
 * put, because an open file or event can outlive the device.
 *
 * Every function can be called from any context and does its own locking.
 */
#ifndef TESTS_KERNEL_GOVER_XE_GPU_H
#define TESTS_KERNEL_GOVER_XE_GPU_H

#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/spinlock.h>

#include "kernel/sched/quanta-gpu.h"

struct gpu {
	struct kref kref;
	/*
	 * Protects all fields below. Taken with interrupts disabled, because perf reads counters
	 * in interrupts.
	 */
	spinlock_t lock;
	struct hrtimer timer; /* keeps the time that one access must simulate short */
	struct quanta_gpu sim;
};

/* The state of a function at one instant. */
struct gpu_state {
	u32 quantum_ms;
	u32 timeout_us;
	enum quanta_priority priority;
	bool enabled;
	unsigned int load_pct;
	u64 active_ticks;
	u64 total_ticks;
	u64 idle_ms; /* of the whole GPU */
};

enum gpu_setting {
	GPU_QUANTUM_MS,
	GPU_TIMEOUT_US,
	GPU_PRIORITY,
};

#define GPU_ALL UINT_MAX /* all functions, also VFs that are not enabled */

/* Returns a GPU with one reference, or NULL without memory. */
struct gpu *gpu_new(unsigned int total_vfs);
void gpu_get(struct gpu *gpu);
void gpu_put(struct gpu *gpu);

/* Call before the last gpu_put(): ends the timer. */
void gpu_stop_timer(struct gpu *gpu);

void gpu_read(struct gpu *gpu, unsigned int function, struct gpu_state *ret_state);

/* @function: a number, or GPU_ALL. Too large values are reduced, as by the firmware. */
void gpu_set(struct gpu *gpu, unsigned int function, enum gpu_setting setting, u32 value);

void gpu_set_vfs(struct gpu *gpu, unsigned int n_vfs);
void gpu_stop_vf(struct gpu *gpu, unsigned int function);

/* Returns -EINVAL if @load_pct is neither 0 to 100 nor QUANTA_GPU_ENDLESS. */
int gpu_set_load(struct gpu *gpu, unsigned int function, unsigned int load_pct);

#endif
