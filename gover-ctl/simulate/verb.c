/* SPDX-License-Identifier: MIT */
/*
 * `simulate`: replays the recorded demand under other policies. Each run is an experiment in a
 * thread of its own. Nothing on the host is changed.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "gover-ctl/field.h"
#include "gover-ctl/verb/policy-set.h"
#include "gover-ctl/simulate/simulate.h"
#include "gover-ctl/verb/verbs.h"

#define DAY_S	     (24 * 3600)
#define SEED_DEFAULT 1
#define REMOVE_S     300 /* a new vGPU is removed this many seconds after its sale failed */

/* The simulation of one run on one GPU, in a thread of its own. */
struct run {
	enum simulate_run which;
	const struct simulate *simulate;
	struct scenario *scenario;
	struct experiment_summary summary;
	struct err err;
	pthread_t thread;
	bool started;
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

/* Parses the arguments of --set. Each value is converted to the type of the parameter. */
static int take_sets(const struct simulate *simulate, json_t **ret_sets, struct err *reterr)
{
	json_t *sets = json_object();
	int r = sets ? 0 : err_fail(reterr, ENOMEM, "out of memory");

	for (size_t i = 0; r == 0 && i < simulate->n_sets; i++)
		r = policy_set_add_pair(sets, simulate->sets[i], simulate->in_force, reterr);
	if (r == 0 && json_object_get(sets, "name"))
		r = err_fail(reterr, EINVAL, "name: not allowed (use --policy)");
	if (r < 0)
		json_decref(sets);
	else
		*ret_sets = sets;
	return r;
}

static int set_options(const struct simulate *simulate, struct scenario *scenario,
		       struct err *reterr)
{
	const json_t *file = json_object_get(simulate->in_force, "file");
	const char *key;
	json_t *sets, *value;
	int r = take_sets(simulate, &sets, reterr);

	if (r < 0)
		return r;
	json_object_foreach (sets, key, value) {
		if (r == 0)
			r = set_key(scenario, key,
				    json_is_null(value) ? json_object_get(file, key) : value,
				    reterr);
		if (r == -ENOENT)
			r = err_fail(reterr, EINVAL, "%s: has no effect in a simulation", key);
	}
	json_decref(sets);
	return r;
}

/* --- one run --- */

static int add_newcomers(const struct simulate *simulate,
			 const struct recording_newcomers *newcomers, struct scenario *scenario,
			 struct err *reterr)
{
	struct scenario_tenant *tenant = &scenario->tenants[scenario->n_tenants];

	if (newcomers)
		return recording_newcomers_add(newcomers, scenario, reterr);
	scenario->n_tenants++;
	*tenant = (struct scenario_tenant){
		.name = "newcomer",
		.workload_text = "--newcomer",
		.workload = simulate->newcomer,
		.flavor = -1,
		.target_fps = -1,
		.weight = 1,
		.arrive_s = SCENARIO_BY_OFFER,
		.count = 1,
	};
	return 0;
}

static int make_scenario(const struct simulate *simulate, const struct simulate_gpu *gpu,
			 const struct recording_newcomers *newcomers, enum simulate_run which,
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
		r = set_in_force(scenario, json_object_get(simulate->in_force, "params"), reterr);
	if (r == 0 && which == SIMULATE_TRIAL)
		r = set_options(simulate, scenario, reterr);
	if (r == 0 && scenario->params.paper_mode && gpu->sharing == POLICY_SHARING_GUARANTEE)
		return err_fail(reterr, EINVAL,
				"GPU %s has sharing = guarantee: paper_mode cannot be simulated",
				gpu->name);
	scenario->sharing = gpu->sharing;
	if (r == 0 && which != SIMULATE_MODEL && simulate->newcomers)
		r = add_newcomers(simulate, newcomers, scenario, reterr);
	return r == 0 ? scenario_check(scenario, reterr) : r;
}

static void *play(void *userdata)
{
	struct run *run = userdata;
	const struct policy *policy = policy_find(run->simulate->policies[run->which]);
	struct experiment *experiment;

	run->result = experiment_new(run->scenario, policy, NULL, run->simulate->seed, NULL,
				     &experiment, &run->err);
	if (run->result < 0)
		return NULL;
	while (experiment_step(experiment))
		;
	experiment_summarize(experiment, &run->summary);
	experiment_free(experiment);
	return NULL;
}

static int begin_run(const struct simulate_gpu *gpu, const struct recording_newcomers *newcomers,
		     struct run *run, struct err *reterr)
{
	int r;

