/* SPDX-License-Identifier: MIT */
/*
 * Helpers of test-experiment*.c: an experiment from a text, with a stub policy. The stub policy
 * records its input, and makes the decisions that the test sets.
 */
#ifndef TESTS_UNIT_SIM_EXPERIMENT_TEST_EXPERIMENT_H
#define TESTS_UNIT_SIM_EXPERIMENT_TEST_EXPERIMENT_H

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "sim/experiment/experiment.h"
#include "tests/unit/temp-file.h"
#include "tests/unit/unit.h"

#define EVENTS_MAX 512
#define THREE	   "[scenario]\nseconds = 60\n[tenant a]\nworkload = glxgears\ntarget_fps = 140\n"

static struct scenario scenario; /* too large for the stack */
static struct experiment *experiment;
static struct err err;

/* All reported events. */
static struct {
	double t_s;
	char kind[16], vgpu[ID_MAX];
} events[EVENTS_MAX];
static int n_events;

/* The last input of the stub policy. The stub policy never moves a cap. */
static struct policy_gpu seen;
static struct policy_vgpu seen_vgpus[POLICY_VGPUS_MAX];
static bool offering, severe;
static int fund_pct;

static void stub_step(const struct policy_params *params, struct policy_gpu *gpu,
		      struct policy_out *out)
{
	(void)params;
	seen = *gpu;
	memcpy(seen_vgpus, gpu->vgpus, (size_t)gpu->n_vgpus * sizeof(seen_vgpus[0]));
	out->n_decisions = out->n_moves = 0;
	gpu->conditions = severe ? POLICY_SEVERE_OVERLOAD : 0;
	for (int i = 0; i < gpu->n_vgpus; i++)
		gpu->vgpus[i].broken = false;
	if (severe)
		out->decisions[out->n_decisions++] =
			(struct policy_decision){.kind = POLICY_SEVERE, .vgpu = 0, .donor = -1};
	if (offering)
		out->decisions[out->n_decisions++] =
			(struct policy_decision){.kind = POLICY_OFFER, .vgpu = -1, .donor = -1};
}

static int stub_fund(const struct policy_params *params, struct policy_gpu *gpu,
		     const struct policy_terms *terms, struct policy_out *out)
{
	(void)params;
	(void)gpu;
	(void)terms;
	out->n_decisions = out->n_moves = 0;
	return fund_pct;
}

static const struct policy stub = {
	.name = "stub", .step = stub_step, .fund = stub_fund, .give_back = policy_return};

static void record_event(void *userdata, const struct experiment_event *event)
{
	(void)userdata;
	assert_true(n_events < EVENTS_MAX);
	events[n_events].t_s = event->t_s;
	snprintf(events[n_events].kind, sizeof(events[0].kind), "%s", event->kind);
	snprintf(events[n_events++].vgpu, sizeof(events[0].vgpu), "%s", event->vgpu);
}

/* Returns the number of events of @kind. *@ret_first_s: time of the first of these events. */
static inline int count_events(const char *kind, double *ret_first_s)
{
	int n = 0;

	for (int i = n_events; i-- > 0;)
		if (strcmp(events[i].kind, kind) == 0) {
			*ret_first_s = events[i].t_s;
			n++;
		}
	return n;
}

static int begin(void)
{
	offering = severe = false;
	fund_pct = 10;
	n_events = 0;
	return 0;
}

static int end(void)
{
	experiment = experiment_free(experiment);
	scenario_fini(&scenario);
	return 0;
}

static void make_with(const char *text, const struct policy *policy, uint64_t seed,
		      const struct experiment_hooks *hooks)
{
	temp_file_write(text);
	experiment = experiment_free(experiment);
	scenario_fini(&scenario);
	if (scenario_load(temp_file, &scenario, &err) < 0)
		fail_msg("%s", err.msg);
	if (experiment_new(&scenario, policy, seed, hooks, &experiment, &err) < 0)
		fail_msg("%s", err.msg);
}

static inline void make(const char *text)
{
	static const struct experiment_hooks hooks = {.on_event = record_event};

	make_with(text, &stub, 1, &hooks);
}

static void run_periods(int periods)
{
	while (periods-- > 0)
		(void)experiment_step(experiment);
}

static struct experiment_summary summary(void)
{
	struct experiment_summary sum;

	experiment_summarize(experiment, &sum);
	return sum;
}

#endif
