/* SPDX-License-Identifier: MIT */
/*
 * The simulated GPU. It does not read a clock, and the results do not depend on how the caller
 * divides time into calls of sim_advance().
 *
 * There are three kinds of events:
 * - The CPU of a tenant completes a piece of work.
 * - The GPU completes the work of the running vGPU, or the turn of this vGPU ends
 * (kernel/sched/sched.h).
 * - A slot of the scheduler ends.
 *
 * Between two events only the work of the running vGPU decreases, so time advances from event to
 * event. If a CPU event cannot change how long the running vGPU runs, the turn simply continues.
 *
 * Invariant: after each step, no event is due.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/xalloc.h"
#include "kernel/sched/sched.h"
#include "sim/model/sim.h"
#include "sim/model/workload.h"

/* the first bucket starts at 2^14 ns (16 us), and also counts shorter times */
#define FRAMETIME_MIN_LOG2 14
/* the last bucket ends at 2^38 ns (4.6 minutes), and also counts longer times */
#define FRAMETIME_OCTAVES 24
#define FRAMETIME_BUCKETS (FRAMETIME_OCTAVES * 16)

struct frametime {
	uint32_t count;
	uint32_t buckets[FRAMETIME_BUCKETS];
};

static unsigned int bucket_of(uint64_t ns)
{
	unsigned int log2, bucket;

	if (ns < 1ULL << FRAMETIME_MIN_LOG2)
		return 0;
	log2 = 63 - (unsigned int)__builtin_clzll(ns);
	bucket = (log2 - FRAMETIME_MIN_LOG2) * 16 + (unsigned int)(ns >> (log2 - 4) & 15);
	return bucket < FRAMETIME_BUCKETS ? bucket : FRAMETIME_BUCKETS - 1;
}

static double middle_of_ms(unsigned int bucket)
{
	uint64_t octave_ns = 1ULL << (FRAMETIME_MIN_LOG2 + bucket / 16);

	return (double)octave_ns * (1 + (bucket % 16 + 0.5) / 16) / (double)NS_PER_MS;
}

static void frametime_add(struct frametime *times, uint64_t ns)
{
	times->count++;
	times->buckets[bucket_of(ns)]++;
}

/* Returns the 99th percentile in ms, with an error of at most 3 %. 0: no frames. */
static double frametime_p99_ms(const struct frametime *times)
{
	uint32_t above = 0; /* number of frames in this bucket and all higher buckets */

	if (times->count == 0)
		return 0;
	for (unsigned int b = FRAMETIME_BUCKETS; b-- > 0;) {
		above += times->buckets[b];
		if (above > times->count / 100)
			return middle_of_ms(b);
	}
	return 0;
}

static void frametime_clear(struct frametime *times)
{
	if (times->count > 0)
		memset(times, 0, sizeof(*times));
}

#define NEVER UINT64_MAX
/* maximum number of frames queued for the GPU, including the frame that the GPU renders */
#define FRAMES_MAX 2

/* A vGPU of the simulation. All zero: a vGPU with an idle program. */
struct sim_vgpu {
	struct sched_vgpu sched; /* must be the first field, because vgpu_of() converts pointers */
	size_t index; /* this vGPU is sim.vgpus[index]; CPU event: events[n_leaves + index] */
	/* GPU work of each queued frame; work_ns[0] is rendered first. The last frame waits for
	 * room in the queue. A program without frames has all its work in work_ns[0]. */
	uint64_t work_ns[FRAMES_MAX + 1];
	int n_frames;
	unsigned int undrawn;	 /* bit i is set: work_ns[i] is not a frame */
	uint64_t next_gpu_ns;	 /* GPU work that the CPU prepares now; 0: none */
	bool next_undrawn;	 /* true: next_gpu_ns is not the work of a frame */
	uint64_t frames;	 /* rendered */
	uint64_t last_frame_ns;	 /* time at which the last frame was complete; 0: no frame yet */
	uint64_t past_demand_ns; /* demand of the earlier programs of this vGPU */
	/* GPU work of all frames of this program, including queued frames */
	uint64_t submitted_ns;
	/* program without frames: its demand up to the position "summed" */
	double summed_demand_ns;
	struct workload_demand summed; /* position up to which summed_demand_ns is computed */
	struct workload_run run;
	struct frametime times;
	uint64_t serial;
	char id[ID_MAX];
};

