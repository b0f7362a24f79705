/* SPDX-License-Identifier: MIT */
/*
 * gover-sim replay: plays the recorded demand under other policies. Each run is an experiment in a
 * thread of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/terminal/field.h"
#include "base/thread.h"
#include "base/xalloc.h"
#include "sim/host/replay.h"
#include "sim/host/run.h"

#define REMOVE_S 300 /* a new vGPU is removed this many seconds after its sale failed */

/* The simulation of one run on one GPU. */
struct run {
	const struct policy *policy;
	uint64_t seed;
	struct scenario *scenario; /* NULL: the run is not made */
	struct experiment_summary summary;
	struct err err;
	int result;
};

/* --- the parameters --- */

static const char *value_text(const json_t *value, char text[64])
{
	if (json_is_boolean(value))
		return json_is_true(value) ? "on" : "off";
	if (json_is_string(value))
		return json_string_value(value);
	snprintf(text, 64, "%.15g", json_number_value(value));
	return text;
}

/*
 * Sets the parameter @key, named as in `policy set`. Returns -ENOENT if @key has no effect in an
 * experiment.
 */
static int set_key(struct scenario *scenario, const char *key, const json_t *value,
		   struct err *reterr)
{
	static const char *const sections[] = {"policy.", "offer.", "price."};
	char number[64], name[96];
	int r = -ENOENT;

	for (size_t i = 0; r == -ENOENT && i < ARRAY_SIZE(sections); i++) {
		snprintf(name, sizeof(name), "%s%s", sections[i], key);
		r = scenario_set(scenario, name, value_text(value, number), reterr);
	}
	return r;
}

/* Applies the parameters in force. Keys without effect in an experiment are ignored. */
static int set_in_force(struct scenario *scenario, json_t *params, struct err *reterr)
{
	const char *key;
	json_t *value;
	int r = 0;

	json_object_foreach (params, key, value) {
		if (r == 0)
			r = set_key(scenario, key, value, reterr);
		if (r == -ENOENT)
			r = 0;
	}
	return r;
}

static int set_options(const struct replay *replay, struct scenario *scenario, struct err *reterr)
{
	json_t *value;
	const char *key;
	int r = 0;

	json_object_foreach (json_object_get(replay->head, "values"), key, value) {
		if (r == 0)
			r = set_key(scenario, key, value, reterr);
		if (r == -ENOENT)
			r = err_fail(reterr, EINVAL, "%s: has no effect in a simulation", key);
	}
	return r;
}

/* --- one run --- */

static int add_newcomers(const struct replay *replay, const struct recording_newcomers *newcomers,
			 struct scenario *scenario, struct err *reterr)
{
	struct scenario_tenant *tenant;

	if (newcomers)
		return recording_newcomers_add(newcomers, scenario, reterr);
	tenant = scenario_add_tenant(scenario, "newcomer");
	strcpy(tenant->workload_text, "--newcomer");
	tenant->workload = replay->newcomer;
	return 0;
}

static int make_scenario(const struct replay *replay, const struct replay_gpu *gpu,
			 const struct recording_newcomers *newcomers, enum replay_run which,
			 struct scenario *scenario, struct err *reterr)
{
	int r;

	scenario_default(scenario);
	scenario->step_pct = gpu->step_pct;
	scenario->floor_pct = gpu->floor_pct;
	scenario->migrate = gpu->migrates;
	scenario->remove_s = REMOVE_S;
	if (gpu->weights)
		strcpy(scenario->discipline, "weight");
	r = recording_tenants(gpu->recording, scenario, reterr);
	if (r == 0)
		r = set_in_force(scenario, json_object_get(replay->in_force, "params"), reterr);
	if (r == 0 && which == REPLAY_TRIAL)
		r = set_options(replay, scenario, reterr);
	if (r == 0 && scenario->params.paper_mode && gpu->sharing == POLICY_SHARING_GUARANTEE)
		return err_fail(reterr, EINVAL,
				"GPU %s has sharing = guarantee: paper_mode cannot be simulated",
				gpu->name);
	scenario->sharing = gpu->sharing;
	if (r == 0 && which != REPLAY_MODEL && replay->newcomers)
		r = add_newcomers(replay, newcomers, scenario, reterr);
	return r == 0 ? scenario_check(scenario, reterr) : r;
}

static void play(void *userdata, int index)
{
	struct run *run = &((struct run *)userdata)[index];
	struct experiment *experiment;

	if (!run->scenario)
		return;
	run->result =
		experiment_new(run->scenario, run->policy, run->seed, NULL, &experiment, &run->err);
	if (run->result == 0)
		experiment_finish(experiment, &run->summary);
}

/* Summarizes the recording with the prices that are configured now. */
static int sum_recorded(const struct replay *replay, struct replay_gpu *gpu, struct err *reterr)
{
	CLEANUP_FREE struct scenario *scenario = xmalloc(sizeof(*scenario));
	int r = make_scenario(replay, gpu, NULL, REPLAY_MODEL, scenario, reterr);

	if (r == 0)
		recording_summarize(gpu->recording, scenario, &gpu->summaries[REPLAY_RECORDED]);
	return r;
}

