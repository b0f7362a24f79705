/* SPDX-License-Identifier: MIT */
/* Models of tenants. Pure; must never draw on anything random but its own seed. */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/parse.h"
#include "sim/workload.h"

#define PERIOD_NS  (10 * NS_PER_S) /* of plot3d's load; length of a glmark2 scene */
#define JITTER_GPU 0.10
#define JITTER_CPU 0.05
#define GPU_MIN_NS 10000 /* a shorter frame is not drawn by any GPU, and bounds the events */

#define TAKES_FRAME  (1u << 0)
#define TAKES_PACING (1u << 1)
#define TAKES_LOAD   (1u << 2)

struct workload_model {
	const char *name;
	enum workload_kind kind;
	unsigned int takes;		/* which keys */
	double gpu_ms, cpu_ms;		/* of a frame; 0: given by keys, or by shape */
	double (*shape)(uint64_t t_ns); /* GPU ms of a frame that begins at its time @t_ns */
	uint64_t cycle_ns;		/* after which the shape begins anew; 0: has none */
};

static const double glmark2_scenes_ms[] = {1.2, 1.8, 1.5, 2.2, 1.1, 1.6, 2.4, 1.4};

static double glmark2_gpu_ms(uint64_t t_ns)
{
	return glmark2_scenes_ms[t_ns / PERIOD_NS % ARRAY_SIZE(glmark2_scenes_ms)];
}

static double plot3d_gpu_ms(uint64_t t_ns)
{
	return 14.5 + 1.5 * sin(2 * M_PI * (double)(t_ns % PERIOD_NS) / (double)PERIOD_NS);
}

static const struct workload_model models[] = {
	{.name = "idle", .kind = WORKLOAD_IDLE},
	{.name = "glxgears",
	 .kind = WORKLOAD_FRAMES,
	 .takes = TAKES_PACING,
	 .gpu_ms = 0.50,
	 .cpu_ms = 4.0},
	{.name = "glmark2",
	 .kind = WORKLOAD_FRAMES,
	 .takes = TAKES_PACING,
	 .cpu_ms = 2.2,
	 .shape = glmark2_gpu_ms,
	 .cycle_ns = ARRAY_SIZE(glmark2_scenes_ms) * PERIOD_NS},
	{.name = "plot3d",
	 .kind = WORKLOAD_FRAMES,
	 .takes = TAKES_PACING,
	 .cpu_ms = 18,
	 .shape = plot3d_gpu_ms,
	 .cycle_ns = PERIOD_NS},
	{.name = "frame", .kind = WORKLOAD_FRAMES, .takes = TAKES_FRAME | TAKES_PACING},
	{.name = "busy", .kind = WORKLOAD_BUSY},
	{.name = "load", .kind = WORKLOAD_LOAD, .takes = TAKES_LOAD},
};

static const struct key {
	const char *name;
	unsigned int of; /* TAKES_... */
	bool required;
	double min, max;
	size_t offset; /* of a double in struct workload; 0: the seed */
	const char *allowed;
} keys[] = {
	{"gpu_ms", TAKES_FRAME, true, 0.01, 10000, offsetof(struct workload, gpu_ms),
	 "a number from 0.01 to 10000"},
	{"cpu_ms", TAKES_FRAME, true, 0, 10000, offsetof(struct workload, cpu_ms),
	 "a number from 0 to 10000"},
	{"scale", TAKES_PACING, false, 0.01, 100, offsetof(struct workload, scale),
	 "a number from 0.01 to 100"},
	{"fps_max", TAKES_PACING, false, 0.1, 10000, offsetof(struct workload, fps_max),
	 "a number from 0.1 to 10000"},
	{"seed", TAKES_PACING, false, 0, 0, 0, "a whole number from 0 to 9223372036854775807"},
	{"pct", TAKES_LOAD, true, 0, 100, offsetof(struct workload, pct), "a number from 0 to 100"},
};

static void append_word(char *text, size_t size, const char *word)
{
	size_t length = strlen(text);

	snprintf(text + length, size - length, "%s%s", length > 0 ? ", " : "", word);
}

static int fail_unknown_model(const char *name, struct err *reterr)
{
	char names[128] = "";

	for (size_t i = 0; i < ARRAY_SIZE(models); i++)
		append_word(names, sizeof(names), models[i].name);
	return err_fail(reterr, EINVAL, "workload '%s' is not known; allowed: %s", name, names);
}

static int fail_unknown_key(const struct workload_model *model, const char *name,
			    struct err *reterr)
{
	char names[128] = "";

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].of & model->takes)
			append_word(names, sizeof(names), keys[i].name);
	return err_fail(reterr, EINVAL, "workload %s: no key '%s'; allowed: %s", model->name, name,
			model->takes ? names : "none");
}

static int set_seed(struct workload *workload, const char *value)
{
	int64_t seed;
	int r = parse_int(value, 0, INT64_MAX, &seed);

	if (r < 0)
		return r;
	workload->seeded = true;
	workload->seed = (uint64_t)seed;
	return 0;
}

