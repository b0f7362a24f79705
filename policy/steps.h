/* SPDX-License-Identifier: MIT */
/* The steps that stand in the table of policies, a file each. */
#ifndef POLICY_STEPS_H
#define POLICY_STEPS_H

#include "policy/policy.h"

void gover_step(const struct policy_params *params, struct policy_gpu *gpu, struct policy_out *out);

#endif
