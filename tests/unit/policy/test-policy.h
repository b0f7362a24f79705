/* SPDX-License-Identifier: MIT */
/* Common code of the policy tests: a GPU from a table row, and decisions as one line of text.
 */
#ifndef TESTS_UNIT_POLICY_TEST_POLICY_H
#define TESTS_UNIT_POLICY_TEST_POLICY_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"
#include "tests/unit/unit.h"

#define BENCH_MAX 9

/* One vGPU of a table row. Omitted members are 0: no target, not held, no earlier breach. */
struct given {
	const char *id; /* NULL ends the vGPUs of a row */
	int contract, cap;
	double util;	    /* NAN: invalid reading */
	double peak;	    /* load in the previous period, fraction of the GPU */
	double target, fps; /* NAN: invalid reading */
	bool work;	    /* target and fps are units of work per second */
	int over_run;	    /* earlier consecutive periods above overload_pct */
	int claim;	    /* claim under policy credit, percent */
	int short_run;	    /* earlier consecutive periods short of target and GPU-bound */
	int min_cap;
	double weight; /* 0: a weight of 1 */
	bool held, burst;
};

struct bench {
	const struct policy *policy; /* policy under test; gover by default */
	struct policy_params params;
	struct policy_gpu gpu;
	struct policy_vgpu vgpus[BENCH_MAX];
	struct policy_track tracks[BENCH_MAX];
	struct policy_out out;
	char text[1024];
};

static struct bench bench;

/* Returns @n, or the percentage of @n in GOVER_TEST_PCT, so that random tests can be shorter. */
static inline int bench_scaled(int n)
{
	const char *pct = getenv("GOVER_TEST_PCT");

	return pct ? (n * atoi(pct) + 99) / 100 : n;
}

/* State of the random numbers: not 0. */
static uint64_t random_state;

/* Sets the state to GOVER_TEST_SEED, which selects other tenants, or to @usual. */
static inline void random_begin(uint64_t usual)
{
	const char *seed = getenv("GOVER_TEST_SEED");

	random_state = seed ? strtoull(seed, NULL, 10) : usual;
}

static inline uint64_t random_next(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * UINT64_C(2685821657736338717);
}

/* Returns a number from @low to @high, both included. */
static inline int random_int(int low, int high)
{
	return low + (int)((random_next() >> 33) % (uint64_t)(high - low + 1));
}

/* Sets the readings. An invalid reading keeps the old value, which a policy must not use. */
static inline void bench_read(struct policy_vgpu *vgpu, double util, double fps)
{
	vgpu->sample.busy_valid = !isnan(util);
	vgpu->sample.util = vgpu->sample.busy_valid ? util : vgpu->sample.util;
	vgpu->sample.load = vgpu->sample.util * vgpu->cap_pct / 100;
	vgpu->sample.fps_valid = !isnan(fps);
	vgpu->sample.fps = vgpu->sample.fps_valid ? fps : vgpu->sample.fps;
}

static inline void bench_init(const struct given *given, int step_pct)
{
	memset(&bench, 0, sizeof(bench));
	bench.policy = policy_find("gover");
	policy_params_default(&bench.params);
	bench.gpu.name = "gpu0";
	bench.gpu.step_pct = step_pct;
	bench.gpu.floor_pct = step_pct;
	bench.gpu.period_s = 1;
	bench.gpu.vgpus = bench.vgpus;
	bench.gpu.n_flavors = 1;
	for (int i = 0; i < BENCH_MAX && given[i].id; i++) {
		const struct given *row = &given[i];
		struct policy_track *track = &bench.tracks[i];

		track->overload_run = row->over_run;
		track->short_run = row->short_run;
		track->claim_pct = row->claim;
		track->window_load[0] = (float)row->peak;
		track->window_next = track->window_fill = 1;
		bench.vgpus[i] = (struct policy_vgpu){
			.id = row->id,
			.terms = {.initial_cap_pct = row->contract,
				  .min_cap_pct = row->min_cap,
				  .target_fps = row->target,
				  .counts_work = row->work,
				  .weight = row->weight > 0 ? row->weight : 1,
				  .burst = row->burst},
			.track = track,
			.held = row->held,
			.cap_pct = row->cap,
			.sample.util = 0.1,
			.sample.fps = row->target,
		};
		bench_read(&bench.vgpus[i], row->util, row->fps);
		bench.gpu.n_vgpus++;
	}
}