	run->scenario = malloc(sizeof(*run->scenario));
	if (!run->scenario)
		return err_fail(reterr, ENOMEM, "out of memory");
	r = make_scenario(run->simulate, gpu, newcomers, run->which, run->scenario, reterr);
	if (r < 0)
		return r;
	run->started = pthread_create(&run->thread, NULL, play, run) == 0;
	if (!run->started)
		play(run); /* no new thread is available, so this thread plays the run */
	return 0;
}

static int end_run(struct simulate_gpu *gpu, struct run *run, struct err *reterr)
{
	if (run->started)
		pthread_join(run->thread, NULL);
	free(run->scenario);
	if (run->result < 0)
		return err_fail(reterr, -run->result, "%s", run->err.msg);
	gpu->summaries[run->which] = run->summary;
	return 0;
}

/* Summarizes the recording with the prices that are configured now. */
static int sum_recorded(const struct simulate *simulate, struct simulate_gpu *gpu,
			struct err *reterr)
{
	CLEANUP_FREE struct scenario *scenario = malloc(sizeof(*scenario));
	int r = -ENOMEM;

	if (scenario)
		r = make_scenario(simulate, gpu, NULL, SIMULATE_MODEL, scenario, reterr);
	if (r == 0)
		r = recording_summarize(gpu->recording, scenario,
					&gpu->summaries[SIMULATE_RECORDED]);
	return r == -ENOMEM ? err_fail(reterr, ENOMEM, "out of memory") : r;
}

static int play_runs(const struct simulate *simulate, struct simulate_gpu *gpu,
		     const struct recording_newcomers *newcomers, struct err *reterr)
{
	CLEANUP_FREE struct run *runs = calloc(SIMULATE_RUNS, sizeof(*runs));
	int r = runs ? 0 : err_fail(reterr, ENOMEM, "out of memory");

	for (int i = SIMULATE_MODEL; r == 0 && i < SIMULATE_RUNS; i++) {
		runs[i].which = (enum simulate_run)i;
		runs[i].simulate = simulate;
		if (simulate->has[i])
			r = begin_run(gpu, newcomers, &runs[i], reterr);
	}
	for (int i = SIMULATE_MODEL; runs && i < SIMULATE_RUNS; i++) {
		int result = runs[i].scenario ? end_run(gpu, &runs[i], r < 0 ? NULL : reterr) : 0;

		r = r < 0 ? r : result;
	}
	return r;
}

static int play_gpu(const struct simulate *simulate, struct simulate_gpu *gpu, struct err *reterr)
{
	struct recording_newcomers *newcomers = NULL;
	int r = recording_finish(gpu->recording, &gpu->why);

	if (r == -ENODATA)
		return 0;
	if (r < 0)
		return err_fail(reterr, -r, "GPU %s: %s", gpu->name, gpu->why.msg);
	gpu->facts = recording_facts(gpu->recording);
	if (simulate->newcomers && !simulate->newcomer_text)
		r = recording_newcomers_new(gpu->recording, simulate->seed, &newcomers, reterr);
	if (r == 0)
		r = sum_recorded(simulate, gpu, reterr);
	if (r == 0)
		r = play_runs(simulate, gpu, newcomers, reterr);
	recording_newcomers_free(newcomers);
	gpu->recording = recording_free(gpu->recording);
	gpu->played = r == 0;
	return r;
}

/* --- the verb --- */

static enum ctl_exit reject_policy(const char *name)
{
	char names[256] = "";

	for (size_t i = 0; policy_at(i); i++) {
		size_t used = strlen(names);

		snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
			 policy_at(i)->name);
	}
	return ctl_fail(CTL_USAGE, "--policy: unknown policy '%.60s' (allowed: %s)", name, names);
}

static enum ctl_exit take_newcomers(const struct args *args, struct simulate *simulate)
{
	struct err err;

	simulate->newcomers = !args_has(args, OPTION_NO_NEWCOMERS);
	simulate->newcomer_text = args->values[OPTION_NEWCOMER_WORKLOAD];
	if (!simulate->newcomer_text)
		return CTL_DONE;
	if (!simulate->newcomers)
		return ctl_fail(CTL_USAGE, "--newcomer and --no-newcomers are mutually exclusive");
	if (workload_load(simulate->newcomer_text, NULL, &simulate->newcomer,
			  &simulate->newcomer_trace, &err) < 0)
		return ctl_fail(CTL_USAGE, "--newcomer: %s", err.msg);
	return CTL_DONE;
}

