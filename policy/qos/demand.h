/* SPDX-License-Identifier: MIT */
/*
 * Estimates the demand of one vGPU: the present demand, the demand of the next period, and the
 * recent demands. The range from 0 to the contract is divided into POLICY_LEVELS levels, and the
 * transitions of the demand between levels are counted, one per second. The same counts describe
 * loads that switch between idle and busy, loads with scenes, and steady loads.
 */
#ifndef POLICY_QOS_DEMAND_H
#define POLICY_QOS_DEMAND_H

#include "policy/policy.h"

/*
 * Learns from one period of @vgpu. The busy reading must be valid.
 *
 * With a target and a valid FPS, the demand is the target times the GPU time of a frame, which is a
 * mean over some seconds if it does not change beyond the errors of counting frames. Otherwise the
 * demand is the load. If the load uses the whole time that was available (signal_use()), and the
 * cap is below the contract, the demand is only estimated and no transition is counted. An
 * estimated demand is never below the load.
 *
 * A new vGPU is cold: its demand may become its contract. It is cold for one second if
 * vGPUs are known to be migrated (moving.h), and for 15 seconds otherwise.
 */
void demand_learn(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu);

/* Returns the fraction of the demand that must be served. A vGPU that gets less is broken. */
double demand_tolerance(const struct policy_vgpu *vgpu);

/* Returns the present demand, percent of the GPU, measured or estimated (demand.source). */
double demand_now_pct(const struct policy_vgpu *vgpu);

/* Returns the cap that serves the tolerated part of the present demand. It includes the error of
 * counting frames. */
double demand_tolerated_pct(const struct policy_vgpu *vgpu);

/* Returns the smallest cap with which the present demand stays measurable. Returns 0 if every cap
 * is sufficient, as with guarantees while time is left unused, or if the demand is estimated. */
double demand_observable_cap_pct(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu);

/* Returns the largest measured demand, or the contract while the vGPU is cold. */
double demand_peak_pct(const struct policy_vgpu *vgpu);

/* Computes the probability that the demand of the next period is above each level. A period below
 * one second has its part of the changes of a second. An unknown demand may be as large as the
 * contract. */
void demand_predict(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu,
		    double ret_above[POLICY_LEVELS]);

/* Returns the cap in percent that serves every demand up to @level, including the margin. */
double demand_level_pct(const struct policy_vgpu *vgpu, int level);

/* Stores the cap that is expected to serve the next period. demand_learn() compares this cap with
 * the demand and adjusts the margin. */
void demand_note_need(const struct policy_vgpu *vgpu, double need_pct);

/*
 * Computes for each demand, in whole percent of the GPU, the fraction of the last
 * POLICY_DEMAND_WINDOW seconds with this demand as the largest one. The contract is taken as the
 * demand of all seconds if the vGPU is cold, and of each second in which it used its whole cap.
 */
void demand_distribution(const struct policy_vgpu *vgpu, double ret_share[101]);

#endif
