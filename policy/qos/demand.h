/* SPDX-License-Identifier: MIT */
/*
 * The demand of one vGPU: now, in the next period, and lately. A demand belongs to one of
 * POLICY_LEVELS levels of the contract, and the transitions between levels are counted. The same
 * counts describe loads that switch between idle and busy, loads with scenes, and steady loads.
 */
#ifndef POLICY_QOS_DEMAND_H
#define POLICY_QOS_DEMAND_H

#include "policy/policy.h"

/*
 * Learns from one period of @vgpu, whose busy reading is valid. With a target and a valid FPS, the
 * demand is the target times the GPU time of a frame. Otherwise it is the load; if that used up a
 * cap below the contract, the demand is estimated until the cap leaves some unused, and no habit is
 * learnt. A new vGPU is cold and counts at its contract, for longer if no vGPU can be migrated.
 */
void demand_learn(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu);

/* The share of its demand that must be served: with less the vGPU is broken. */
double demand_tolerance(const struct policy_vgpu *vgpu);

/* The demand now, percent of the GPU; track->demand.source says whether it is estimated. */
double demand_now_pct(const struct policy_vgpu *vgpu);

/* The smallest cap under which the demand now stays measurable; 0 if any cap will do, or if the
 * demand is estimated. */
double demand_observable_cap_pct(const struct policy_vgpu *vgpu);

/* The largest demand measured; the contract while the vGPU is cold. */
double demand_peak_pct(const struct policy_vgpu *vgpu);

/* The probability that the next period's demand is above each level. An unknown demand may be the
 * contract. */
void demand_predict(const struct policy_vgpu *vgpu, double ret_above[POLICY_LEVELS]);

/* The cap, in percent, that serves every demand up to @level, with its margin. */
double demand_level_pct(const struct policy_vgpu *vgpu, int level);

/* Stores the cap planned for the next period, from which the margin learns. */
void demand_note_need(const struct policy_vgpu *vgpu, double need_pct);

/*
 * The share of the last POLICY_DEMAND_WINDOW periods with each demand, in whole percent of the GPU.
 * A cold vGPU, and one at its cap, count at their contract. @assume_unseen adds periods for a
 * demand that was not seen yet: the contract, or, with frames, 1.5 times the largest demand
 * measured.
 */
void demand_distribution(const struct policy_vgpu *vgpu, bool assume_unseen, double ret_share[101]);

#endif
