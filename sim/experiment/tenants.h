/* SPDX-License-Identifier: MIT */
/* Arrival and departure of the tenants of an experiment. Internal to this folder. */
#ifndef SIM_EXPERIMENT_TENANTS_H
#define SIM_EXPERIMENT_TENANTS_H

#include "sim/experiment/experiment-state.h"

/* Fills the bag of tenants that take offers, and the list of tenants with an arrival time. */
void tenants_init(struct experiment *experiment);
void tenants_fini(struct experiment *experiment);

/*
 * Adds the tenants that are present from the start, each with its contract or its share of the GPU
 * as cap. -EINVAL: too many tenants.
 */
int tenants_start(struct experiment *experiment, struct err *reterr);

/* Returns the workload of tenant number @draw, with the random seed of this tenant. */
struct workload tenants_workload(const struct scenario_tenant *kind, uint64_t seed, uint64_t draw);

/*
 * Returns the kind of tenant number @number of those that take offers, counted from 0. Tenants that
 * are present from the start have the first numbers. The number must be below n_bag, unless tenants
 * are drawn independently.
 */
const struct scenario_tenant *tenants_kind(const struct experiment *experiment, int number);

/*
 * Returns the kind of the tenant that takes the next offer. Call this function only if
 * experiment_has_tenants() returns true.
 */
const struct scenario_tenant *tenants_next(const struct experiment *experiment);

/* Adds the tenant that takes the next offer. Returns NULL if this tenant cannot be funded now. */
struct tenant *tenants_admit_next(struct experiment *experiment);

/*
 * Moves @tenant to another host: it leaves after migrate_s. No effect if the scenario has no
 * migration, if the other hosts cannot take another vGPU, or if @tenant leaves earlier.
 */
void tenants_move(struct experiment *experiment, struct tenant *tenant);

/* Removes and adds tenants according to their departure and arrival times. */
void tenants_update(struct experiment *experiment);

#endif
