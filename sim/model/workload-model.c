/* SPDX-License-Identifier: MIT */
/* The workload models. All random numbers are derived from the seed of the workload. */
#include <math.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "sim/model/random.h"
#include "sim/model/workload-model.h"

#define NEVER	   UINT64_MAX
#define PERIOD_NS  (10 * NS_PER_S) /* period of plot3d, and length of a glmark2 scene */
#define JITTER_GPU 0.10
#define JITTER_CPU 0.05
#define GPU_MIN_NS 10000 /* minimum GPU time of a frame */
/* length of a scene of a game; during a scene, the cost changes linearly to the cost of the next */
#define SCENE_NS    (8 * NS_PER_S)
#define SCENE_DRIFT 0.30
#define BURST_MIN_S 1e-6

/* --- random numbers --- */

/* Returns a random number, uniformly distributed in [0, 2). */
static double draw_double(uint64_t *state)
{
	return (double)(random_next(state) >> 11) * 0x1p-52;
}

/* Returns a random number, uniformly distributed between 1 - @jitter and 1 + @jitter. */
static double jittered(uint64_t *state, double jitter)
{
	return 1 + jitter * (draw_double(state) - 1);
}

/* Returns the FNV-1a hash of @id. */
static uint64_t seed_of_id(const char *id)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *id; id++)
		hash = (hash ^ (unsigned char)*id) * 0x100000001b3u;
	return hash;
}

static uint64_t seed_of(const struct workload *workload, const char *id)
{
	return workload->seeded ? workload->seed : seed_of_id(id);
}

/* --- programs with frames --- */

static const double glmark2_scenes_ms[] = {1.2, 1.8, 1.5, 2.2, 1.1, 1.6, 2.4, 1.4};

static double glmark2_gpu_ms(uint64_t t_ns)
{
	return glmark2_scenes_ms[t_ns / PERIOD_NS % ARRAY_SIZE(glmark2_scenes_ms)];
}

static double plot3d_gpu_ms(uint64_t t_ns)
{
	return 14.5 + 1.5 * sin(2 * M_PI * (double)(t_ns % PERIOD_NS) / (double)PERIOD_NS);
}

/* Draws the random cost of the next frame in advance, while the CPU prepares the current frame. */
static void draw_frame(struct workload_run *run)
{
	const struct workload *workload = &run->workload;

	run->gpu_factor = workload->scale * jittered(&run->random, JITTER_GPU);
	run->cpu_ns = (uint64_t)(workload->cpu_ms * jittered(&run->random, JITTER_CPU) *
				 (double)NS_PER_MS);
}

/* Returns the frame that starts at @begin_ns. @gpu_ms: GPU time of the frame without jitter. */
static struct workload_frame make_frame(struct workload_run *run, uint64_t begin_ns, double gpu_ms)
{
	uint64_t gpu_ns = (uint64_t)(gpu_ms * run->gpu_factor * (double)NS_PER_MS);
	struct workload_frame frame = {
		.begin_ns = begin_ns,
		.cpu_ns = run->cpu_ns,
		.gpu_ns = gpu_ns < GPU_MIN_NS ? GPU_MIN_NS : gpu_ns,
		.is_drawn = true,
	};

	run->frame_ns = begin_ns;
	draw_frame(run);
	return frame;
}

static struct workload_frame next_program_frame(struct workload_run *run, uint64_t now_ns)
{
	const struct workload *workload = &run->workload;
	uint64_t begin_ns = now_ns;
	double gpu_ms = workload->gpu_ms;

	/* began_ns and frame_ns may wrap around below 0, but their differences are correct. */
	if (now_ns - run->frame_ns < run->interval_ns)
		begin_ns = run->frame_ns + run->interval_ns;
	if (workload->model->shape)
		gpu_ms = workload->model->shape(begin_ns - run->began_ns);
	return make_frame(run, begin_ns, gpu_ms);
}

/* Returns the cost factor of scene number @scene. */
static double scene_cost(const struct workload_run *run, uint64_t scene)
{
	uint64_t state = run->demand.random + scene;

	return jittered(&state, SCENE_DRIFT);
}