static inline int bench_index(const char *id)
{
	for (int i = 0; i < bench.gpu.n_vgpus; i++)
		if (strcmp(bench.vgpus[i].id, id) == 0)
			return i;
	fail_msg("no vGPU %s", id);
	return -1;
}

static inline void bench_step(void)
{
	bench.policy->step(&bench.params, &bench.gpu, &bench.out);
}

/* Returns the decisions as text: "steal b from a: a 50->44, b 20->26"; "" for no decision. */
static inline const char *bench_text(void)
{
	const struct policy_out *out = &bench.out;
	char *end = bench.text + sizeof(bench.text), *at = bench.text;

	*at = '\0';
	for (int i = 0; i < out->n_decisions; i++) {
		const struct policy_decision *decision = &out->decisions[i];

		assert_true(decision->vgpu >= -1 && decision->donor >= -1);
		at += snprintf(at, end - at, "%s%s", i ? "; " : "",
			       policy_kind_name(decision->kind));
		if (decision->vgpu >= 0)
			at += snprintf(at, end - at, " %s", bench.vgpus[decision->vgpu].id);
		if (decision->donor >= 0)
			at += snprintf(at, end - at, " from %s", bench.vgpus[decision->donor].id);
		for (int j = 0; j < decision->n_moves; j++) {
			const struct policy_move *move = &out->moves[decision->first_move + j];

			at += snprintf(at, end - at, "%s %s %d->%d", j ? "," : ":",
				       bench.vgpus[move->vgpu].id, move->from_pct, move->to_pct);
		}
	}
	return bench.text;
}

/* Returns the number @name of the only decision. */
static inline double bench_number(const char *name)
{
	const struct policy_decision *decision = &bench.out.decisions[0];

	assert_int_equal(bench.out.n_decisions, 1);
	for (int i = 0; i < decision->n_numbers; i++)
		if (strcmp(decision->numbers[i].name, name) == 0)
			return decision->numbers[i].value;
	fail_msg("no number %s", name);
	return NAN;
}

/* Checks the numbers of @decision, as text: "name=value name=value". */
static inline void bench_check_numbers(const struct policy_decision *decision, const char *numbers)
{
	char text[512] = "";
	size_t used = 0;

	for (int i = 0; i < decision->n_numbers; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s=%.4g",
					 i ? " " : "", decision->numbers[i].name,
					 decision->numbers[i].value);
	assert_string_equal(text, numbers);
}

/* Checks the sentence and the numbers of @decision. */
static inline void bench_check_said(const struct policy_decision *decision, const char *why,
				    const char *numbers)
{
	assert_string_equal(decision->why, why);
	bench_check_numbers(decision, numbers);
}

/* Checks that each want_cap_pct is the cap in the move of the vGPU, or cap_pct if it has no move.
 */
static inline void bench_check_wants(void)
{
	int want[BENCH_MAX];

	for (int i = 0; i < bench.gpu.n_vgpus; i++)
		want[i] = bench.vgpus[i].cap_pct;
	for (int i = 0; i < bench.out.n_moves; i++) {
		assert_int_equal(bench.out.moves[i].from_pct, want[bench.out.moves[i].vgpu]);
		want[bench.out.moves[i].vgpu] = bench.out.moves[i].to_pct;
	}
	for (int i = 0; i < bench.gpu.n_vgpus; i++)
		assert_int_equal(bench.vgpus[i].want_cap_pct, want[i]);
}

#endif
