/* SPDX-License-Identifier: MIT */
/*
 * The best schedule found: an experiment whose times of offers an offline search (search.h) has
 * chosen, with knowledge of the whole run. It is not an upper bound: a better schedule may exist,
 * and a policy may sell more. tests/bench/eval/bound.h has an upper bound.
 *
 * The caps are those of a policy, or are computed from the future demand of all tenants.
 *
 * The search returns the times of offers that sell most while broken time stays within a limit.
 * Without migration, no sale may fail its probation. The other rules are the same as for policies:
 * only one offer or probation at a time, a sum of caps of at most 100 %, and a fixed order of
 * tenants.
 *
 * Also measures the demand profile of each tenant, which is used here and for the upper bound.
 */
#ifndef SIM_EXPERIMENT_BEST_SCHEDULE_H
#define SIM_EXPERIMENT_BEST_SCHEDULE_H

#include "sim/experiment/experiment.h"

#define BEST_SCHEDULE_BROKEN_PCT 1.0 /* allowed broken time, percent of the vGPU-seconds */

struct best_schedule;

enum best_schedule_kind {
	BEST_SCHEDULE_BY_POLICY, /* a policy sets the caps */
	BEST_SCHEDULE_BY_FUTURE, /* the caps are computed from the future demand */
};

/*
 * Searches for the best times of offers. If no evaluated schedule keeps the limit, the result has
 * no sales. @policy: the policy that sets the caps; ignored for BEST_SCHEDULE_BY_FUTURE. @scenario
 * must outlive *@ret_found. -EINVAL.
 */
int best_schedule_new(const struct scenario *scenario, enum best_schedule_kind kind,
		      const struct policy *policy, uint64_t seed, struct best_schedule **ret_found,
		      struct err *reterr);

/* @found: may be NULL. Returns NULL. */
struct best_schedule *best_schedule_free(struct best_schedule *found);

/* Returns true if the run without any sale keeps the limit of broken time. */
bool best_schedule_start_keeps_limit(const struct best_schedule *found);

/*
 * Creates an experiment with the schedule found. @found must outlive the experiment and can serve
 * only one experiment at a time. @on_event, @userdata: as in struct experiment_hooks.
 */
int best_schedule_experiment(struct best_schedule *found,
			     void (*on_event)(void *userdata, const struct experiment_event *event),
			     void *userdata, struct experiment **ret_experiment,
			     struct err *reterr);

/* --- the demand profile of each tenant, measured by running the tenant alone on a GPU --- */

struct profiles;

struct profiles *profiles_new(const struct scenario *scenario, uint64_t seed);
struct profiles *profiles_free(struct profiles *profiles); /* accepts NULL; returns NULL */

/*
 * Returns the percentage of the GPU that tenant number @draw, of kind @kind, needs in period
 * @period after its arrival or, with shared_clock, after the start of the run. With a target frame
 * rate this is the cost of that rate, otherwise the demand. The result is at most the contract.
 */
double profiles_need_pct(struct profiles *profiles, const struct scenario_tenant *kind,
			 uint64_t draw, uint64_t period);

#endif
