/* SPDX-License-Identifier: MIT */
/* Prepares an experiment from the command line, runs it and prints its summary. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "sim/experiment/report.h"
#include "sim/host/run.h"

/* The names that select the best schedule found. */
static const struct schedule_name {
	const char *name;
	/* used if the name has no @POLICY */
	enum best_schedule_kind kind;
	const char *policy;
	bool takes_policy; /* true: @POLICY is allowed */
} schedule_names[] = {
	{"best-found", BEST_SCHEDULE_BY_FUTURE, NULL, true},
	/* former names */
	{"past-only", BEST_SCHEDULE_BY_POLICY, "qos", true},
	{"oracle", BEST_SCHEDULE_BY_FUTURE, NULL, false},
};

static int take_set(struct scenario *scenario, const char *set, struct err *reterr)
{
	const char *equals = strchr(set, '=');
	struct err inner = {""};
	char key[64];
	int r;

	if (!equals || equals == set || (size_t)(equals - set) >= sizeof(key))
		return err_fail(reterr, EINVAL, "--set %.80s: not a setting (allowed: KEY=VALUE)",
				set);
	memcpy(key, set, (size_t)(equals - set));
	key[equals - set] = '\0';
	r = scenario_set(scenario, key, equals + 1, &inner);
	return r < 0 ? err_fail(reterr, -r, "--set %.80s: %s", set, inner.msg) : 0;
}

int run_sets(struct scenario *scenario, const char *const *sets, int n_sets, struct err *reterr)
{
	int r = 0;

	for (int i = 0; r == 0 && i < n_sets; i++)
		r = take_set(scenario, sets[i], reterr);
	return r == 0 ? scenario_check(scenario, reterr) : r;
}

void run_free(struct scenario *scenario)
{
	if (scenario)
		scenario_fini(scenario);
	free(scenario);
}

int run_scenario(const char *path, const char *const *sets, int n_sets,
		 struct scenario **ret_scenario, struct err *reterr)
{
	struct scenario *scenario = xmalloc(sizeof(*scenario));
	int r;

	r = scenario_load(path, scenario, reterr);
	if (r == 0)
		r = run_sets(scenario, sets, n_sets, reterr);
	if (r < 0) {
		run_free(scenario);
		return r;
	}
	*ret_scenario = scenario;
	return 0;
}

void run_list_policies(const char *separator, char *text, size_t size)
{
	text[0] = '\0';
	for (size_t i = 0; policy_at(i); i++) {
		size_t used = strlen(text);

		snprintf(text + used, size - used, "%s%s", used ? separator : "",
			 policy_at(i)->name);
	}
}

static int find_policy(const char *name, const struct policy **ret_policy, struct err *reterr)
{
	const struct policy *policy = policy_find(name);
	char names[256];

	run_list_policies(", ", names, sizeof(names));
	if (!policy)
		return err_fail(
			reterr, ENOENT,
			"policy '%.60s': unknown (allowed: %s, best-found, best-found@POLICY)",
			name, names);
	*ret_policy = policy;
	return 0;
}

static const struct schedule_name *find_schedule(const char *name, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(schedule_names); i++)
		if (strlen(schedule_names[i].name) == length &&
		    strncmp(schedule_names[i].name, name, length) == 0)
			return &schedule_names[i];
	return NULL;
}

int run_strategy(const char *name, struct run_strategy *ret_strategy, struct err *reterr)
{
	size_t length = strcspn(name, "@");
	const struct schedule_name *schedule = find_schedule(name, length);
	struct run_strategy strategy = {.is_schedule = schedule};
	const char *policy = name;
	int r = 0;

	if (schedule && name[length] == '\0') {
		strategy.kind = schedule->kind;
		policy = schedule->policy;
	} else if (schedule && schedule->takes_policy) {
		strategy.kind = BEST_SCHEDULE_BY_POLICY;
		policy = name + length + 1;
	}
	if (policy)
		r = find_policy(policy, &strategy.policy, reterr);
	if (r == 0)
		*ret_strategy = strategy;
	return r;
}

int run_experiment(const struct run_strategy *strategy, const struct scenario *scenario,
		   uint64_t seed,
		   void (*on_event)(void *userdata, const struct experiment_event *event),
		   void *userdata, struct experiment **ret_experiment,
		   struct best_schedule **ret_schedule, struct err *reterr)
{
	const struct experiment_hooks hooks = {.userdata = userdata, .on_event = on_event};
	int r;

	*ret_schedule = NULL;
	if (!strategy->is_schedule)
		return experiment_new(scenario, strategy->policy, seed, &hooks, ret_experiment,
				      reterr);
	r = best_schedule_new(scenario, strategy->kind, strategy->policy, seed, ret_schedule,
			      reterr);
	if (r == 0)
		r = best_schedule_experiment(*ret_schedule, on_event, userdata, ret_experiment,
					     reterr);
	if (r < 0)
		*ret_schedule = best_schedule_free(*ret_schedule);
	return r;
}

/* --- gover-sim run --- */

static void print_table(const struct experiment *experiment)
{
	const struct summary_field *field;
	struct experiment_summary summary;

	experiment_summarize(experiment, &summary);
	for (size_t i = 0; (field = summary_field_at(i)); i++)
		printf("%-28s %12.*f\n", field->title, field->decimals,
		       summary_value(field, &summary));
}

static int print(const struct run_options *options, const struct experiment *experiment,
		 const json_t *summary)
{
	if (!options->json)
		print_table(experiment);
	else if (json_dumpf(summary, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) < 0)
		return -EIO;
	else
		putchar('\n');
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : -EIO;
}

static int play(const struct run_options *options, struct experiment *experiment,
		struct report *report, const char *policy, uint64_t seed, struct err *reterr)
{
	json_t *summary;
	int r;

	while (experiment_step(experiment))
		if (report)
			report_period(report, experiment);
	if (report)
		report_period(report, experiment);
	summary = report_encode(experiment, policy, seed);
	r = report_close(report, summary, reterr);
	if (r == 0 && print(options, experiment, summary) < 0)
		r = err_fail(reterr, EIO, "standard output: cannot be written");
	json_decref(summary);
	return r;
}

static int play_scenario(const struct run_options *options, const struct scenario *scenario,
			 struct err *reterr)
{
	uint64_t seed = (uint64_t)(options->seed >= 0 ? options->seed : scenario->seed);
	const char *name = options->policy ? options->policy : scenario->policy;
	struct report *report = NULL;
	struct run_strategy strategy;
	struct experiment *experiment;
	struct best_schedule *schedule;
	int r = run_strategy(name, &strategy, reterr);

	if (r == 0 && options->out)
		r = report_open(options->out, &report, reterr);
	if (r < 0)
		return r;
	r = run_experiment(&strategy, scenario, seed, report ? report_event : NULL, report,
			   &experiment, &schedule, reterr);
	if (r < 0) {
		(void)report_close(report, NULL, NULL);
		return r;
	}
	r = play(options, experiment, report, name, seed, reterr);
	experiment_free(experiment);
	best_schedule_free(schedule);
	return r;
}

int run_run(const struct run_options *options, struct err *reterr)
{
	struct scenario *scenario;
	int r = run_scenario(options->scenario, options->sets, options->n_sets, &scenario, reterr);

	if (r < 0)
		return r;
	r = play_scenario(options, scenario, reterr);
	run_free(scenario);
	return r;
}