/* Takes one "key=value"; @seen has a bit for each of keys[]. */
static int take_setting(struct workload *workload, char *setting, unsigned int *seen,
			struct err *reterr)
{
	const struct workload_model *model = workload->model;
	char *value = strchr(setting, '=');

	if (!value)
		return err_fail(reterr, EINVAL, "workload %s: '%s' is not of the form key=value",
				model->name, setting);
	*value++ = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const struct key *key = &keys[i];
		int r;

		if (strcmp(key->name, setting) != 0 || !(key->of & model->takes))
			continue;
		if (*seen & 1u << i)
			return err_fail(reterr, EINVAL, "workload %s: %s is given twice",
					model->name, key->name);
		*seen |= 1u << i;
		if (key->offset == 0)
			r = set_seed(workload, value);
		else
			r = parse_double(value, key->min, key->max,
					 (double *)(void *)((char *)workload + key->offset));
		if (r < 0)
			return err_fail(reterr, EINVAL, "workload %s: %s '%s': allowed is %s",
					model->name, key->name, value, key->allowed);
		return 0;
	}
	return fail_unknown_key(model, setting, reterr);
}

static const struct workload_model *find_model(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(models); i++)
		if (strcmp(models[i].name, name) == 0)
			return &models[i];
	return NULL;
}

int workload_parse(const char *text, struct workload *ret_workload, struct err *reterr)
{
	struct workload workload = {.scale = 1};
	char copy[WORKLOAD_TEXT_MAX];
	unsigned int seen = 0;
	char *rest;
	int r;

	if (strlen(text) >= sizeof(copy))
		return err_fail(reterr, EINVAL, "workload: longer than %d characters",
				WORKLOAD_TEXT_MAX - 1);
	strcpy(workload.text, text);
	strcpy(copy, text);
	rest = strchr(copy, ':');
	if (rest)
		*rest++ = '\0';
	workload.model = find_model(copy);
	if (!workload.model)
		return fail_unknown_model(copy, reterr);
	workload.kind = workload.model->kind;
	workload.gpu_ms = workload.model->gpu_ms;
	workload.cpu_ms = workload.model->cpu_ms;
	while (rest) {
		char *setting = strsep(&rest, ",");

		r = take_setting(&workload, setting, &seen, reterr);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].required && (keys[i].of & workload.model->takes) && !(seen & 1u << i))
			return err_fail(reterr, EINVAL, "workload %s: %s is missing; allowed is %s",
					workload.model->name, keys[i].name, keys[i].allowed);
	*ret_workload = workload;
	return 0;
}

/* SplitMix64 (Steele, Lea, Flood 2014): every seed is a good one. */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* 1 +- @jitter, evenly. */
static double jittered(uint64_t *state, double jitter)
{
	return 1 + jitter * ((double)(draw(state) >> 11) * 0x1p-52 - 1);
}

/* FNV-1a. */
static uint64_t seed_of_id(const char *id)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *id; id++)
		hash = (hash ^ (unsigned char)*id) * 0x100000001b3u;
	return hash;
}

void workload_start(struct workload_run *run, const struct workload *workload, const char *id,
		    uint64_t now_ns)
{
	uint64_t cycle_ns = workload->model->cycle_ns;

	run->workload = *workload;
	run->random = workload->seeded ? workload->seed : seed_of_id(id);
	run->began_ns = now_ns;
	if (cycle_ns > 0)
		run->began_ns -= draw(&run->random) % cycle_ns;
	run->interval_ns = 0;
	if (workload->fps_max > 0)
		run->interval_ns = (uint64_t)llround((double)NS_PER_S / workload->fps_max);
	run->frame_ns = now_ns - run->interval_ns;
}

struct workload_frame workload_next_frame(struct workload_run *run, uint64_t now_ns)
{
	const struct workload *workload = &run->workload;
	struct workload_frame frame = {.begin_ns = now_ns};
	double gpu_ms = workload->gpu_ms;

	/* Differences only: began_ns and frame_ns may lie before the clock's 0. */
	if (now_ns - run->frame_ns < run->interval_ns)
		frame.begin_ns = run->frame_ns + run->interval_ns;
	run->frame_ns = frame.begin_ns;
	if (workload->model->shape)
		gpu_ms = workload->model->shape(frame.begin_ns - run->began_ns);
	gpu_ms *= workload->scale * jittered(&run->random, JITTER_GPU);
	frame.gpu_ns = (uint64_t)(gpu_ms * (double)NS_PER_MS);
	if (frame.gpu_ns < GPU_MIN_NS)
		frame.gpu_ns = GPU_MIN_NS;
	frame.cpu_ns = (uint64_t)(workload->cpu_ms * jittered(&run->random, JITTER_CPU) *
				  (double)NS_PER_MS);
	return frame;
}
