/* SPDX-License-Identifier: MIT */
/*
 * The simulated GPU. Must never read a clock, and never let the cut of sim_advance() into steps
 * show.
 *
 * Three kinds of events: a tenant's CPU is done with something (a heap, earliest first), the GPU is
 * done with what it runs or has used up the turn, and a slot of the scheduler ends. Between two
 * events the running vGPU's work only shrinks, so time steps from one to the next. The invariant
 * between steps: no event is due any more, and the heap holds every vGPU.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sched/sched.h"
#include "sim/frametime.h"
#include "sim/sim.h"

#define NEVER	   UINT64_MAX
#define FRAMES_MAX 2 /* queued for the GPU, the one it renders included */

/* All zero it runs an idle program. */
struct sim_vgpu {
	struct sched_vgpu sched; /* first: see vgpu_of() */
	size_t event;		 /* sim::events */
	/* GPU work: of a frame each; [0] is rendered first. The last waits for room in the queue.
	 * Without frames all of it stands in [0]. */
	uint64_t work_ns[FRAMES_MAX + 1];
	int n_frames;
	unsigned int undrawn; /* a bit for each of work_ns[]: no frame, though it waits like one */
	struct workload_frame making; /* what the CPU makes */
	uint64_t frames;
	uint64_t rendered_ns;	     /* when the last frame was; 0: none yet in this program */
	uint64_t demand_ns;	     /* of the programs before */
	uint64_t made_ns;	     /* and of this one's frames that were made */
	struct workload_demand told; /* or how far its demand was added up */
	double told_ns;
	struct workload_run run;
	struct frametime times;
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
	size_t n;
	struct event events[SIM_VGPUS_MAX]; /* a binary heap: what each CPU does next */
};

static struct sim_vgpu *vgpu_of(struct sched_vgpu *sched)
{
	return (struct sim_vgpu *)(void *)sched;
}

static void place_event(struct sim *sim, size_t i, struct event event)
{
	sim->events[i] = event;
	event.vgpu->event = i;
}