static enum ctl_exit take_args(const struct args *args, struct simulate *simulate)
{
	enum ctl_exit r = time_arg_get_range(args, "simulate", DAY_S, &simulate->range);
	const char *gpu = args->values[OPTION_ON_GPU];

	if (r == CTL_DONE && gpu)
		r = ctl_check_id("GPU", gpu);
	simulate->from_given = args_has(args, OPTION_FROM);
	simulate->policy = args->values[OPTION_POLICY];
	if (r == CTL_DONE && simulate->policy && !policy_find(simulate->policy))
		r = reject_policy(simulate->policy);
	simulate->sets = args->labels;
	simulate->n_sets = args->n_labels;
	simulate->seed = args_has(args, OPTION_SEED) ? (uint64_t)args_get_number(args, OPTION_SEED)
						     : SEED_DEFAULT;
	return r == CTL_DONE ? take_newcomers(args, simulate) : r;
}

/* Chooses the runs and the policy of each run. */
static enum ctl_exit plan_runs(struct simulate *simulate)
{
	const char *in_force = field_text(simulate->in_force, "name");
	json_t *sets;
	struct err err;
	int r = take_sets(simulate, &sets, &err);

	if (r < 0)
		return ctl_fail(r == -ENOMEM ? CTL_FAILED : CTL_USAGE, "--set %s", err.msg);
	json_decref(sets);
	if (!policy_find(in_force))
		return ctl_fail(CTL_FAILED,
				"policy in force '%.60s': unknown to this version of gover-ctl",
				in_force);
	for (int i = 0; i < SIMULATE_RUNS; i++)
		simulate->policies[i] = in_force;
	if (simulate->policy)
		simulate->policies[SIMULATE_TRIAL] = simulate->policy;
	simulate->has[SIMULATE_RECORDED] = true;
	simulate->has[SIMULATE_MODEL] = true;
	simulate->has[SIMULATE_IN_FORCE] = simulate->newcomers;
	simulate->has[SIMULATE_TRIAL] = simulate->policy || simulate->n_sets > 0;
	return CTL_DONE;
}

/* Prints an error if no GPU could be simulated. */
static enum ctl_exit check_result(const struct simulate *simulate)
{
	const struct simulate_gpu *first = &simulate->gpus[0];

	for (int i = 0; i < simulate->n_gpus; i++)
		if (simulate->gpus[i].played)
			return CTL_DONE;
	return ctl_fail(CTL_FAILED, "GPU %s, %s to %s: %s%s%s", first->name, simulate->range.from,
			simulate->range.to, first->why.msg,
			simulate->kept_from[0] ? "; the values of each period are kept from " : "",
			simulate->kept_from[0] ? simulate->kept_from : "");
}

static enum ctl_exit run_simulate(struct ctl *ctl, const struct args *args,
				  struct simulate *simulate)
{
	enum ctl_exit r = take_args(args, simulate);
	struct err err = {.msg = ""};

	if (r == CTL_DONE)
		r = simulate_fetch(ctl, args->values[OPTION_ON_GPU], simulate);
	if (r == CTL_DONE)
		r = plan_runs(simulate);
	for (int i = 0; r == CTL_DONE && i < simulate->n_gpus; i++) {
		int result = play_gpu(simulate, &simulate->gpus[i], &err);

		if (result < 0)
			r = ctl_fail(result == -EINVAL ? CTL_USAGE : CTL_FAILED, "%s", err.msg);
	}
	if (r == CTL_DONE)
		r = check_result(simulate);
	return r == CTL_DONE ? simulate_print(ctl, simulate) : r;
}

enum ctl_exit verb_simulate(struct ctl *ctl, const struct args *args)
{
	struct simulate *simulate = calloc(1, sizeof(*simulate));
	enum ctl_exit r;

	if (!simulate)
		return ctl_fail(CTL_FAILED, "out of memory");
	r = run_simulate(ctl, args, simulate);
	for (int i = 0; i < simulate->n_gpus; i++)
		recording_free(simulate->gpus[i].recording);
	trace_free(simulate->newcomer_trace);
	json_decref(simulate->in_force);
	free(simulate);
	return r;
}
