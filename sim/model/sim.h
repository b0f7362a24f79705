/* SPDX-License-Identifier: MIT */
/*
 * A simulated GPU. The CPU of each tenant prepares frames, and one GPU renders the frames under the
 * scheduler of kernel/sched/. Time advances from event to event. The caller passes the time. The
 * results depend only on the calls and their times, not on how time is divided into calls of
 * sim_advance().
 *
 * A tenant with frames queues at most two frames for the GPU and then waits. With a small cap, a
 * renderer draws its frames late, but a game or a recorded program skips late frames. Demand
 * without frames arrives ten times per second, in a queue without limit.
 */
#ifndef SIM_MODEL_SIM_H
#define SIM_MODEL_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"
#include "sim/model/workload.h"

#define SIM_VGPUS_MAX 256

struct sched_discipline;
struct sim;
struct sim_vgpu; /* a pointer is valid until its vGPU is removed */

struct sim_counters {
	uint64_t busy_ns;
	uint64_t sched_ns; /* allotted GPU time: the integral of the effective cap */
	uint64_t frames;   /* rendered */
	/* 99th percentile of the frame times since the last sim_read(), ms; 0: no frames */
	double frame_p99_ms;
	bool has_work;	   /* true: work waits for the GPU or runs on it */
	bool makes_frames; /* true: the current program draws frames */
};

/* Creates a GPU at time 0, without vGPUs. */
struct sim *sim_new(void);
/* also frees the vGPUs of @sim; accepts NULL; returns NULL */
struct sim *sim_free(struct sim *sim);

/* Sets the scheduling discipline, also while vGPUs run. NULL: the default discipline. */
void sim_set_discipline(struct sim *sim, const struct sched_discipline *discipline);
const struct sched_discipline *sim_discipline(const struct sim *sim);

/*
 * Advances time to @to_ns. Handles all events up to and including @to_ns. A @to_ns in the past has
 * no effect.
 */
void sim_advance(struct sim *sim, uint64_t to_ns);
uint64_t sim_now_ns(const struct sim *sim);

/* Returns the GPU time used since the start by all vGPUs, including removed vGPUs. */
uint64_t sim_busy_ns(const struct sim *sim);

/* Adds an idle vGPU. @cap_pct: 0 (no limit) to 100. -EINVAL, -EEXIST, -ENOSPC. */
int sim_add(struct sim *sim, const char *id, int cap_pct, struct sim_vgpu **ret_vgpu);
void sim_remove(struct sim *sim, struct sim_vgpu *vgpu);

/*
 * sim_find() returns NULL if no vGPU has this id. sim_at() returns NULL past the last vGPU; its
 * order is not defined.
 */
struct sim_vgpu *sim_find(const struct sim *sim, const char *id);
struct sim_vgpu *sim_at(const struct sim *sim, size_t index);

const char *sim_id(const struct sim_vgpu *vgpu);
/* Returns a number that no other vGPU of the GPU has or had; at least 1. */
uint64_t sim_serial(const struct sim_vgpu *vgpu);

/* Sets the cap. It takes effect in the next slot of 100 ms. -EINVAL: @cap_pct is not in 0..100. */
int sim_set_cap(struct sim *sim, struct sim_vgpu *vgpu, int cap_pct);
int sim_cap(const struct sim_vgpu *vgpu); /* returns the cap last set with sim_set_cap() */

/*
 * Sets the initial cap, and the cap to the same value. The cap returns to the initial cap when a
 * lease expires. -EINVAL; -EPERM: a cap was already set.
 */
int sim_set_initial_cap(struct sim_vgpu *vgpu, int cap_pct);
int sim_initial_cap(const struct sim_vgpu *vgpu);

/*
 * Sets the ceiling of the total GPU time; 0: no limit. Only the discipline "guarantee" uses it.
 * Until the first call, the ceiling is the initial cap. -EINVAL: @ceiling_pct is not in 0..100.
 */
int sim_set_ceiling(struct sim_vgpu *vgpu, int ceiling_pct);
int sim_ceiling(const struct sim_vgpu *vgpu);

/*
 * Sets the lease: how long a cap is valid after the last call of sim_set_cap() or sim_set_lease().
 * 0: forever.
 */
void sim_set_lease(struct sim *sim, struct sim_vgpu *vgpu, uint32_t lease_ms);
uint32_t sim_lease_ms(const struct sim_vgpu *vgpu);

/*
 * Stops the current program, discards its queued frames and starts @workload. If @workload has the
 * same text and trace as the current program, the current program continues.
 */
void sim_set_workload(struct sim *sim, struct sim_vgpu *vgpu, const struct workload *workload);

/*
 * Returns the GPU time that all programs of the vGPU have demanded up to now. The value never
 * decreases, and counts queued work once. For a trace, this is the recorded demand. For other
 * programs with frames, this is the work of the frames that the CPU has prepared, so a starved
 * program demands less.
 */
uint64_t sim_vgpu_demand_ns(const struct sim *sim, struct sim_vgpu *vgpu);

uint64_t sim_vgpu_busy_ns(const struct sim_vgpu *vgpu);
uint64_t sim_vgpu_sched_ns(const struct sim *sim, const struct sim_vgpu *vgpu);

/* Reads the counters, and clears the histogram of frame times. */
void sim_read(const struct sim *sim, struct sim_vgpu *vgpu, struct sim_counters *ret_counters);

#endif
