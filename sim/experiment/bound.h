/* SPDX-License-Identifier: MIT */
/*
 * Upper bounds for the comparison of policies: experiments whose decisions use the whole run,
 * including the future.
 *
 * - past-only: a policy sets the caps from past demand. An offline search chooses the times of
 *   offers.
 * - oracle: an offline search chooses the times of offers. The caps are computed from the future
 *   demand of all tenants.
 *
 * The search (search.h) returns the times of offers that sell most while broken time stays within a
 * limit. Without migration, no sale may fail its probation. The other rules are the same as for
 * policies: only one offer or probation at a time, a sum of caps of at most 100 %, and a fixed
 * order of tenants.
 */
#ifndef SIM_EXPERIMENT_BOUND_H
#define SIM_EXPERIMENT_BOUND_H

#include "sim/experiment/experiment.h"

#define BOUND_BROKEN_PCT 1.0 /* allowed broken time, percent of the vGPU-seconds */

struct bound;

enum bound_kind { BOUND_PAST_ONLY, BOUND_ORACLE };

/* Finds the bound @name: "past-only" or "oracle". -ENOENT. */
int bound_find(const char *name, enum bound_kind *ret_kind);

/*
 * Creates a bound and searches for the best times of offers. @policy: the policy that sets the caps
 * of past-only; the oracle ignores @policy. @scenario must outlive the bound. -ENOMEM, -EINVAL.
 */
int bound_new(const struct scenario *scenario, enum bound_kind kind, const struct policy *policy,
	      uint64_t seed, struct bound **ret_bound, struct err *reterr);
struct bound *bound_free(struct bound *bound); /* accepts NULL; returns NULL */

/*
 * Creates an experiment with the decisions of @bound. @bound must outlive the experiment and can
 * serve only one experiment at a time. @on_event, @userdata: as in struct experiment_hooks.
 */
int bound_experiment(struct bound *bound,
		     void (*on_event)(void *userdata, const struct experiment_event *event),
		     void *userdata, struct experiment **ret_experiment, struct err *reterr);

#endif
