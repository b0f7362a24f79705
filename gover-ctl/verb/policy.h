/* SPDX-License-Identifier: MIT */
/* The verbs `policy show` and `policy set`. */
#ifndef GOVER_CTL_VERB_POLICY_H
#define GOVER_CTL_VERB_POLICY_H

#include "gover-ctl/shared/ctl.h"

enum ctl_exit verb_policy_show(struct ctl *ctl, const struct args *args);
enum ctl_exit verb_policy_set(struct ctl *ctl, const struct args *args);

/*
 * Adds @pair to @body, with the type of the value in @policy (GET /v1/policy). "KEY=" and
 * "KEY=default" add null, which restores the value of the configuration file. Returns 0 or -EINVAL.
 */
int policy_set_add_pair(json_t *body, const char *pair, const json_t *policy, struct err *reterr);

#endif
