/* SPDX-License-Identifier: MIT */
/*
 * A simulated GPU with SR-IOV functions: the demand of their tenants, the course of time, and the
 * counters of the xe driver. Both simulated hosts use it: the kernel module
 * tests/kernel/gover_xe and gover-sim. Freestanding, as kernel/sched/quanta.h.
 */
#ifndef KERNEL_SCHED_QUANTA_GPU_H
#define KERNEL_SCHED_QUANTA_GPU_H

#include "kernel/sched/quanta.h"

#define QUANTA_GPU_FUNCTIONS_MAX 128 /* the PF and 127 VFs */

#define QUANTA_GPU_SLOT_NS 100000000ULL /* demand arrives ten times a second */

/* Demand of one kernel that never ends and cannot be preempted. */
#define QUANTA_GPU_ENDLESS 255

struct quanta_gpu_tenant {
	uint8_t load_pct; /* demand in percent of the whole GPU, or QUANTA_GPU_ENDLESS */
	bool stopped;	  /* by the file "stop"; its work waits */
	uint64_t work_ns; /* queued demand */
};

/* Callers only read this struct. */
struct quanta_gpu {
	struct quanta quanta;
	struct quanta_function functions[QUANTA_GPU_FUNCTIONS_MAX];
	struct quanta_gpu_tenant tenants[QUANTA_GPU_FUNCTIONS_MAX];
	unsigned int n_vfs; /* enabled VFs */
	uint64_t start_ns, now_ns, slot_end_ns;
};

/* Initializes a GPU with @total_vfs VFs, at most QUANTA_GPU_FUNCTIONS_MAX - 1; none is enabled. */
void quanta_gpu_start(struct quanta_gpu *gpu, unsigned int total_vfs, uint64_t now_ns);

/* Simulates the GPU up to @now_ns. Call before each reading and each change. */
void quanta_gpu_advance(struct quanta_gpu *gpu, uint64_t now_ns);

/* Continues at @now_ns without simulating the time since the last call. */
void quanta_gpu_skip(struct quanta_gpu *gpu, uint64_t now_ns);

/*
 * Enables the VFs 1 to @n_vfs; 0: disables all. As in xe_sriov_pf_provision.c (0eaed89c18ae),
 * disabling sets all quanta and timeouts to 0 and the priority of all functions to low. A VF is
 * enabled with an idle tenant.
 */
void quanta_gpu_set_vfs(struct quanta_gpu *gpu, unsigned int n_vfs);

/*
 * Sets the demand of a function: 0 to 100 percent, or QUANTA_GPU_ENDLESS. Discards the queued work;
 * an unchanged demand has no effect. Endless work that was reset leaves a demand of 0.
 */
void quanta_gpu_set_load(struct quanta_gpu *gpu, unsigned int function, unsigned int load_pct);

/* Stops a VF until it is disabled. A real VF continues after a function-level reset. */
void quanta_gpu_stop(struct quanta_gpu *gpu, unsigned int function);

/* Sets the priority of all functions. */
void quanta_gpu_set_priorities(struct quanta_gpu *gpu, enum quanta_priority priority);

/* Converts a time to ticks of 19.2 MHz, the GPU's clock for its counters. */
uint64_t quanta_gpu_ticks(uint64_t ns);

#endif
