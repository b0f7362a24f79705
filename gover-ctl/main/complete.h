/* SPDX-License-Identifier: MIT */
/* The verbs `completion` and `__complete`. */
#ifndef GOVER_CTL_MAIN_COMPLETE_H
#define GOVER_CTL_MAIN_COMPLETE_H

#include "gover-ctl/shared/ctl.h"

enum ctl_exit verb_completion(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_complete(struct ctl *ctl, const struct args *args);

#endif
