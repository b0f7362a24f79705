/* SPDX-License-Identifier: MIT */
/* Converts KEY=VALUE to a field of PATCH /v1/policy, with the type of the present value. */
#ifndef GOVER_CTL_VERB_POLICY_H
#define GOVER_CTL_VERB_POLICY_H

#include <jansson.h>

#include "base/err.h"

/*
 * Adds @pair to @body, with the type of the value in @policy (GET /v1/policy). "KEY=" and
 * "KEY=default" add null, which restores the value of the configuration file. Returns 0 or -EINVAL.
 */
int policy_set_add_pair(json_t *body, const char *pair, const json_t *policy, struct err *reterr);

#endif
