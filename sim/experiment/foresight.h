/* SPDX-License-Identifier: MIT */
/* What every tenant is going to ask for, found out by letting it run alone on a GPU. For bound.c.
 */
#ifndef SIM_EXPERIMENT_FORESIGHT_H
#define SIM_EXPERIMENT_FORESIGHT_H

#include "sim/experiment/internal.h"

struct foresight;

int foresight_new(const struct scenario *scenario, uint64_t seed, struct foresight **ret_foresight);
struct foresight *foresight_free(struct foresight *foresight); /* NULL is fine; returns NULL */

/*
 * Percent of the GPU that the @draw-th, a @tenant, needs in its @period-th period, within its
 * contract: what it then asks for, or with a promise of FPS what the promise costs. The contract,
 * where memory is lacking.
 */
double foresight_need_pct(struct foresight *foresight, const struct scenario_tenant *tenant,
			  uint64_t draw, uint64_t period);

#endif
