/* SPDX-License-Identifier: MIT */
/* The rules in force, which differ between normal mode and paper mode. */
#ifndef POLICY_RULES_H
#define POLICY_RULES_H

#include "policy/policy.h"

struct rules {
	bool met_target_excuses; /* rule 1: a vGPU that meets its target FPS is not overloaded by
				    use */
	double gpu_bound;      /* rule 2: smallest u with which more cap can help, as a fraction */
	bool helpless_count;   /* rules 4, 6 and 7 also count vGPUs that cannot receive (rule 3 is
				  off) */
	bool pool_first;       /* rule 5: the free pool gives cap before donors do */
	bool donor_below_line; /* rule 6: a donor stays below overload_pct */
	bool wake;	       /* rule 11 */
};

struct rules rules_in_force(const struct policy_params *params);

#endif
