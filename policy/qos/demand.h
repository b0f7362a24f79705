/* SPDX-License-Identifier: MIT */
/*
 * How much of the GPU one vGPU wants: what it wants now, what it may want next, what it wanted
 * lately. Its demand is put on one of POLICY_LEVELS levels of its contract, and what follows on
 * each level is counted; so a load that jumps between nothing and everything (facts of real GPU
 * traces), one that goes through scenes, and one that stands still are all told by one rule.
 */
#ifndef POLICY_QOS_DEMAND_H
#define POLICY_QOS_DEMAND_H

#include "policy/policy.h"

/*
 * Learns from one period of @vgpu, whose busy reading is valid. With a target and frames the demand
 * is the target times the GPU time of a frame; a slow clock makes frames dear, not demand large.
 * Without, it is the load; and who used up a cap below his contract wanted more than can be seen:
 * that is guessed until he has room, and nothing is learnt of his habits meanwhile. A vGPU is cold
 * at first, and counts at its contract: for longer where nobody can be moved away who turns out to
 * be too much.
 */
void demand_learn(const struct policy_gpu *gpu, const struct policy_vgpu *vgpu);

/* The part of its demand that must be served: with less it is broken. */
double demand_tolerance(const struct policy_vgpu *vgpu);

/* What it wants now, percent of the GPU; by track->demand.source maybe a guess. */
double demand_now_pct(const struct policy_vgpu *vgpu);

/* The cap under which it can be seen to want what it wants now, and no more; 0 where that is seen
 * under any, or is a guess. */
double demand_observable_cap_pct(const struct policy_vgpu *vgpu);

/* The most it was seen to want; its contract while it is cold. */
double demand_peak_pct(const struct policy_vgpu *vgpu);

/* Fills @ret_above: the chance that the next period's demand lies above each level. Where what it
 * wants is not seen, it may be the contract. */
void demand_predict(const struct policy_vgpu *vgpu, double ret_above[POLICY_LEVELS]);

/* The cap, in percent, that serves all demand up to @level, margin included. */
double demand_level_pct(const struct policy_vgpu *vgpu, int level);

/* Remembers what cap was thought to be enough for the next period; the margin learns from it. */
void demand_note_need(const struct policy_vgpu *vgpu, double need_pct);

/*
 * How often, of 1, it wanted each whole percent of the GPU in its last POLICY_DEMAND_WINDOW
 * periods. A cold one wanted its contract always, any other whenever its cap cut it off. @wakes:
 * for what has not been seen yet, some periods more are counted: at its contract, or with frames at
 * a scene half as dear again as the dearest seen.
 */
void demand_distribution(const struct policy_vgpu *vgpu, bool wakes, double ret_share[101]);

#endif