/* Puts @event where the hole @i and the order of the heap allow. */
static void sift_event(struct sim *sim, size_t i, struct event event)
{
	while (i > 0 && event.at_ns < sim->events[(i - 1) / 2].at_ns) {
		place_event(sim, i, sim->events[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	for (size_t child = 2 * i + 1; child < sim->n; child = 2 * i + 1) {
		if (child + 1 < sim->n && sim->events[child + 1].at_ns < sim->events[child].at_ns)
			child++;
		if (event.at_ns <= sim->events[child].at_ns)
			break;
		place_event(sim, i, sim->events[child]);
		i = child;
	}
	place_event(sim, i, event);
}

static void set_event(struct sim *sim, struct sim_vgpu *vgpu, uint64_t at_ns)
{
	sift_event(sim, vgpu->event, (struct event){at_ns, vgpu});
}

static void begin_frame(struct sim *sim, struct sim_vgpu *vgpu)
{
	struct workload_frame frame = workload_next_frame(&vgpu->run, sim->now_ns);

	vgpu->making = frame;
	set_event(sim, vgpu, frame.begin_ns + frame.cpu_ns);
}

/* The demand of @vgpu for the next tenth of a second arrives. */
static void add_demand(struct sim *sim, struct sim_vgpu *vgpu)
{
	struct workload_run *run = &vgpu->run;
	uint64_t to_ns = sim->now_ns - run->started_ns + SCHED_SLOT_NS;

	vgpu->work_ns[0] += (uint64_t)workload_demand_ns(&run->workload, &run->demand, to_ns);
	sched_set_pending(&sim->sched, &vgpu->sched, vgpu->work_ns[0] > 0);
	set_event(sim, vgpu, sim->now_ns + SCHED_SLOT_NS);
}

/* The CPU of @vgpu has made a frame, or whatever it came to. */
static void end_cpu_work(struct sim *sim, struct sim_vgpu *vgpu)
{
	if (vgpu->run.workload.kind == WORKLOAD_LOAD) {
		add_demand(sim, vgpu);
		return;
	}
	if (vgpu->making.gpu_ns == 0) {
		begin_frame(sim, vgpu);
		return;
	}
	vgpu->made_ns += vgpu->making.gpu_ns;
	vgpu->undrawn |= (unsigned int)!vgpu->making.is_drawn << vgpu->n_frames;
	vgpu->work_ns[vgpu->n_frames++] = vgpu->making.gpu_ns;
	sched_set_pending(&sim->sched, &vgpu->sched, true);
	if (vgpu->n_frames <= FRAMES_MAX)
		begin_frame(sim, vgpu);
	else
		set_event(sim, vgpu, NEVER);
}

static void end_due_cpu_work(struct sim *sim)
{
	while (sim->n > 0 && sim->events[0].at_ns == sim->now_ns)
		end_cpu_work(sim, sim->events[0].vgpu);
}

/* The GPU is done with work_ns[0] of @vgpu. */
static void end_gpu_work(struct sim *sim, struct sim_vgpu *vgpu)
{
	if (vgpu->n_frames == 0) { /* one without frames */
		sched_set_pending(&sim->sched, &vgpu->sched, false);
		return;
	}
	if (!(vgpu->undrawn & 1)) {
		vgpu->frames++;
		if (vgpu->rendered_ns > 0)
			frametime_add(&vgpu->times, sim->now_ns - vgpu->rendered_ns);
		vgpu->rendered_ns = sim->now_ns;
	}
	vgpu->undrawn >>= 1;
	for (int i = 1; i < vgpu->n_frames; i++)
		vgpu->work_ns[i - 1] = vgpu->work_ns[i];
	vgpu->n_frames--;
	sched_set_pending(&sim->sched, &vgpu->sched, vgpu->n_frames > 0);
	if (vgpu->n_frames == FRAMES_MAX)
		begin_frame(sim, vgpu);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void run_vgpu(struct sim *sim, struct sim_vgpu *vgpu, uint64_t ran_ns)
{
	sched_account(&sim->sched, &vgpu->sched, ran_ns);
	sim->busy_ns += ran_ns;
	vgpu->work_ns[0] -= ran_ns;
}

/*
 * What may be many turns of one that nobody else waits with: they are taken at once, and the last
 * is left as far as it went, as if each had been asked for.
 */
static void run_turns(struct sim *sim, struct sim_vgpu *vgpu, uint64_t grant_ns, uint64_t ran_ns)
{
	unsigned int cap_pct = vgpu->sched.cap_pct == 0 ? 100 : vgpu->sched.cap_pct;
	uint64_t turn_ns = SCHED_ROUND_NS * cap_pct / 100;
	uint64_t last_ns = ran_ns > grant_ns ? (ran_ns - grant_ns) % turn_ns : 0;

	run_vgpu(sim, vgpu, ran_ns - last_ns);
	if (last_ns == 0)
		return;
	(void)sched_pick(&sim->sched, &grant_ns);
	run_vgpu(sim, vgpu, last_ns);
}

/* The GPU works until @until_ns, or until it is done with somebody's work. */
static void run_gpu(struct sim *sim, uint64_t until_ns)
{
	while (sim->now_ns < until_ns) {
		uint64_t ran_ns = until_ns - sim->now_ns, grant_ns;
		struct sched_vgpu *picked = sched_pick(&sim->sched, &grant_ns);
		struct sim_vgpu *running;

		if (!picked) {
			sim->now_ns = until_ns;
			return;
		}
		running = vgpu_of(picked);
		ran_ns = earlier(ran_ns, running->work_ns[0]);
		if (sim->sched.n_runnable > 1)
			ran_ns = earlier(ran_ns, grant_ns);
		else
			ran_ns = earlier(ran_ns, picked->limit_ns);
		sim->now_ns += ran_ns;
		run_turns(sim, running, grant_ns, ran_ns);
		if (running->work_ns[0] == 0) {
			end_gpu_work(sim, running);
			return;
		}
	}
}

/* From now to the next event, but not past @to_ns; then deals with what is due. */
static void step(struct sim *sim, uint64_t to_ns)
{
	uint64_t until_ns = earlier(to_ns, sim->sched.slot_end_ns);

	if (sim->n > 0)
		until_ns = earlier(until_ns, sim->events[0].at_ns);
	run_gpu(sim, until_ns);
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

int sim_new(struct sim **ret_sim)
{
	struct sim *sim = calloc(1, sizeof(*sim));

	if (!sim)
		return -ENOMEM;
	sched_start(&sim->sched, NULL, 0);
	*ret_sim = sim;
	return 0;
}

struct sim *sim_free(struct sim *sim)
{
	if (!sim)
		return NULL;
	for (size_t i = 0; i < sim->n; i++)
		free(sim->events[i].vgpu);
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
	vgpu = calloc(1, sizeof(*vgpu));
	if (!vgpu)
		return -ENOMEM;
	(void)id_copy(vgpu->id, id);
	sched_add(&sim->sched, &vgpu->sched, (unsigned int)cap_pct, sim->now_ns);
	sim->n++;
	sift_event(sim, sim->n - 1, (struct event){NEVER, vgpu});
	*ret_vgpu = vgpu;
	return 0;
}

void sim_remove(struct sim *sim, struct sim_vgpu *vgpu)
{
	struct event last = sim->events[sim->n - 1];

	sched_remove(&sim->sched, &vgpu->sched);
	sim->n--;
	if (last.vgpu != vgpu)
		sift_event(sim, vgpu->event, last);
	free(vgpu);
}

struct sim_vgpu *sim_find(const struct sim *sim, const char *id)
{
	for (size_t i = 0; i < sim->n; i++)
		if (strcmp(sim->events[i].vgpu->id, id) == 0)
			return sim->events[i].vgpu;
	return NULL;
}

struct sim_vgpu *sim_at(const struct sim *sim, size_t index)
{
	return index < sim->n ? sim->events[index].vgpu : NULL;
}

const char *sim_id(const struct sim_vgpu *vgpu)
{
	return vgpu->id;
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
		return vgpu->demand_ns + ran_ns;
	if (run->workload.kind == WORKLOAD_FRAMES && !run->workload.playback.trace)
		return vgpu->demand_ns + vgpu->made_ns;
	if (run->workload.kind != WORKLOAD_IDLE)
		vgpu->told_ns += workload_demand_ns(&run->workload, &vgpu->told, ran_ns);
	return vgpu->demand_ns + (uint64_t)vgpu->told_ns;
}

void sim_set_workload(struct sim *sim, struct sim_vgpu *vgpu, const struct workload *workload)
{
	if (strcmp(vgpu->run.workload.text, workload->text) == 0 &&
	    vgpu->run.workload.playback.trace == workload->playback.trace)
		return;
	vgpu->demand_ns = sim_vgpu_demand_ns(sim, vgpu);
	workload_start(&vgpu->run, workload, vgpu->id, sim->now_ns);
	vgpu->told = vgpu->run.demand;
	vgpu->told_ns = 0;
	vgpu->made_ns = 0;
	vgpu->n_frames = 0;
	vgpu->undrawn = 0;
	vgpu->rendered_ns = 0;
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
		.makes_frames = vgpu->run.workload.kind == WORKLOAD_FRAMES,
	};
	frametime_clear(&vgpu->times);
}
