/* SPDX-License-Identifier: MIT */
/* The verbs `token list`, `token add` and `token remove`. */
#ifndef GOVER_CTL_VERB_TOKEN_H
#define GOVER_CTL_VERB_TOKEN_H

#include "gover-ctl/shared/ctl.h"

enum ctl_exit verb_token_list(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_token_add(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_token_remove(struct ctl *ctl, const struct args *args);

#endif
