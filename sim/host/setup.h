/* SPDX-License-Identifier: MIT */
/* Prepares an experiment from the command line, for gover-sim run and compare. */
#ifndef SIM_HOST_SETUP_H
#define SIM_HOST_SETUP_H

#include "sim/experiment/best-schedule.h"

/*
 * Loads the scenario at @path and applies @sets, each "KEY=VALUE". The caller frees *@ret_scenario
 * with setup_free(). -errno with a message.
 */
int setup_scenario(const char *path, const char *const *sets, int n_sets,
		   struct scenario **ret_scenario, struct err *reterr);

int setup_sets(struct scenario *scenario, const char *const *sets, int n_sets, struct err *reterr);
void setup_free(struct scenario *scenario); /* @scenario: may be NULL */

/*
 * The decisions that an experiment runs with: those of a policy, or those of the best schedule
 * found (best-schedule.h), which is computed with knowledge of the whole run.
 */
struct setup_strategy {
	/* the policy, or the policy that sets the caps of the schedule found; NULL: its caps follow
	 * the future demand */
	const struct policy *policy;
	bool is_schedule;
	enum best_schedule_kind kind;
};

/* Writes the names of all policies, with @separator between them. */
void setup_list_policies(const char *separator, char *text, size_t size);

/*
 * Finds the strategy @name: a policy, "best-found" or "best-found@POLICY". "oracle" is an alias of
 * best-found, "past-only" of best-found@qos, and "past-only@POLICY" of best-found@POLICY. -ENOENT
 * with a message that lists the valid names.
 */
int setup_strategy(const char *name, struct setup_strategy *ret_strategy, struct err *reterr);

/*
 * Creates an experiment. *@ret_schedule: the schedule that makes the decisions; NULL: @strategy is
 * a policy. The caller frees it after the experiment. -errno with a message.
 */
int setup_experiment(const struct setup_strategy *strategy, const struct scenario *scenario,
		     uint64_t seed,
		     void (*on_event)(void *userdata, const struct experiment_event *event),
		     void *userdata, struct experiment **ret_experiment,
		     struct best_schedule **ret_schedule, struct err *reterr);

#endif
