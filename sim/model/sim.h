/* SPDX-License-Identifier: MIT */
/*
 * A GPU that exists only as numbers: tenants whose CPU makes frames, and one GPU that renders them
 * under the scheduler of sched/, event by event. Time is handed in. The history depends on the
 * calls and their instants alone, not on how many steps sim_advance() takes between them.
 *
 * A tenant with frames runs at most two ahead of its GPU and waits with the next one, as a renderer
 * does: what a small cap leaves undone is done later, or as a game's or a recorded program's frames
 * of the time meanwhile, not begun at all. A demand without frames arrives ten times a second and
 * waits without bound.
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
struct sim_vgpu; /* valid until removed */

/* What can be read of a vGPU. */
struct sim_counters {
	uint64_t busy_ns;
	uint64_t sched_ns;   /* allotted: the integral of the cap in force */
	uint64_t frames;     /* rendered */
	double frame_p99_ms; /* time between frames, of those since the last read; 0: none */
	bool makes_frames;   /* a program with frames runs now */
};

/* A GPU at time 0, without vGPUs. -ENOMEM. */
int sim_new(struct sim **ret_sim);
struct sim *sim_free(struct sim *sim); /* with its vGPUs; NULL is fine; returns NULL */

/* By which row of sched_disciplines[] it schedules; NULL: the default. Before time passes and any
 * vGPU is made, else -EBUSY. */
int sim_set_discipline(struct sim *sim, const struct sched_discipline *discipline);

/* Lets time pass up to @to_ns, that instant included; an earlier one does nothing. */
void sim_advance(struct sim *sim, uint64_t to_ns);
uint64_t sim_now_ns(const struct sim *sim);

/* GPU time used by all vGPUs there ever were. */
uint64_t sim_busy_ns(const struct sim *sim);

/* Makes a vGPU, idle. @cap_pct 0..100, 0: no limit. -EINVAL, -EEXIST, -ENOSPC, -ENOMEM. */
int sim_add(struct sim *sim, const char *id, int cap_pct, struct sim_vgpu **ret_vgpu);
void sim_remove(struct sim *sim, struct sim_vgpu *vgpu);

/* By id (NULL: none such), or all in no order by index (NULL: past the last). */
struct sim_vgpu *sim_find(const struct sim *sim, const char *id);
struct sim_vgpu *sim_at(const struct sim *sim, size_t index);

const char *sim_id(const struct sim_vgpu *vgpu);

/* In force from the next slot of 100 ms on. -EINVAL: outside 0..100. */
int sim_set_cap(struct sim *sim, struct sim_vgpu *vgpu, int cap_pct);
int sim_cap(const struct sim_vgpu *vgpu); /* as set last */

/* The same, and what the end of a lease returns to. -EINVAL; -EPERM: a cap was set already. */
int sim_set_initial_cap(struct sim_vgpu *vgpu, int cap_pct);
int sim_initial_cap(const struct sim_vgpu *vgpu);

/* How long a cap holds unless it or the lease is set again; 0: for ever. */
void sim_set_lease(struct sim *sim, struct sim_vgpu *vgpu, uint32_t lease_ms);
uint32_t sim_lease_ms(const struct sim_vgpu *vgpu);

/* Ends what runs there, its waiting frames with it, and starts @workload; the same text again (and
 * the same trace) lets it run on. */
void sim_set_workload(struct sim *sim, struct sim_vgpu *vgpu, const struct workload *workload);

/*
 * GPU time the tenant has wanted up to now: what waits is not wanted again. Of a program with
 * frames, if it is no trace, what its CPU has made: a starved one asks for less. Cumulative over
 * all programs of the vGPU; never shrinks.
 */
uint64_t sim_vgpu_demand_ns(const struct sim *sim, struct sim_vgpu *vgpu);

/* What a scheduler counts, each by itself. */
uint64_t sim_vgpu_busy_ns(const struct sim_vgpu *vgpu);
uint64_t sim_vgpu_sched_ns(const struct sim *sim, const struct sim_vgpu *vgpu);

/* Reads @vgpu now, and begins a new window for its frame times. */
void sim_read(const struct sim *sim, struct sim_vgpu *vgpu, struct sim_counters *ret_counters);

#endif