static int play_runs(const struct replay *replay, struct replay_gpu *gpu,
		     const struct recording_newcomers *newcomers, struct err *reterr)
{
	struct run runs[REPLAY_RUNS] = {{0}};
	int r = 0;

	for (int i = REPLAY_MODEL; r == 0 && i < REPLAY_RUNS; i++) {
		if (!replay->has[i])
			continue;
		runs[i].policy = policy_find(replay->policies[i]);
		runs[i].seed = replay->seed;
		runs[i].scenario = xmalloc(sizeof(*runs[i].scenario));
		r = make_scenario(replay, gpu, newcomers, (enum replay_run)i, runs[i].scenario,
				  reterr);
	}
	if (r == 0)
		thread_run_all(REPLAY_RUNS, play, runs);
	for (int i = REPLAY_MODEL; i < REPLAY_RUNS; i++) {
		if (r == 0 && runs[i].result < 0)
			r = err_fail(reterr, -runs[i].result, "%s", runs[i].err.msg);
		gpu->summaries[i] = runs[i].summary;
		free(runs[i].scenario);
	}
	return r;
}

static int play_gpu(const struct replay *replay, struct replay_gpu *gpu, struct err *reterr)
{
	struct recording_newcomers *newcomers = NULL;
	int r = recording_finish(gpu->recording, &gpu->why);

	if (r == -ENODATA)
		return 0;
	if (r < 0)
		return err_fail(reterr, -r, "GPU %s: %s", gpu->name, gpu->why.msg);
	gpu->facts = recording_facts(gpu->recording);
	if (replay->newcomers && !replay->newcomer_text)
		r = recording_newcomers_new(gpu->recording, replay->seed, &newcomers, reterr);
	if (r == 0)
		r = sum_recorded(replay, gpu, reterr);
	if (r == 0)
		r = play_runs(replay, gpu, newcomers, reterr);
	recording_newcomers_free(newcomers);
	gpu->recording = recording_free(gpu->recording);
	gpu->played = r == 0;
	return r;
}

/* --- the command --- */

static int take_newcomers(struct replay *replay, struct err *reterr)
{
	const char *text = field_text(replay->head, "newcomers");
	struct err err;

	replay->newcomers = strcmp(text, "none") != 0;
	if (!replay->newcomers || strcmp(text, "recorded") == 0)
		return 0;
	replay->newcomer_text = text;
	if (workload_load(text, NULL, &replay->newcomer, &replay->newcomer_trace, &err) < 0)
		return err_fail(reterr, EINVAL, "--newcomer: %s", err.msg);
	return 0;
}

static int check_policy(const char *name, struct err *reterr)
{
	char names[256];

	if (policy_find(name))
		return 0;
	run_list_policies(", ", names, sizeof(names));
	return err_fail(reterr, EINVAL, "--policy: unknown policy '%.60s' (allowed: %s)", name,
			names);
}

/* Chooses the runs and the policy of each run. */
static int plan_runs(struct replay *replay, struct err *reterr)
{
	const char *in_force = field_text(replay->in_force, "name");
	const char *trial = json_string_value(json_object_get(replay->head, "policy"));
	int r = trial ? check_policy(trial, reterr) : 0;

	if (r == 0)
		r = take_newcomers(replay, reterr);
	if (r == 0 && !policy_find(in_force))
		r = err_fail(reterr, ENOENT,
			     "policy in force '%.60s': unknown to this version of gover-sim",
			     in_force);
	for (int i = 0; i < REPLAY_RUNS; i++)
		replay->policies[i] = i == REPLAY_TRIAL && trial ? trial : in_force;
	replay->seed = (uint64_t)json_integer_value(json_object_get(replay->head, "seed"));
	replay->has[REPLAY_RECORDED] = true;
	replay->has[REPLAY_MODEL] = true;
	replay->has[REPLAY_IN_FORCE] = replay->newcomers;
	replay->has[REPLAY_TRIAL] =
		trial || json_array_size(json_object_get(replay->head, "set")) > 0;
	return r;
}

/* Fails if no GPU could be simulated. */
static int check_result(const struct replay *replay, struct err *reterr)
{
	const struct replay_gpu *first = &replay->gpus[0];

	for (int i = 0; i < replay->n_gpus; i++)
		if (replay->gpus[i].played)
			return 0;
	return err_fail(reterr, ENODATA, "GPU %s, %s to %s: %s%s%s", first->name,
			field_text(replay->head, "from"), field_text(replay->head, "to"),
			first->why.msg,
			replay->kept_from[0] ? "; the values of each period are kept from " : "",
			replay->kept_from[0] ? replay->kept_from : "");
}

int replay_run(bool json, struct err *reterr)
{
	CLEANUP_FREE struct replay *replay = xcalloc(1, sizeof(*replay));
	int r = replay_read_head(replay, reterr);

	if (r == 0)
		r = plan_runs(replay, reterr);
	if (r == 0)
		r = replay_read(replay, reterr);
	for (int i = 0; r == 0 && i < replay->n_gpus; i++)
		r = play_gpu(replay, &replay->gpus[i], reterr);
	if (r == 0)
		r = check_result(replay, reterr);
	if (r == 0)
		replay_print(replay, json);
	if (r == 0 && (fflush(stdout) != 0 || ferror(stdout)))
		r = err_fail(reterr, EIO, "standard output: %s", strerror(errno));
	for (int i = 0; i < replay->n_gpus; i++)
		recording_free(replay->gpus[i].recording);
	trace_free(replay->newcomer_trace);
	json_decref(replay->head);
	return r;
}