/* A game starts each frame at a tick of its screen. If a frame is late, the game misses a tick. */
static struct workload_frame next_game_frame(struct workload_run *run, uint64_t now_ns)
{
	uint64_t late_ns = (now_ns - run->began_ns) % run->interval_ns;
	uint64_t begin_ns = late_ns == 0 ? now_ns : now_ns - late_ns + run->interval_ns;
	uint64_t scene, into_ns;
	double cost;

	if (begin_ns - run->frame_ns < run->interval_ns)
		begin_ns = run->frame_ns + run->interval_ns;
	scene = (begin_ns - run->began_ns) / SCENE_NS;
	into_ns = (begin_ns - run->began_ns) % SCENE_NS;
	cost = scene_cost(run, scene);
	cost += (scene_cost(run, scene + 1) - cost) * (double)into_ns / (double)SCENE_NS;
	return make_frame(run, begin_ns, run->workload.gpu_ms * cost);
}

/* --- demand without frames --- */

static double load_demand_ns(const struct workload *workload, struct workload_demand *demand,
			     uint64_t to_ns)
{
	return workload->pct / 100 * (double)(to_ns - demand->to_ns);
}

/* Returns how long the square wave was high before @t_ns. */
static uint64_t high_ns(uint64_t t_ns, uint64_t period_ns)
{
	uint64_t into_ns = t_ns % period_ns, half_ns = period_ns / 2;

	return t_ns / period_ns * half_ns + (into_ns < half_ns ? into_ns : half_ns);
}

static double square_demand_ns(const struct workload *workload, struct workload_demand *demand,
			       uint64_t to_ns)
{
	uint64_t period_ns = (uint64_t)llround(workload->period_s * (double)NS_PER_S);
	uint64_t phase_ns = (uint64_t)llround(workload->phase_s * (double)NS_PER_S);
	uint64_t high =
		high_ns(to_ns + phase_ns, period_ns) - high_ns(demand->to_ns + phase_ns, period_ns);
	uint64_t low = to_ns - demand->to_ns - high;

	return workload->high_pct / 100 * (double)high + workload->low_pct / 100 * (double)low;
}

/*
 * Returns a random time with the mean @mean_s. @jitter 0: constant; 1: exponentially distributed.
 */
static uint64_t draw_time_ns(uint64_t *state, double mean_s, double jitter)
{
	/* exponentially distributed with mean 1; always below 37 */
	double random = -log(1 - draw_double(state) / 2);
	double s = fmax(mean_s * (1 - jitter + jitter * random), BURST_MIN_S);

	return (uint64_t)(s * (double)NS_PER_S);
}

static void change_burst(const struct workload *workload, struct workload_demand *demand)
{
	demand->is_on = !demand->is_on;
	demand->change_ns +=
		draw_time_ns(&demand->random, demand->is_on ? workload->on_s : workload->off_s,
			     workload->jitter);
}

static double burst_demand_ns(const struct workload *workload, struct workload_demand *demand,
			      uint64_t to_ns)
{
	uint64_t at_ns = demand->to_ns, on_ns = 0;

	while (at_ns < to_ns) {
		uint64_t end_ns = to_ns;

		if (demand->change_ns <= at_ns)
			change_burst(workload, demand);
		if (demand->change_ns < end_ns)
			end_ns = demand->change_ns;
		if (demand->is_on)
			on_ns += end_ns - at_ns;
		at_ns = end_ns;
	}
	return workload->pct / 100 * (double)on_ns;
}

/* With jitter the workload starts in a random state, as if it had been running for a long time. */
static void start_burst(const struct workload *workload, struct workload_demand *demand)
{
	double on_part = workload->on_s / (workload->on_s + workload->off_s);
	double random = draw_double(&demand->random) / 2;

	/* The first call of change_burst() inverts is_on. */
	demand->is_on = workload->jitter > 0 && random >= on_part;
}

/* --- traces --- */

static struct workload_frame next_trace_frame(struct workload_run *run, uint64_t now_ns)
{
	struct playback_frame made = playback_next_frame(&run->workload.playback, &run->demand.head,
							 now_ns - run->began_ns);

