/* SPDX-License-Identifier: MIT */
/* The verbs `offers`, `claim` and `economics`. */
#ifndef GOVER_CTL_VERB_SELLING_H
#define GOVER_CTL_VERB_SELLING_H

#include "gover-ctl/shared/ctl.h"

enum ctl_exit verb_offers(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_offer_claim(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_economics(struct ctl *ctl, const struct args *args);

#endif
