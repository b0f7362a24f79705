/* SPDX-License-Identifier: MIT */
/* The workload models, and the texts and traces from which workloads are made. All random numbers
 * are derived from the seed of the workload. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/parse.h"
#include "sim/model/random.h"
#include "sim/model/trace.h"
#include "sim/model/workload.h"

/* Bits of workload_model.takes: groups of keys that a model accepts. */
#define TAKES_FRAME  (1u << 0)
#define TAKES_SCALE  (1u << 1)
#define TAKES_PACING (1u << 2)
#define TAKES_SEED   (1u << 3)
#define TAKES_VSYNC  (1u << 4)
#define TAKES_LOAD   (1u << 5)
#define TAKES_SQUARE (1u << 6)
#define TAKES_BURST  (1u << 7)
#define TAKES_TRACE  (1u << 8)

struct workload_model {
	const char *name;
	enum workload_kind kind;
	unsigned int takes;
	/* GPU and CPU time of a frame; 0: a key or shape() sets this time */
	double gpu_ms, cpu_ms;
	/* returns the GPU time of a frame at @t_ns, in ms; NULL: constant */
	double (*shape)(uint64_t t_ns);
	uint64_t cycle_ns; /* period of shape; 0: shape is not periodic */
	/* Returns the next frame. NULL: each frame needs gpu_ms (or shape()) and cpu_ms. */
	struct workload_frame (*next_frame)(struct workload_run *run, uint64_t now_ns);
	/* Returns the demand since *@demand. Only for WORKLOAD_LOAD. */
	double (*demand_ns)(const struct workload *workload, struct workload_demand *demand,
			    uint64_t to_ns);
};

/*
 * The result of parsing a text: the workload and, for a trace, the values of the keys for which
 * struct workload has no field.
 */
struct workload_text {
	struct workload workload;
	char file[WORKLOAD_TEXT_MAX];
	double offset_s; /* negative: not set */
	double length_s; /* 0: not set */
	double gap_s;
	bool may_have_gaps;
};

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

static const struct workload_model workload_models[] = {
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
	run->random = workload->seeded ? workload->seed : seed_of_id(id);
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

/* --- texts: a key that the model does not use is an error --- */

#define GAP_S 5 /* default of gap_s; a trace has one sample per second, but samples may be late */

struct key {
	const char *name;
	unsigned int of; /* TAKES_... */
	bool required;
	int (*take)(const struct key *key, struct workload_text *text, const char *value);
	double min, max;
	size_t offset; /* offset of the value in struct workload_text */
	const char *allowed;
};

static void *member(const struct key *key, struct workload_text *text)
{
	return (char *)text + key->offset;
}

static int take_number(const struct key *key, struct workload_text *text, const char *value)
{
	return parse_double(value, key->min, key->max, member(key, text));
}

static int take_bool(const struct key *key, struct workload_text *text, const char *value)
{
	return parse_bool(value, member(key, text));
}

static int take_seed(const struct key *key, struct workload_text *text, const char *value)
{
	int64_t seed;
	int r = parse_int(value, 0, INT64_MAX, &seed);

	(void)key;
	if (r < 0)
		return r;
	text->workload.seeded = true;
	text->workload.seed = (uint64_t)seed;
	return 0;
}

static int take_file(const struct key *key, struct workload_text *text, const char *value)
{
	(void)key;
	if (*value == '\0')
		return -EINVAL;
	/* cannot overflow, because the value is a part of the workload text */
	strcpy(text->file, value);
	return 0;
}

static int take_gap(const struct key *key, struct workload_text *text, const char *value)
{
	(void)key;
	text->workload.playback.idle_gaps = strcmp(value, "idle") == 0;
	text->may_have_gaps = strcmp(value, "error") != 0;
	if (text->workload.playback.idle_gaps || !text->may_have_gaps)
		return 0;
	return strcmp(value, "hold") == 0 ? 0 : -EINVAL;
}

#define AT(member)	    offsetof(struct workload_text, member)
#define NUMBER(least, most) take_number, least, most
#define SECONDS_MAX	    4e9

static const struct key keys[] = {
	{"gpu_ms", TAKES_FRAME, true, NUMBER(0.01, 10000), AT(workload.gpu_ms), "0.01 to 10000"},
	{"cpu_ms", TAKES_FRAME, true, NUMBER(0, 10000), AT(workload.cpu_ms), "0 to 10000"},
	{"vsync_hz", TAKES_VSYNC, true, NUMBER(1, 1000), AT(workload.vsync_hz), "1 to 1000"},
	{"file", TAKES_TRACE, true, take_file, 0, 0, 0, "a file name without a comma"},
	{"scale", TAKES_SCALE, false, NUMBER(0.01, 100), AT(workload.scale), "0.01 to 100"},
	{"fps_max", TAKES_PACING, false, NUMBER(0.1, 10000), AT(workload.fps_max), "0.1 to 10000"},
	{"on_s", TAKES_BURST, true, NUMBER(0.01, 1e6), AT(workload.on_s), "0.01 to 1000000"},
	{"off_s", TAKES_BURST, true, NUMBER(0.01, 1e6), AT(workload.off_s), "0.01 to 1000000"},
	{"pct", TAKES_LOAD | TAKES_BURST, true, NUMBER(0, 100), AT(workload.pct), "0 to 100"},
	{"jitter", TAKES_BURST, false, NUMBER(0, 1), AT(workload.jitter), "0 to 1"},
	{"seed", TAKES_SEED, false, take_seed, 0, 0, 0, "0 to 9223372036854775807"},
	{"period_s", TAKES_SQUARE, true, NUMBER(0.01, 1e6), AT(workload.period_s),
	 "0.01 to 1000000"},
	{"low_pct", TAKES_SQUARE, true, NUMBER(0, 100), AT(workload.low_pct), "0 to 100"},
	{"high_pct", TAKES_SQUARE, true, NUMBER(0, 100), AT(workload.high_pct), "0 to 100"},
	{"phase_s", TAKES_SQUARE, false, NUMBER(0, 1e6), AT(workload.phase_s), "0 to 1000000"},
	{"offset_s", TAKES_TRACE, false, NUMBER(0, SECONDS_MAX), AT(offset_s), "0 to 4000000000"},
	{"length_s", TAKES_TRACE, false, NUMBER(0.001, SECONDS_MAX), AT(length_s),
	 "0.001 to 4000000000"},
	{"loop", TAKES_TRACE, false, take_bool, 0, 0, AT(workload.playback.loop), "on, off"},
	{"gap", TAKES_TRACE, false, take_gap, 0, 0, 0, "error, hold, idle"},
	{"gap_s", TAKES_TRACE, false, NUMBER(0.001, SECONDS_MAX), AT(gap_s), "0.001 to 4000000000"},
	{"interpolate", TAKES_TRACE, false, take_bool, 0, 0, AT(workload.playback.interpolate),
	 "on, off"},
};

_Static_assert(ARRAY_SIZE(keys) <= 32, "a bit for each key");

static void append_word(char *text, size_t size, const char *word)
{
	size_t length = strlen(text);

	snprintf(text + length, size - length, "%s%s", length > 0 ? ", " : "", word);
}

static int fail_unknown_model(const char *name, struct err *reterr)
{
	char names[128] = "";

	for (const struct workload_model *model = workload_models; model->name; model++)
		append_word(names, sizeof(names), model->name);
	return err_fail(reterr, EINVAL, "unknown workload '%s' (allowed: %s)", name, names);
}

static int fail_unknown_key(const struct workload_model *model, const char *name,
			    struct err *reterr)
{
	char names[128] = "";

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].of & model->takes)
			append_word(names, sizeof(names), keys[i].name);
	return err_fail(reterr, EINVAL, "workload %s: unknown key '%s' (allowed: %s)", model->name,
			name, model->takes ? names : "none");
}

