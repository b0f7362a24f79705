/* SPDX-License-Identifier: MIT */
/* Runs one experiment from the command line and prints its summary. */
#include <errno.h>
#include <stdio.h>

#include "sim/host/run.h"
#include "sim/host/setup.h"
#include "sim/experiment/report.h"

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

static int run_scenario(const struct run_options *options, const struct scenario *scenario,
			struct err *reterr)
{
	uint64_t seed = (uint64_t)(options->seed >= 0 ? options->seed : scenario->seed);
	const char *name = options->policy ? options->policy : scenario->policy;
	struct report *report = NULL;
	struct setup_strategy strategy;
	struct experiment *experiment;
	struct best_schedule *schedule;
	int r = setup_strategy(name, &strategy, reterr);

	if (r == 0 && options->out)
		r = report_open(options->out, &report, reterr);
	if (r < 0)
		return r;
	r = setup_experiment(&strategy, scenario, seed, report ? report_event : NULL, report,
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
	int r = setup_scenario(options->scenario, options->sets, options->n_sets, &scenario,
			       reterr);

	if (r < 0)
		return r;
	r = run_scenario(options, scenario, reterr);
	setup_free(scenario);
	return r;
}
