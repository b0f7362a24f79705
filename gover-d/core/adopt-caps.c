/* SPDX-License-Identifier: MIT */
/* Completes the cap writes of changes that a crash or an error has interrupted. */
#include "gover-d/core/adopt-caps.h"
#include "gover-d/core/record.h"
#include "gover-d/core/round.h"
#include "gover-d/core/state.h"

/* Plans the cap of viewed vGPU @index in round->out. Returns false if its cap stays. */
static bool plan_cap(struct manager *m, struct host_gpu *gpu, int index)
{
	struct plan_round *round = m->round;
	const struct contract *c = &round->viewed[index]->contract;
	int cap_pct = round->viewed[index]->cap_pct, largest_pct, r;

	if (round->viewed[index]->cap_unknown)
		return false; /* a later tick judges the cap first */
	if (round->viewed[index]->cap_waits) {
		gpu->caps_due = true; /* until the end of the pause */
		return false;
	}
	if (!c->held && round->viewed[index]->found)
		return false; /* no client has set a contract */
	if (!c->held)
		r = policy_set(&m->params, &gpu->view, index, &c->terms, &round->out, &largest_pct);
	else if (c->held_cap_pct == cap_pct ||
		 c->held_cap_pct > policy_ceiling_pct(&gpu->view, &c->terms))
		return false; /* the second condition: an external writer set the held cap */
	else
		r = policy_hold(&m->params, &gpu->view, index, c->held_cap_pct, &round->out,
				&largest_pct);
	return r == 0 && round->out.n_moves > 0;
}

static void correct(struct manager *m, struct host_gpu *gpu, struct vgpu *vgpu, struct instant now)
{
	const struct contract *c = &vgpu->contract;
	bool act = gpu->mode != GPU_MODE_OBSERVE, again = round_failed_lately(vgpu, now);

	if (c->held && !again)
		record_decision(m, gpu, vgpu, DECISION_ADOPT, DECISION_NOTED, now,
				"vGPU %s has a cap of %d %%, but its stored hold is %d %%", c->id,
				vgpu->cap_pct, c->held_cap_pct);
	else if (!again)
		record_decision(m, gpu, vgpu, DECISION_ADOPT, DECISION_NOTED, now,
				"vGPU %s has a cap of %d %%, but its stored contract allows %d to "
				"%d %%",
				c->id, vgpu->cap_pct,
				policy_floor_pct(&m->params, &gpu->view, &c->terms),
				policy_ceiling_pct(&gpu->view, &c->terms));
	/* A failed write is recorded with the decision; the next period tries again. */
	(void)round_apply(m, gpu, m->round, act, now);
}

void adopt_caps(struct manager *m, struct host_gpu *gpu, struct instant now)
{
	struct plan_round *round = m->round;
	int n;

	if (!gpu->caps_due)
		return;
	/* A write that fails and a cap whose origin is unknown set it again. */
	gpu->caps_due = false;
	if (gpu->traits.observes)
		return;
	round_view(m, gpu, round);
	n = gpu->view.n_vgpus;
	for (int i = 0; i < n; i++) {
		round_view(m, gpu, round); /* the caps that earlier corrections have left */
		if (plan_cap(m, gpu, i))
			correct(m, gpu, round->viewed[i], now);
	}
}
