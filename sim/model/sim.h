/* SPDX-License-Identifier: MIT */
/*
 * A simulated GPU, event by event: the CPU of each tenant prepares frames, and one GPU renders them
 * under the scheduler of sched/. The caller passes the time. The results depend only on the calls
 * and their times, not on how time is divided into calls of sim_advance().
 *
 * A tenant with frames queues at most two of them for the GPU and then waits, as a renderer does.
 * With a small cap its frames are late. A game or a recorded program skips late frames instead.
 * Demand without frames arrives ten times per second, in a queue without limit.
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
struct sim_vgpu; /* the pointer is valid until the vGPU is removed */

struct sim_counters {
	uint64_t busy_ns;
	uint64_t sched_ns;   /* time allotted: the integral of the effective cap */
	uint64_t frames;     /* rendered */
	double frame_p99_ms; /* 99th percentile of frame times since the last read; 0: no frames */
	bool makes_frames;   /* the current program draws frames */
};

/* Creates a GPU at time 0, without vGPUs. -ENOMEM. */
int sim_new(struct sim **ret_sim);
struct sim *sim_free(struct sim *sim); /* also frees the vGPUs; accepts NULL; returns NULL */

/*
 * Sets the scheduling discipline; NULL: the default. -EBUSY after time has advanced or a vGPU was
 * added.
 */
int sim_set_discipline(struct sim *sim, const struct sched_discipline *discipline);

/*
 * Advances time to @to_ns and handles all events up to and including @to_ns. Has no effect if
 * @to_ns is in the past.
 */
void sim_advance(struct sim *sim, uint64_t to_ns);
uint64_t sim_now_ns(const struct sim *sim);

/* Returns the GPU time used by all vGPUs since the start, including removed vGPUs. */
uint64_t sim_busy_ns(const struct sim *sim);

/* Adds an idle vGPU. @cap_pct: 0 (no limit) to 100. -EINVAL, -EEXIST, -ENOSPC, -ENOMEM. */
int sim_add(struct sim *sim, const char *id, int cap_pct, struct sim_vgpu **ret_vgpu);
void sim_remove(struct sim *sim, struct sim_vgpu *vgpu);

/*
 * Returns NULL if the id is unknown or the index is past the last vGPU. The order by index is not
 * defined.
 */
struct sim_vgpu *sim_find(const struct sim *sim, const char *id);
struct sim_vgpu *sim_at(const struct sim *sim, size_t index);

const char *sim_id(const struct sim_vgpu *vgpu);

/* Sets the cap from the next slot of 100 ms on. -EINVAL: not in 0..100. */
int sim_set_cap(struct sim *sim, struct sim_vgpu *vgpu, int cap_pct);
int sim_cap(const struct sim_vgpu *vgpu); /* returns the last cap that was set */

/*
 * Sets the cap, and the initial cap, to which the cap returns when a lease expires. -EINVAL;
 * -EPERM: a cap was already set.
 */
int sim_set_initial_cap(struct sim_vgpu *vgpu, int cap_pct);
int sim_initial_cap(const struct sim_vgpu *vgpu);

/* Sets how long a cap is valid after the last write of the cap or the lease; 0: forever. */
void sim_set_lease(struct sim *sim, struct sim_vgpu *vgpu, uint32_t lease_ms);
uint32_t sim_lease_ms(const struct sim_vgpu *vgpu);

/* Stops the current program, discards its queued frames and starts @workload. If @workload has the
 * text and trace of the current program, that program continues. */
void sim_set_workload(struct sim *sim, struct sim_vgpu *vgpu, const struct workload *workload);

/*
 * Returns the GPU time demanded up to now by all programs of the vGPU. Never decreases, and counts
 * queued work once. The demand of a program with frames, except a trace, is the work of the frames
 * that its CPU has prepared, so a starved program demands less.
 */
uint64_t sim_vgpu_demand_ns(const struct sim *sim, struct sim_vgpu *vgpu);

uint64_t sim_vgpu_busy_ns(const struct sim_vgpu *vgpu);
uint64_t sim_vgpu_sched_ns(const struct sim *sim, const struct sim_vgpu *vgpu);

/* Reads the counters and resets the histogram of frame times. */
void sim_read(const struct sim *sim, struct sim_vgpu *vgpu, struct sim_counters *ret_counters);

#endif