struct event {
	uint64_t at_ns;
	struct sim_vgpu *vgpu;
};

struct sim {
	uint64_t now_ns;
	uint64_t busy_ns;
	struct sched sched;
	uint64_t n_added; /* vGPUs, including those that were removed */
	size_t n;
	struct sim_vgpu *vgpus[SIM_VGPUS_MAX];
	/* number of leaves of the tournament tree, a power of 2 */
	size_t n_leaves;
	/* tournament tree of the next event of each CPU, see set_event() */
	struct event events[2 * SIM_VGPUS_MAX];
};

static struct sim_vgpu *vgpu_of(struct sched_vgpu *sched)
{
	return (struct sim_vgpu *)(void *)sched;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Sets the next event of the CPU of @vgpu. The events are a tournament tree: each node contains the
 * earlier event of its two children, so events[1] is the earliest event. The loop compares times
 * without branches, because the processor would mispredict half of them.
 */
static void set_event(struct sim *sim, struct sim_vgpu *vgpu, uint64_t at_ns)
{
	struct event event = {at_ns, vgpu};
	size_t i = sim->n_leaves + vgpu->index;

	for (sim->events[i] = event; i > 1; sim->events[i] = event) {
		struct event other = sim->events[i ^ 1];

		event.vgpu = other.at_ns < event.at_ns ? other.vgpu : event.vgpu;
		event.at_ns = earlier(other.at_ns, event.at_ns);
		i /= 2;
	}
}

static void begin_frame(struct sim *sim, struct sim_vgpu *vgpu)
{
	struct workload_frame frame = workload_next_frame(&vgpu->run, sim->now_ns);

	vgpu->next_gpu_ns = frame.gpu_ns;
	vgpu->next_undrawn = !frame.is_drawn;
	set_event(sim, vgpu, frame.begin_ns + frame.cpu_ns);
}

/* Adds the demand of the next slot to the queued work of @vgpu. */
static void add_demand(struct sim *sim, struct sim_vgpu *vgpu)
{
	struct workload_run *run = &vgpu->run;
	uint64_t to_ns = sim->now_ns - run->started_ns + SCHED_SLOT_NS;

	vgpu->work_ns[0] += (uint64_t)workload_demand_ns(&run->workload, &run->demand, to_ns);
	sched_set_pending(&sim->sched, &vgpu->sched, vgpu->work_ns[0] > 0);
	set_event(sim, vgpu, sim->now_ns + SCHED_SLOT_NS);
}

/* Handles the CPU event of @vgpu, which is due now. */
static void end_cpu_work(struct sim *sim, struct sim_vgpu *vgpu)
{
	if (vgpu->run.workload.kind == WORKLOAD_LOAD) {
		add_demand(sim, vgpu);
		return;
	}
	if (vgpu->next_gpu_ns == 0) {
		begin_frame(sim, vgpu);
		return;
	}
	vgpu->submitted_ns += vgpu->next_gpu_ns;
	vgpu->undrawn |= (unsigned int)vgpu->next_undrawn << vgpu->n_frames;
	vgpu->work_ns[vgpu->n_frames++] = vgpu->next_gpu_ns;
	sched_set_pending(&sim->sched, &vgpu->sched, true);
	if (vgpu->n_frames <= FRAMES_MAX)
		begin_frame(sim, vgpu);
	else
		set_event(sim, vgpu, NEVER);
}

static void end_due_cpu_work(struct sim *sim)
{
	while (sim->events[1].at_ns == sim->now_ns)
		end_cpu_work(sim, sim->events[1].vgpu);
}

/* Removes work_ns[0] of @vgpu after the GPU has completed this work. */
static void end_gpu_work(struct sim *sim, struct sim_vgpu *vgpu)
{
	if (vgpu->n_frames == 0) { /* a program without frames */
		sched_set_pending(&sim->sched, &vgpu->sched, false);
		return;
	}
	if (!(vgpu->undrawn & 1)) {
		vgpu->frames++;
		if (vgpu->last_frame_ns > 0)
			frametime_add(&vgpu->times, sim->now_ns - vgpu->last_frame_ns);
		vgpu->last_frame_ns = sim->now_ns;
	}
	vgpu->undrawn >>= 1;
	for (int i = 1; i < vgpu->n_frames; i++)
		vgpu->work_ns[i - 1] = vgpu->work_ns[i];
	vgpu->n_frames--;
	sched_set_pending(&sim->sched, &vgpu->sched, vgpu->n_frames > 0);
	if (vgpu->n_frames == FRAMES_MAX)
		begin_frame(sim, vgpu);
}

static void run_vgpu(struct sim *sim, struct sim_vgpu *vgpu, uint64_t ran_ns)
{
	sched_account(&sim->sched, &vgpu->sched, ran_ns);
	sim->busy_ns += ran_ns;
	vgpu->work_ns[0] -= ran_ns;
}

/*
 * Accounts @ran_ns of run time. If no other vGPU waits, @ran_ns may contain many turns, which are
 * accounted at once. The result is the same as for single turns.
 */
static void run_turns(struct sim *sim, struct sim_vgpu *vgpu, uint64_t grant_ns, uint64_t ran_ns)
{
	uint64_t turn_ns, last_ns;

	if (ran_ns <= grant_ns) {
		run_vgpu(sim, vgpu, ran_ns);
		return;
	}
	turn_ns = SCHED_ROUND_NS * (vgpu->sched.cap_pct == 0 ? 100 : vgpu->sched.cap_pct) / 100;
	/* The last turn is accounted alone, also if it is complete: its pick sets sched::tag. */
	last_ns = (ran_ns - grant_ns - 1) % turn_ns + 1;
	run_vgpu(sim, vgpu, ran_ns - last_ns);
	(void)sched_pick(&sim->sched, &grant_ns);
	run_vgpu(sim, vgpu, last_ns);
}

/*
 * Handles CPU events before @end_ns while the GPU runs @vgpu. Stops before an event that may change
 * how long @vgpu runs: new work of another vGPU while only @vgpu has work, or new work of @vgpu
 * itself if its program has no frames.
 */
static void run_cpus(struct sim *sim, const struct sim_vgpu *vgpu, uint64_t end_ns)
{
	bool is_alone = sim->sched.n_runnable == 1;

	while (sim->events[1].at_ns < end_ns) {
		struct sim_vgpu *next = sim->events[1].vgpu;

		sim->now_ns = sim->events[1].at_ns;
		if (next == vgpu ? vgpu->n_frames == 0 : is_alone)
			return;
		end_cpu_work(sim, next);
	}
	sim->now_ns = end_ns;
}

/* Runs the GPU until @until_ns, or until an event that may change which vGPU runs. */
static void run_gpu(struct sim *sim, uint64_t until_ns)
{
	uint64_t begin_ns = sim->now_ns, run_ns = until_ns - begin_ns, grant_ns;
	struct sched_vgpu *picked = sched_pick(&sim->sched, &grant_ns);
	struct sim_vgpu *vgpu;

	if (!picked) {
		sim->now_ns = earlier(until_ns, sim->events[1].at_ns);
		return;
	}
	vgpu = vgpu_of(picked);
	run_ns = earlier(run_ns, vgpu->work_ns[0]);
	run_ns = earlier(run_ns, sim->sched.n_runnable > 1 ? grant_ns : sched_alone_ns(picked));
	run_cpus(sim, vgpu, begin_ns + run_ns);
	run_turns(sim, vgpu, grant_ns, sim->now_ns - begin_ns);
	if (vgpu->work_ns[0] == 0)
		end_gpu_work(sim, vgpu);
}

/*
 * Advances to the next time at which the GPU may switch to another vGPU, but at most to @to_ns.
 * Handles the events that are due at this time.
 */
static void step(struct sim *sim, uint64_t to_ns)
{
	run_gpu(sim, earlier(to_ns, sim->sched.slot_end_ns));
	end_due_cpu_work(sim);
	if (sim->now_ns == sim->sched.slot_end_ns)
		sched_open_slot(&sim->sched, sim->now_ns);
}

void sim_advance(struct sim *sim, uint64_t to_ns)
{
	while (sim->now_ns < to_ns)
		step(sim, to_ns);
}

uint64_t sim_now_ns(const struct sim *sim)
{
	return sim->now_ns;
}

uint64_t sim_busy_ns(const struct sim *sim)
{
	return sim->busy_ns;
}

/* Changes the tournament tree to @n_leaves leaves, and keeps the events. */
static void set_leaves(struct sim *sim, size_t n_leaves)
{
	uint64_t at_ns[SIM_VGPUS_MAX];

	for (size_t i = 0; i < sim->n; i++)
		at_ns[i] = sim->events[sim->n_leaves + i].at_ns;
	for (size_t i = 1; i < 2 * n_leaves; i++)
		sim->events[i] = (struct event){NEVER, NULL};
	sim->n_leaves = n_leaves;
	for (size_t i = 0; i < sim->n; i++)
		set_event(sim, sim->vgpus[i], at_ns[i]);
}

struct sim *sim_new(void)
{
	struct sim *sim = xcalloc(1, sizeof(*sim));

