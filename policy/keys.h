/* SPDX-License-Identifier: MIT */
/*
 * The keys of section [policy]: name, minimum, maximum, unit. The daemon's configuration and the
 * scenarios of experiments use the same table. The defaults are in policy_params_default().
 */
#ifndef POLICY_KEYS_H
#define POLICY_KEYS_H

/* Each row names a member of struct policy_params. The only exception is the row SECONDS, for which
 * the caller converts fund_window_s to the member fund_window_periods. */
/* clang-format off */
#define POLICY_KEYS(INT, NUMBER, FLAG, SECONDS)			\
	NUMBER(overload_pct, 1, 100, " percent"),		\
	INT(overload_periods, 1, 1000, " periods"),		\
	INT(qos_periods, 1, 1000, " periods"),			\
	NUMBER(qos_gpu_bound_pct, 0, 100, " percent"),		\
	NUMBER(lowload_pct, 0, 100, " percent"),		\
	INT(quiet_periods, 1, 1000, " periods"),		\
	NUMBER(steal_fraction, 0.01, 1, ""),			\
	NUMBER(weight_util, 0, 1000, ""),			\
	NUMBER(weight_qos, 0, 1000, ""),			\
	INT(cap_floor_pct, 1, 100, " percent"),			\
	NUMBER(fund_fraction, 0, 1, ""),			\
	SECONDS(fund_window_s, 1, 3000, " s"),			\
	INT(min_newcomer_pct, 1, 100, " percent"),		\
	FLAG(use_ignores_met_target),				\
	FLAG(paper_mode),					\
	INT(none_vgpus, 1, 256, " vGPUs"),			\
	NUMBER(static_ratio, 1, 100, ""),			\
	INT(demand_periods, 1, 300, " periods"),		\
	NUMBER(demand_probe, 0.01, 10, ""),			\
	NUMBER(deadband_pct, 0, 50, " percent"),		\
	INT(predict_periods, 1, 300, " periods"),		\
	INT(predict_warm_periods, 1, 300, " periods"),		\
	NUMBER(predict_sigmas, 0, 100, ""),			\
	NUMBER(sale_risk_pct, 0, 100, " percent")
/* clang-format on */

#endif
