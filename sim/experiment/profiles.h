/* SPDX-License-Identifier: MIT */
/* The demand profile of each tenant, measured by running it alone on a GPU. For bound.c. */
#ifndef SIM_EXPERIMENT_PROFILES_H
#define SIM_EXPERIMENT_PROFILES_H

#include "sim/experiment/tenants.h"

struct profiles;

int profiles_new(const struct scenario *scenario, uint64_t seed, struct profiles **ret_profiles);
struct profiles *profiles_free(struct profiles *profiles); /* accepts NULL; returns NULL */

/*
 * Percent of the GPU that the @draw-th, a @kind, needs in its @period-th period, within its
 * contract: what it then asks for, or with a promise of FPS what the promise costs. The contract,
 * where memory is lacking.
 */
double profiles_need_pct(struct profiles *profiles, const struct scenario_tenant *kind,
			 uint64_t draw, uint64_t period);

#endif
