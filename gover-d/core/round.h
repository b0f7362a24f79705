/* SPDX-License-Identifier: MIT */
/*
 * One round of planning for one GPU: the policy's view of its vGPUs, what the policy decided and
 * the moves that carry it out. The tick and the requests (control.h) use the same steps: view, a
 * call of the policy, apply.
 */
#ifndef GOVER_D_CORE_ROUND_H
#define GOVER_D_CORE_ROUND_H

#include "gover-d/core/actuate.h"
#include "gover-d/model/host.h"

struct manager;

/* Large: the manager preallocates one, so that a tick allocates nothing. */
struct plan_round {
	struct policy_vgpu views[POLICY_VGPUS_MAX];
	struct vgpu *viewed[POLICY_VGPUS_MAX]; /* views[i] describes viewed[i] */
	struct policy_out out;
	struct actuate_move moves[POLICY_MOVES_MAX]; /* of the decision that is being applied */
};

/* The nominal period on the GPU's clock, which may run faster than real time in a simulation. */
double round_period_s(const struct manager *manager, const struct host_gpu *gpu);

/* Fills @round->views from the GPU's vGPUs and prepares gpu->view for a call of the policy. */
void round_view(struct manager *manager, struct host_gpu *gpu, struct plan_round *round);

/*
 * Carries out the decisions in @round->out and records each. @act false: records them only. Returns
 * 0, -EIO if a write did not come out as asked, or -ESTALE if an external writer has changed one of
 * the caps since they were viewed: that vGPU is put on hold, and the rest of the plan is dropped.
 */
int round_apply(struct manager *manager, struct host_gpu *gpu, struct plan_round *round, bool act,
		struct instant now);

/*
 * Before a request carries out the plan in @round for @vgpu (NULL: a new one): returns
 * CONTROL_E_FOREIGN_CAP if an external writer has changed a cap that the plan uses; that vGPU is on
 * hold then.
 */
int round_check(struct manager *manager, struct host_gpu *gpu, const struct plan_round *round,
		struct vgpu *vgpu, struct instant now, struct err *reterr);

#endif
