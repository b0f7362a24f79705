/* SPDX-License-Identifier: MIT */
/*
 * One round of planning for one GPU: the view of its vGPUs for the policy, the decisions of the
 * policy, and the moves of these decisions. Ticks and requests (control.h) use the same steps:
 * round_view(), a call of the policy, round_apply().
 */
#ifndef GOVER_D_TICK_ROUND_H
#define GOVER_D_TICK_ROUND_H

#include "gover-d/tick/tick.h"

/* shortest time between two records of the same decision that is not applied or fails */
#define ROUND_REPEAT_NS (60 * NS_PER_S)

/* The tick owns this large struct, allocated at the start, so that a tick allocates nothing. */
struct plan_round {
	struct policy_vgpu views[POLICY_VGPUS_MAX];
	struct vgpu *viewed[POLICY_VGPUS_MAX]; /* views[i] describes viewed[i] */
	struct policy_out out;
	/* moves of the decision that is being applied */
	struct actuate_move moves[POLICY_MOVES_MAX];
};

/* Returns the nominal period in GPU time, which runs faster than real time in a simulation. */
static inline double round_period_s(const struct tick *tick, const struct host_gpu *gpu)
{
	return tick->settings->config.period_ms / 1000.0 * gpu_speed(&gpu->config);
}

/* Fills tick->round->views from the GPU's vGPUs and prepares gpu->view for a call of the policy. */
void round_view(struct tick *tick, struct host_gpu *gpu);

/*
 * Applies the decisions in tick->round->out and records them. @act false: only records them.
 * Returns 0, or -EIO if a write failed or another cap was read back. -ESTALE: an external writer
 * changed one of the caps after round_view(); that vGPU is put on hold, and the rest of the plan is
 * dropped.
 */
int round_apply(struct tick *tick, struct host_gpu *gpu, bool act, struct instant now);
/*
 * Begins a period and calls the step of the policy. promises_judge() and round_apply() follow.
 * @gap: counts of consecutive periods restart. @answers false: the GPU did not answer, so nothing
 * is written. @lost: a vGPU has left capacity that is given back.
 */
void round_step(struct tick *tick, struct host_gpu *gpu, bool gap, bool answers, bool lost,
		struct instant now);
/* @vgpu has vanished: forgets its last step, so that it is not overloaded. */
void round_forget(struct vgpu *vgpu);
/*
 * Requests the migration that a decision of kind severe named, once all demands together exceed the
 * GPU: if it has capacity left, a migration is the wrong remedy. Call it once a period.
 */
void round_migrate(struct tick *tick, struct host_gpu *gpu);
/* True if a decision about @vgpu was recorded in the last minute that could not be applied. */
static inline bool round_failed_lately(const struct vgpu *vgpu, struct instant now)
{
	return vgpu->failed.at_ns && now.mono_ns - vgpu->failed.at_ns < ROUND_REPEAT_NS;
}

/*
 * Checks, before a request applies the plan, that no external writer changed a cap of the
 * plan. @vgpu: the vGPU of the request; NULL: a new vGPU. CONTROL_E_FOREIGN_CAP: a cap was changed,
 * and that vGPU is on hold now.
 */
int round_check(struct tick *tick, struct host_gpu *gpu, struct vgpu *vgpu, struct instant now,
		struct err *reterr);

/*
 * Call it if host_gpu_take_caps_check() returns true. Corrects the caps of all vGPUs of @gpu that
 * are outside [floor, ceiling] of their contracts, or that differ from their held caps: a crash has
 * interrupted a change between its storage and its application, or a cap write has failed. A write
 * that fails is tried again in the next call. A cap that an external writer set is not changed. In
 * mode observe and in a dry run, the corrections are only recorded.
 */
void round_adopt_caps(struct tick *tick, struct host_gpu *gpu, struct instant now);

#endif
