/* SPDX-License-Identifier: MIT */
/* The functions of each policy, for the table in policy/table.c. */
#ifndef POLICY_STEPS_H
#define POLICY_STEPS_H

#include "policy/policy.h"

policy_step_fn gover_step, none_step, static_step, credit_step, fair_step, p99_step, nsigma_step,
	max_step, qos_step;
policy_fund_fn none_fund, static_fund, credit_fund, fair_fund, qos_fund;
policy_return_fn none_return, static_return, credit_return, fair_return;

#endif
