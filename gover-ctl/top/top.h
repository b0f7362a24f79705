/* SPDX-License-Identifier: MIT */
/* The verb `top`: a live view of the host. */
#ifndef GOVER_CTL_TOP_TOP_H
#define GOVER_CTL_TOP_TOP_H

#include "gover-ctl/shared/ctl.h"

enum ctl_exit verb_top(struct ctl *ctl, const struct args *args);

#endif
