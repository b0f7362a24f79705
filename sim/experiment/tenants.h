/* SPDX-License-Identifier: MIT */
/* Arrival and departure of the tenants of an experiment. Internal to this folder. */
#ifndef SIM_EXPERIMENT_TENANTS_H
#define SIM_EXPERIMENT_TENANTS_H

#include "sim/experiment/experiment-state.h"

/* Fills the bag and the arrivals. -ENOMEM. */
int tenants_init(struct experiment *experiment, struct err *reterr);
void tenants_fini(struct experiment *experiment);

/* Adds the tenants that are present from the start, each with its share of the GPU. -ENOMEM,
 * -EINVAL: too many. */
int tenants_start(struct experiment *experiment, struct err *reterr);

/* The workload of the tenant number @draw, with its random seed. */
struct workload tenants_workload(const struct scenario_tenant *kind, uint64_t seed, uint64_t draw);

/* The kind of the tenant that takes the next offer. Only if experiment_has_tenants(). */
const struct scenario_tenant *tenants_next(const struct experiment *experiment);

/* Adds the next of them. NULL: it cannot be funded now. */
struct tenant *tenants_admit_next(struct experiment *experiment);

/* Adds and removes tenants by their arrival and departure times. */
void tenants_update(struct experiment *experiment);

#endif
