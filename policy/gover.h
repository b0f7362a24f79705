/* SPDX-License-Identifier: MIT */
/* The paper's policy as a function, for policies with another admission rule. */
#ifndef POLICY_GOVER_H
#define POLICY_GOVER_H

#include "policy/admit.h"

/* Decides a period as gover_step() does, but with the admission rule @admission. */
void gover_step_with(const struct policy_params *params, struct policy_gpu *gpu,
		     const struct admission *admission, struct policy_out *out);

#endif
