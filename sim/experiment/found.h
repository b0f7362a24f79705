/* SPDX-License-Identifier: MIT */
/*
 * The best schedule found: an experiment whose times of offers an offline search (search.h) has
 * chosen, with knowledge of the whole run. It shows what is possible, not what is impossible: a
 * better schedule may exist, and a policy may sell more. bound.h has an upper bound.
 *
 * The caps are those of a policy, or are computed from the future demand of all tenants.
 *
 * The search returns the times of offers that sell most while broken time stays within a limit.
 * Without migration, no sale may fail its probation. The other rules are the same as for policies:
 * only one offer or probation at a time, a sum of caps of at most 100 %, and a fixed order of
 * tenants.
 */
#ifndef SIM_EXPERIMENT_FOUND_H
#define SIM_EXPERIMENT_FOUND_H

#include "sim/experiment/experiment.h"

#define FOUND_BROKEN_PCT 1.0 /* allowed broken time, percent of the vGPU-seconds */

struct found;

enum found_kind {
	FOUND_BY_POLICY, /* a policy sets the caps */
	FOUND_BY_FUTURE, /* the caps are computed from the future demand */
};

struct found_facts {
	/* true: without any sale, the run keeps the limit of broken time */
	bool start_keeps_limit;
	/* true: the run with the schedule found keeps the limit. false: no schedule that the search
	 * evaluated keeps it, and the schedule found has no sales. */
	bool keeps_limit;
};

/*
 * Searches for the best times of offers. @policy: the policy that sets the caps; ignored for
 * FOUND_BY_FUTURE. @scenario must outlive *@ret_found. -ENOMEM, -EINVAL.
 */
int found_new(const struct scenario *scenario, enum found_kind kind, const struct policy *policy,
	      uint64_t seed, struct found **ret_found, struct err *reterr);
struct found *found_free(struct found *found); /* accepts NULL; returns NULL */

struct found_facts found_facts(const struct found *found);

/*
 * Creates an experiment with the schedule found. @found must outlive the experiment and can serve
 * only one experiment at a time. @on_event, @userdata: as in struct experiment_hooks.
 */
int found_experiment(struct found *found,
		     void (*on_event)(void *userdata, const struct experiment_event *event),
		     void *userdata, struct experiment **ret_experiment, struct err *reterr);

#endif
