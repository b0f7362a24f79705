/* SPDX-License-Identifier: MIT */
/* The life of an offer: a customer claims it, and the newcomer is on probation. Internal to this
 * folder. */
#ifndef SIM_EXPERIMENT_SALE_H
#define SIM_EXPERIMENT_SALE_H

#include "sim/experiment/experiment-state.h"

/* Opens the offer that the policy has decided on. */
void sale_open(struct experiment *experiment);
/* Call after the step of each period. */
void sale_update(struct experiment *experiment);

#endif
