/* SPDX-License-Identifier: MIT */
/* The verbs `config check` and `support`. */
#ifndef GOVER_CTL_VERB_HOST_H
#define GOVER_CTL_VERB_HOST_H

#include "gover-ctl/shared/ctl.h"

enum ctl_exit verb_config_check(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_support(struct ctl *ctl, const struct args *args);

#endif
