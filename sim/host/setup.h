/* SPDX-License-Identifier: MIT */
/* What every verb that plays a scenario begins with. */
#ifndef SIM_HOST_SETUP_H
#define SIM_HOST_SETUP_H

#include "sim/experiment/bound.h"

/* Reads the scenario at @path and overrules what @sets say ("KEY=VALUE"). The caller frees it with
 * setup_free(). */
int setup_scenario(const char *path, const char *const *sets, int n_sets,
		   struct scenario **ret_scenario, struct err *reterr);

int setup_sets(struct scenario *scenario, const char *const *sets, int n_sets, struct err *reterr);
void setup_free(struct scenario *scenario); /* NULL is fine */

/* What decides: a policy, or a bound. */
struct setup_strategy {
	const struct policy *policy; /* NULL: of the oracle */
	bool is_bound;
	enum bound_kind kind;
};

/* @name: of a policy, "oracle", "past-only", or "past-only@POLICY". -ENOENT with a sentence that
 * lists them. */
int setup_strategy(const char *name, struct setup_strategy *ret_strategy, struct err *reterr);

/* An experiment at its begin. *@ret_bound: what it stands on, to be freed after it; NULL with a
 * policy.
 */
int setup_experiment(const struct setup_strategy *player, const struct scenario *scenario,
		     uint64_t seed,
		     void (*on_event)(void *userdata, const struct experiment_event *event),
		     void *userdata, struct experiment **ret_experiment, struct bound **ret_bound,
		     struct err *reterr);

#endif
