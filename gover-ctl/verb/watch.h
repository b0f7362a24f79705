/* SPDX-License-Identifier: MIT */
/* The verb `watch`: events as they occur. */
#ifndef GOVER_CTL_VERB_WATCH_H
#define GOVER_CTL_VERB_WATCH_H

#include "gover-ctl/shared/ctl.h"

enum ctl_exit verb_watch(struct ctl *ctl, const struct args *args);

#endif