	sched_start(&sim->sched, NULL, 0);
	set_leaves(sim, 1);
	return sim;
}

void sim_set_discipline(struct sim *sim, const struct sched_discipline *discipline)
{
	sched_set_discipline(&sim->sched, discipline ? discipline : &sched_disciplines[0]);
}

const struct sched_discipline *sim_discipline(const struct sim *sim)
{
	return sim->sched.discipline;
}

struct sim *sim_free(struct sim *sim)
{
	if (!sim)
		return NULL;
	for (size_t i = 0; i < sim->n; i++)
		free(sim->vgpus[i]);
	free(sim);
	return NULL;
}

int sim_add(struct sim *sim, const char *id, int cap_pct, struct sim_vgpu **ret_vgpu)
{
	struct sim_vgpu *vgpu;

	if (!id_valid(id) || cap_pct < 0 || cap_pct > 100)
		return -EINVAL;
	if (sim_find(sim, id))
		return -EEXIST;
	if (sim->n == SIM_VGPUS_MAX)
		return -ENOSPC;
	vgpu = xcalloc(1, sizeof(*vgpu));
	(void)id_copy(vgpu->id, id);
	vgpu->serial = ++sim->n_added;
	sched_add(&sim->sched, &vgpu->sched, (unsigned int)cap_pct, sim->now_ns);
	if (sim->n == sim->n_leaves)
		set_leaves(sim, 2 * sim->n_leaves);
	vgpu->index = sim->n++;
	sim->vgpus[vgpu->index] = vgpu;
	set_event(sim, vgpu, NEVER);
	*ret_vgpu = vgpu;
	return 0;
}

void sim_remove(struct sim *sim, struct sim_vgpu *vgpu)
{
	struct sim_vgpu *last = sim->vgpus[sim->n - 1];
	uint64_t last_ns = sim->events[sim->n_leaves + last->index].at_ns;

	sched_remove(&sim->sched, &vgpu->sched);
	set_event(sim, last, NEVER);
	sim->n--;
	sim->vgpus[vgpu->index] = last;
	last->index = vgpu->index;
	if (last != vgpu)
		set_event(sim, last, last_ns);
	free(vgpu);
}

struct sim_vgpu *sim_find(const struct sim *sim, const char *id)
{
	for (size_t i = 0; i < sim->n; i++)
		if (strcmp(sim->vgpus[i]->id, id) == 0)
			return sim->vgpus[i];
	return NULL;
}

struct sim_vgpu *sim_at(const struct sim *sim, size_t index)
{
	return index < sim->n ? sim->vgpus[index] : NULL;
}

const char *sim_id(const struct sim_vgpu *vgpu)
{
	return vgpu->id;
}

uint64_t sim_serial(const struct sim_vgpu *vgpu)
{
	return vgpu->serial;
}

int sim_set_cap(struct sim *sim, struct sim_vgpu *vgpu, int cap_pct)
{
	if (cap_pct < 0 || cap_pct > 100)
		return -EINVAL;
	sched_set_cap(&vgpu->sched, (unsigned int)cap_pct, sim->now_ns);
	return 0;
}

int sim_cap(const struct sim_vgpu *vgpu)
{
	return vgpu->sched.next_cap_pct;
}

int sim_set_initial_cap(struct sim_vgpu *vgpu, int cap_pct)
{
	if (cap_pct < 0 || cap_pct > 100)
		return -EINVAL;
	return sched_set_initial_cap(&vgpu->sched, (unsigned int)cap_pct) < 0 ? -EPERM : 0;
}

int sim_initial_cap(const struct sim_vgpu *vgpu)
{
	return vgpu->sched.initial_cap_pct;
}

int sim_set_ceiling(struct sim_vgpu *vgpu, int ceiling_pct)
{
	if (ceiling_pct < 0 || ceiling_pct > 100)
		return -EINVAL;
	sched_set_ceiling(&vgpu->sched, (unsigned int)ceiling_pct);
	return 0;
}

int sim_ceiling(const struct sim_vgpu *vgpu)
{
	return vgpu->sched.next_ceiling_pct;
}

void sim_set_lease(struct sim *sim, struct sim_vgpu *vgpu, uint32_t lease_ms)
{
	sched_set_lease(&vgpu->sched, lease_ms * NS_PER_MS, sim->now_ns);
}

uint32_t sim_lease_ms(const struct sim_vgpu *vgpu)
{
	return (uint32_t)(vgpu->sched.lease_ns / NS_PER_MS);
}

uint64_t sim_vgpu_busy_ns(const struct sim_vgpu *vgpu)
{
	return vgpu->sched.busy_ns;
}

uint64_t sim_vgpu_sched_ns(const struct sim *sim, const struct sim_vgpu *vgpu)
{
	return sched_allotted_ns(&vgpu->sched, sim->now_ns);
}

uint64_t sim_vgpu_demand_ns(const struct sim *sim, struct sim_vgpu *vgpu)
{
	const struct workload_run *run = &vgpu->run;
	uint64_t ran_ns = sim->now_ns - run->started_ns;

	if (run->workload.kind == WORKLOAD_BUSY)
		return vgpu->past_demand_ns + ran_ns;
	if (run->workload.kind == WORKLOAD_FRAMES && !run->workload.playback.trace)
		return vgpu->past_demand_ns + vgpu->submitted_ns;
	if (run->workload.kind != WORKLOAD_IDLE)
		vgpu->summed_demand_ns += workload_demand_ns(&run->workload, &vgpu->summed, ran_ns);
	return vgpu->past_demand_ns + (uint64_t)vgpu->summed_demand_ns;
}

void sim_set_workload(struct sim *sim, struct sim_vgpu *vgpu, const struct workload *workload)
{
	if (strcmp(vgpu->run.workload.text, workload->text) == 0 &&
	    vgpu->run.workload.playback.trace == workload->playback.trace)
		return;
	vgpu->past_demand_ns = sim_vgpu_demand_ns(sim, vgpu);
	workload_start(&vgpu->run, workload, vgpu->id, sim->now_ns);
	vgpu->summed = vgpu->run.demand;
	vgpu->summed_demand_ns = 0;
	vgpu->submitted_ns = 0;
	vgpu->n_frames = 0;
	vgpu->undrawn = 0;
	vgpu->last_frame_ns = 0;
	vgpu->work_ns[0] = 0;
	sched_set_pending(&sim->sched, &vgpu->sched, false);
	set_event(sim, vgpu, NEVER);
	switch (workload->kind) {
	case WORKLOAD_IDLE:
		break;
	case WORKLOAD_FRAMES:
		begin_frame(sim, vgpu);
		break;
	case WORKLOAD_BUSY:
		vgpu->work_ns[0] = NEVER;
		sched_set_pending(&sim->sched, &vgpu->sched, true);
		break;
	case WORKLOAD_LOAD:
		set_event(sim, vgpu, sim->now_ns);
		break;
	}
	end_due_cpu_work(sim);
}

void sim_read(const struct sim *sim, struct sim_vgpu *vgpu, struct sim_counters *ret_counters)
{
	*ret_counters = (struct sim_counters){
		.busy_ns = vgpu->sched.busy_ns,
		.sched_ns = sched_allotted_ns(&vgpu->sched, sim->now_ns),
		.frames = vgpu->frames,
		.frame_p99_ms = frametime_p99_ms(&vgpu->times),
		.has_work = vgpu->n_frames > 0 || vgpu->work_ns[0] > 0,
		.makes_frames = vgpu->run.workload.kind == WORKLOAD_FRAMES,
	};
	frametime_clear(&vgpu->times);
}
