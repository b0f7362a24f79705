/* SPDX-License-Identifier: MIT */
/* KEY=VALUE as typed, made into the member of a PATCH that the daemon's own value is of. */
#ifndef GOVER_CTL_VERB_POLICY_SET_H
#define GOVER_CTL_VERB_POLICY_SET_H

#include <jansson.h>

#include "base/err.h"

/*
 * Puts @pair into @body. The type is that of the value in force, from @policy (GET /v1/policy);
 * "KEY=" and "KEY=default" put null: back to the file. -EINVAL with a sentence that names the key
 * (the nearest one where there is none of this name), the value and what is allowed; -ENOMEM.
 */
int policy_set_add_pair(json_t *body, const char *pair, const json_t *policy, struct err *reterr);

#endif
