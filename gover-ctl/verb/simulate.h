/* SPDX-License-Identifier: MIT */
/* The verb `simulate`: a replay of recorded load. */
#ifndef GOVER_CTL_VERB_SIMULATE_H
#define GOVER_CTL_VERB_SIMULATE_H

#include "gover-ctl/shared/ctl.h"

enum ctl_exit verb_simulate(struct ctl *ctl, const struct args *args);

#endif