/* Applies the setting "key=value". *@seen: bit set of the keys that were set. */
static int take_setting(struct workload_text *text, char *setting, unsigned int *seen,
			struct err *reterr)
{
	const struct workload_model *model = text->workload.model;
	char *value = strchr(setting, '=');

	if (!value)
		return err_fail(reterr, EINVAL,
				"workload %s: '%s': not a setting (allowed: key=value)",
				model->name, setting);
	*value++ = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const struct key *key = &keys[i];

		if (strcmp(key->name, setting) != 0 || !(key->of & model->takes))
			continue;
		if (*seen & 1u << i)
			return err_fail(reterr, EINVAL, "workload %s: %s: set twice", model->name,
					key->name);
		*seen |= 1u << i;
		if (key->take(key, text, value) < 0)
			return err_fail(reterr, EINVAL,
					"workload %s: %s '%s': not valid (allowed: %s)",
					model->name, key->name, value, key->allowed);
		return 0;
	}
	return fail_unknown_key(model, setting, reterr);
}

static const struct workload_model *find_model(const char *name)
{
	for (const struct workload_model *model = workload_models; model->name; model++)
		if (strcmp(model->name, name) == 0)
			return model;
	return NULL;
}

static int check_required(const struct workload_model *model, unsigned int seen, struct err *reterr)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].required && (keys[i].of & model->takes) && !(seen & 1u << i))
			return err_fail(reterr, EINVAL, "workload %s: %s: required (allowed: %s)",
					model->name, keys[i].name, keys[i].allowed);
	return 0;
}

