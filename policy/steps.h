/* SPDX-License-Identifier: MIT */
/* What stands in the table of policies, a file each. */
#ifndef POLICY_STEPS_H
#define POLICY_STEPS_H

#include "policy/policy.h"

void gover_step(const struct policy_params *params, struct policy_gpu *gpu, struct policy_out *out);

void none_step(const struct policy_params *params, struct policy_gpu *gpu, struct policy_out *out);
int none_fund(const struct policy_params *params, struct policy_gpu *gpu,
	      const struct policy_terms *terms, struct policy_out *out);
void none_return(const struct policy_params *params, struct policy_gpu *gpu,
		 struct policy_out *out);

void static_step(const struct policy_params *params, struct policy_gpu *gpu,
		 struct policy_out *out);
int static_fund(const struct policy_params *params, struct policy_gpu *gpu,
		const struct policy_terms *terms, struct policy_out *out);
void static_return(const struct policy_params *params, struct policy_gpu *gpu,
		   struct policy_out *out);

void credit_step(const struct policy_params *params, struct policy_gpu *gpu,
		 struct policy_out *out);
int credit_fund(const struct policy_params *params, struct policy_gpu *gpu,
		const struct policy_terms *terms, struct policy_out *out);
void credit_return(const struct policy_params *params, struct policy_gpu *gpu,
		   struct policy_out *out);

void fair_step(const struct policy_params *params, struct policy_gpu *gpu, struct policy_out *out);
int fair_fund(const struct policy_params *params, struct policy_gpu *gpu,
	      const struct policy_terms *terms, struct policy_out *out);
void fair_return(const struct policy_params *params, struct policy_gpu *gpu,
		 struct policy_out *out);

/* Caps as gover, another admission; a file for all three. */
void p99_step(const struct policy_params *params, struct policy_gpu *gpu, struct policy_out *out);
void nsigma_step(const struct policy_params *params, struct policy_gpu *gpu,
		 struct policy_out *out);
void max_step(const struct policy_params *params, struct policy_gpu *gpu, struct policy_out *out);
void qos_step(const struct policy_params *params, struct policy_gpu *gpu, struct policy_out *out);
int qos_fund(const struct policy_params *params, struct policy_gpu *gpu,
	     const struct policy_terms *terms, struct policy_out *out);

#endif
