/* SPDX-License-Identifier: MIT */
/* The verb `why`: the diagnosis of a vGPU. */
#ifndef GOVER_CTL_VERB_WHY_H
#define GOVER_CTL_VERB_WHY_H

#include "gover-ctl/shared/ctl.h"

enum ctl_exit verb_why(struct ctl *ctl, const struct args *args);

#endif
