/* SPDX-License-Identifier: MIT */
/* The life of an offer: open, claimed, on probation, kept or failed. Internal to this folder. */
#ifndef SIM_EXPERIMENT_SALE_H
#define SIM_EXPERIMENT_SALE_H

#include "sim/experiment/experiment-state.h"

/* Opens an offer after the policy decided to make an offer. */
void sale_open(struct experiment *experiment);
/* Updates the offer. Call this function after the step of each period. */
void sale_update(struct experiment *experiment);

#endif
