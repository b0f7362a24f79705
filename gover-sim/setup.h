/* SPDX-License-Identifier: MIT */
/* What every verb that plays a scenario begins with. */
#ifndef GOVER_SIM_SETUP_H
#define GOVER_SIM_SETUP_H

#include "trial/scenario.h"

/* Reads the scenario at @path and overrules what @sets say ("KEY=VALUE"). The caller frees it with
 * setup_free(). */
int setup_scenario(const char *path, const char *const *sets, int n_sets,
		   struct scenario **ret_scenario, struct err *reterr);

int setup_sets(struct scenario *scenario, const char *const *sets, int n_sets, struct err *reterr);
void setup_free(struct scenario *scenario); /* NULL is fine */

/* -ENOENT with a sentence that lists the policies. */
int setup_policy(const char *name, const struct policy **ret_policy, struct err *reterr);

#endif
