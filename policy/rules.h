/* SPDX-License-Identifier: MIT */
/* The rules in force, which differ between normal mode and paper mode. */
#ifndef POLICY_RULES_H
#define POLICY_RULES_H

#include "policy/policy.h"

struct rules {
	bool met_target_excuses; /* rule 1: a vGPU that meets its target FPS is not overloaded by
				    use */
	double gpu_bound;      /* rule 2: smallest u with which more cap can help, as a fraction */
	bool helpless_count;   /* rule 3 is off: rules 4, 6 and 7 count vGPUs that cannot receive */
	bool pool_first;       /* rule 5: the free pool gives before donors */
	bool donor_below_line; /* rule 6: a donor stays below overload_pct */
	bool wake;	       /* rule 11 */
};

struct rules rules_in_force(const struct policy_params *params);

#endif
