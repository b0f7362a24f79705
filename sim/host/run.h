/* SPDX-License-Identifier: MIT */
/*
 * gover-sim run: runs one experiment with one policy. Also prepares the experiments of gover-sim
 * compare.
 */
#ifndef SIM_HOST_RUN_H
#define SIM_HOST_RUN_H

#include <stdbool.h>

#include "base/err.h"
#include "sim/experiment/best-schedule.h"

#define RUN_SETS_MAX 64

struct run_options {
	const char *scenario;		/* path */
	const char *policy;		/* name of a policy; NULL: the policy of the scenario */
	const char *sets[RUN_SETS_MAX]; /* KEY=VALUE */
	int n_sets;
	int seed;	 /* seed; -1: the seed of the scenario */
	const char *out; /* output folder; NULL: no files */
	bool json;
};

/* Runs the experiment and prints its summary to stdout. -errno with a message. */
int run_run(const struct run_options *options, struct err *reterr);

/* --- preparing an experiment --- */

/*
 * Loads the scenario at @path and applies @sets, each "KEY=VALUE". The caller frees *@ret_scenario
 * with run_free(). -errno with a message.
 */
int run_scenario(const char *path, const char *const *sets, int n_sets,
		 struct scenario **ret_scenario, struct err *reterr);

int run_sets(struct scenario *scenario, const char *const *sets, int n_sets, struct err *reterr);
void run_free(struct scenario *scenario); /* @scenario: may be NULL */

/*
 * The decisions that an experiment runs with: those of a policy, or those of the best schedule
 * found (best-schedule.h), which is computed with knowledge of the whole run.
 */
struct run_strategy {
	/* the policy, or the policy that sets the caps of the schedule found; NULL: its caps follow
	 * the future demand */
	const struct policy *policy;
	bool is_schedule;
	enum best_schedule_kind kind;
};

/* Writes the names of all policies, with @separator between them. */
void run_list_policies(const char *separator, char *text, size_t size);

/*
 * Finds the strategy @name: a policy, "best-found" or "best-found@POLICY". "oracle" is an alias of
 * best-found, "past-only" of best-found@qos, and "past-only@POLICY" of best-found@POLICY. -ENOENT
 * with a message that lists the valid names.
 */
int run_strategy(const char *name, struct run_strategy *ret_strategy, struct err *reterr);

/*
 * Creates an experiment. *@ret_schedule: the schedule that makes the decisions; NULL: @strategy is
 * a policy. The caller frees it after the experiment. -errno with a message.
 */
int run_experiment(const struct run_strategy *strategy, const struct scenario *scenario,
		   uint64_t seed,
		   void (*on_event)(void *userdata, const struct experiment_event *event),
		   void *userdata, struct experiment **ret_experiment,
		   struct best_schedule **ret_schedule, struct err *reterr);

#endif
