/* SPDX-License-Identifier: MIT */
/* Which of the rules are in force: the one place that knows paper mode. */
#ifndef POLICY_RULES_H
#define POLICY_RULES_H

#include "policy/policy.h"

struct rules {
	bool met_target_excuses; /* rule 1: who meets its target raises no signal by use */
	double gpu_bound;	 /* rule 2: u from which a cap can help, fraction */
	bool helpless_count;	 /* not rule 3: who cannot receive counts in rules 4, 6 and 7 */
	bool pool_first;	 /* rule 5 */
	bool donor_below_line;	 /* rule 6: a donor's own use must not pass U_o */
	bool wake;		 /* rule 11 */
};

struct rules rules_in_force(const struct policy_params *params);

#endif