/* Parses the workload @text. -EINVAL with a message. */
static int read_text(const char *text, struct workload_text *ret_text, struct err *reterr)
{
	struct workload_text read = {
		.workload = {.scale = 1, .jitter = 1},
		.offset_s = -1,
		.gap_s = GAP_S,
	};
	struct workload *workload = &read.workload;
	char copy[WORKLOAD_TEXT_MAX];
	unsigned int seen = 0;
	char *rest;
	int r;

	if (strlen(text) >= sizeof(copy))
		return err_fail(reterr, EINVAL, "workload: too long (limit %d characters)",
				WORKLOAD_TEXT_MAX - 1);
	strcpy(workload->text, text);
	strcpy(copy, text);
	rest = strchr(copy, ':');
	if (rest)
		*rest++ = '\0';
	workload->model = find_model(copy);
	if (!workload->model)
		return fail_unknown_model(copy, reterr);
	workload->kind = workload->model->kind;
	workload->gpu_ms = workload->model->gpu_ms;
	workload->cpu_ms = workload->model->cpu_ms;
	while (rest) {
		char *setting = strsep(&rest, ",");

		r = take_setting(&read, setting, &seen, reterr);
		if (r < 0)
			return r;
	}
	r = check_required(workload->model, seen, reterr);
	if (r < 0)
		return r;
	*ret_text = read;
	return 0;
}

int workload_parse(const char *text, struct workload *ret_workload, struct err *reterr)
{
	struct workload_text read;
	int r = read_text(text, &read, reterr);

	if (r < 0)
		return r;
	if (read.workload.model->takes & TAKES_TRACE)
		return err_fail(reterr, EINVAL,
				"workload %s: available only in gover-sim run and compare",
				read.workload.model->name);
	*ret_workload = read.workload;
	return 0;
}

/* --- workloads from traces: the part to play must be within the trace --- */

static uint64_t ns_of(double s)
{
	return (uint64_t)llround(s * (double)NS_PER_S);
}

/* Sets the part of the trace to play. */
static int set_part(const struct workload_text *text, const struct trace *trace,
		    struct playback *playback, struct err *reterr)
{
	uint64_t begin_ns = trace_begin_ns(trace), end_ns = trace_end_ns(trace);

	playback->from_ns = text->offset_s < 0 ? begin_ns : ns_of(text->offset_s);
	if (playback->from_ns < begin_ns || playback->from_ns >= end_ns)
		return err_fail(
			reterr, EINVAL,
			"workload trace: offset_s %.10g: outside of %.200s (allowed: %.10g to "
			"%.10g)",
			text->offset_s, text->file, trace_begin_s(trace), trace_end_s(trace));
	playback->length_ns = end_ns - playback->from_ns;
	if (text->length_s <= 0)
		return 0;
	if (ns_of(text->length_s) > playback->length_ns)
		return err_fail(
			reterr, EINVAL,
			"workload trace: length_s %.10g: %.200s is too short (allowed: up to "
			"%.10g)",
			text->length_s, text->file, (double)playback->length_ns / (double)NS_PER_S);
	playback->length_ns = ns_of(text->length_s);
	return 0;
}

static int set_trace(struct workload_text *text, const struct trace *trace,
		     struct workload *ret_workload, struct err *reterr)
{
	struct playback *playback = &text->workload.playback;
	int r = set_part(text, trace, playback, reterr);

	if (r < 0)
		return r;
	playback->trace = trace;
	playback->gap_ns = ns_of(text->gap_s);
	playback->scale = text->workload.scale;
	if (!text->may_have_gaps) {
		r = trace_check_gaps(trace, playback->from_ns,
				     playback->from_ns + playback->length_ns, playback->gap_ns,
				     reterr);
		if (r < 0)
			return r;
	}
	if (trace_has_frames(trace))
		text->workload.kind = WORKLOAD_FRAMES;
	*ret_workload = text->workload;
	return 0;
}

static int path_of(const char *dir, const char *file, char path[PATH_MAX], struct err *reterr)
{
	bool is_absolute = !dir || *file == '/';

	if (snprintf(path, PATH_MAX, "%s%s%s", is_absolute ? "" : dir, is_absolute ? "" : "/",
		     file) >= PATH_MAX)
		return err_fail(reterr, ENAMETOOLONG, "workload trace: file '%s': path too long",
				file);
	return 0;
}

int workload_load(const char *text, const char *dir, struct workload *ret_workload,
		  struct trace **ret_trace, struct err *reterr)
{
	struct workload_text read;
	struct trace *trace = NULL;
	char path[PATH_MAX];
	int r = read_text(text, &read, reterr);

	if (r < 0)
		return r;
	if (!(read.workload.model->takes & TAKES_TRACE)) {
		*ret_workload = read.workload;
		*ret_trace = NULL;
		return 0;
	}
	r = path_of(dir, read.file, path, reterr);
	if (r >= 0)
		r = trace_load(path, &trace, reterr);
	if (r >= 0)
		r = set_trace(&read, trace, ret_workload, reterr);
	if (r < 0) {
		trace_free(trace);
		return r;
	}
	*ret_trace = trace;
	return 0;
}

int workload_from_trace(const char *text, const struct trace *trace, struct workload *ret_workload,
			struct err *reterr)
{
	struct workload_text read;
	int r = read_text(text, &read, reterr);

	if (r < 0)
		return r;
	if (!(read.workload.model->takes & TAKES_TRACE))
		return err_fail(reterr, EINVAL, "workload %s: not a trace",
				read.workload.model->name);
	return set_trace(&read, trace, ret_workload, reterr);
}
