/* SPDX-License-Identifier: MIT */
/* The paper's policy with the admission it is told. */
#ifndef POLICY_GOVER_H
#define POLICY_GOVER_H

#include "policy/admit.h"

void gover_step_with(const struct policy_params *params, struct policy_gpu *gpu,
		     const struct admission *admission, struct policy_out *out);

#endif