	if (made.span_ns == 0 && made.gpu_ns == 0)
		return (struct workload_frame){.begin_ns = NEVER};
	return (struct workload_frame){
		.begin_ns = now_ns,
		.cpu_ns = made.span_ns,
		.gpu_ns = made.gpu_ns,
		.is_drawn = made.is_drawn,
	};
}

static double trace_demand_ns(const struct workload *workload, struct workload_demand *demand,
			      uint64_t to_ns)
{
	return playback_demand_ns(&workload->playback, &demand->head, to_ns);
}

/* --- the table --- */

#define TAKES_PROGRAM (TAKES_SCALE | TAKES_PACING | TAKES_SEED)

const struct workload_model workload_models[] = {
	{.name = "idle", .kind = WORKLOAD_IDLE},
	{.name = "glxgears",
	 .kind = WORKLOAD_FRAMES,
	 .takes = TAKES_PROGRAM,
	 .gpu_ms = 0.50,
	 .cpu_ms = 4.0},
	{.name = "glmark2",
	 .kind = WORKLOAD_FRAMES,
	 .takes = TAKES_PROGRAM,
	 .cpu_ms = 2.2,
	 .shape = glmark2_gpu_ms,
	 .cycle_ns = ARRAY_SIZE(glmark2_scenes_ms) * PERIOD_NS},
	{.name = "plot3d",
	 .kind = WORKLOAD_FRAMES,
	 .takes = TAKES_PROGRAM,
	 .cpu_ms = 18,
	 .shape = plot3d_gpu_ms,
	 .cycle_ns = PERIOD_NS},
	{.name = "frame", .kind = WORKLOAD_FRAMES, .takes = TAKES_FRAME | TAKES_PROGRAM},
	{.name = "game",
	 .kind = WORKLOAD_FRAMES,
	 .takes = TAKES_FRAME | TAKES_VSYNC | TAKES_SCALE | TAKES_SEED,
	 .next_frame = next_game_frame},
	{.name = "busy", .kind = WORKLOAD_BUSY},
	{.name = "load", .kind = WORKLOAD_LOAD, .takes = TAKES_LOAD, .demand_ns = load_demand_ns},
	{.name = "square",
	 .kind = WORKLOAD_LOAD,
	 .takes = TAKES_SQUARE,
	 .demand_ns = square_demand_ns},
	{.name = "burst",
	 .kind = WORKLOAD_LOAD,
	 .takes = TAKES_BURST | TAKES_SEED,
	 .demand_ns = burst_demand_ns},
	{.name = "trace",
	 .kind = WORKLOAD_LOAD,
	 .takes = TAKES_TRACE | TAKES_SCALE,
	 .next_frame = next_trace_frame,
	 .demand_ns = trace_demand_ns},
	{.name = NULL},
};

void workload_start(struct workload_run *run, const struct workload *workload, const char *id,
		    uint64_t now_ns)
{
	uint64_t cycle_ns = workload->model->cycle_ns;
	/* no model accepts both rates, so one of them is 0 */
	double hz = workload->fps_max + workload->vsync_hz;

	run->workload = *workload;
	run->random = seed_of(workload, id);
	run->started_ns = now_ns;
	run->began_ns = now_ns;
	run->interval_ns = hz > 0 ? (uint64_t)llround((double)NS_PER_S / hz) : 0;
	if (workload->vsync_hz > 0)
		cycle_ns = run->interval_ns;
	if (cycle_ns > 0)
		run->began_ns -= random_next(&run->random) % cycle_ns;
	run->frame_ns = now_ns - run->interval_ns;
	run->demand = (struct workload_demand){.random = run->random};
	draw_frame(run);
	if (workload->model->takes & TAKES_BURST)
		start_burst(workload, &run->demand);
}

struct workload_frame workload_next_frame(struct workload_run *run, uint64_t now_ns)
{
	const struct workload_model *model = run->workload.model;

	return model->next_frame ? model->next_frame(run, now_ns) : next_program_frame(run, now_ns);
}

double workload_demand_ns(const struct workload *workload, struct workload_demand *demand,
			  uint64_t to_ns)
{
	double ns = workload->model->demand_ns(workload, demand, to_ns);

	demand->to_ns = to_ns;
	return ns;
}
