/* SPDX-License-Identifier: MIT */
/*
 * The demand profile of each tenant, measured by running the tenant alone on a GPU. Used by
 * best-schedule.c and bound.c.
 */
#ifndef SIM_EXPERIMENT_PROFILES_H
#define SIM_EXPERIMENT_PROFILES_H

#include "sim/experiment/experiment-state.h"

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
