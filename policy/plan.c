/* SPDX-License-Identifier: MIT */
/* Turns a plan into wanted caps and moves. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "policy/plan.h"
#include "policy/share.h"

void plan_clear(struct policy_out *out)
{
	out->n_decisions = 0;
	out->n_moves = 0;
}

void plan_init(struct plan *plan, const struct policy_gpu *gpu)
{
	assert(gpu->n_vgpus <= POLICY_VGPUS_MAX);
	memset(plan, 0, sizeof(*plan));
}

static void add_move(struct policy_gpu *gpu, struct policy_out *out, int index, int delta_pct)
{
	const struct policy_vgpu *vgpu = &gpu->vgpus[index];

	out->moves[out->n_moves++] = (struct policy_move){
		.vgpu = index,
		.from_pct = vgpu->cap_pct,
		.to_pct = vgpu->cap_pct + delta_pct,
	};
}

int plan_apply(const struct plan *plan, struct policy_gpu *gpu)
{
	int changed = 0;

	for (int i = 0; i < gpu->n_vgpus; i++) {
		gpu->vgpus[i].want_cap_pct = gpu->vgpus[i].cap_pct + plan->delta_pct[i];
		changed += plan->delta_pct[i] != 0;
	}
	return changed;
}

struct policy_decision *plan_decide(const struct plan *plan, struct policy_gpu *gpu,
				    enum policy_kind kind, struct policy_out *out)
{
	struct policy_decision *decision = &out->decisions[out->n_decisions++];
	int changed[POLICY_VGPUS_MAX];
	int n = 0;

	for (int i = 0; i < gpu->n_vgpus; i++)
		if (plan->delta_pct[i] != 0)
			changed[n++] = i;
	plan_apply(plan, gpu);
	*decision = (struct policy_decision){
		.kind = kind,
		.vgpu = -1,
		.donor = -1,
		.first_move = out->n_moves,
		.n_moves = n,
	};
	sort_by_id(gpu, changed, n);
	for (int i = 0; i < n; i++)
		if (plan->delta_pct[changed[i]] < 0)
			add_move(gpu, out, changed[i], plan->delta_pct[changed[i]]);
	for (int i = 0; i < n; i++)
		if (plan->delta_pct[changed[i]] > 0)
			add_move(gpu, out, changed[i], plan->delta_pct[changed[i]]);
	return decision;
}

struct policy_decision *plan_decide_nothing(struct policy_gpu *gpu, enum policy_kind kind,
					    struct policy_out *out)
{
	struct plan none;

	plan_init(&none, gpu);
	return plan_decide(&none, gpu, kind, out);
}

int plan_sum_cap_pct(const struct policy_gpu *gpu)
{
	int sum_pct = gpu->absent.cap_pct;

	for (int i = 0; i < gpu->n_vgpus; i++)
		sum_pct += gpu->vgpus[i].cap_pct;
	return sum_pct;
}

void policy_add_absent(struct policy_gpu *gpu, const struct policy_terms *terms,
		       const struct policy_track *track, int cap_pct)
{
	gpu->absent.n++;
	gpu->absent.cap_pct += cap_pct;
	gpu->absent.demand_pct +=
		max_int(max_int(terms->initial_cap_pct, cap_pct), track->past.peak_pct);
}

int plan_free_steps(const struct policy_gpu *gpu)
{
	return plan_whole_steps(gpu, 100 - plan_sum_cap_pct(gpu));
}

/* Tolerates a rounding error, so that 0.8 x 30 % is 24 steps of 1 %. */
int plan_whole_steps(const struct policy_gpu *gpu, double pct)
{
	return (int)floor(pct / gpu->step_pct + 1e-4);
}

int plan_contract_pct(const struct policy_gpu *gpu, const struct policy_terms *terms)
{
	int steps = terms->initial_cap_pct / gpu->step_pct;

	return (steps > 1 ? steps : 1) * gpu->step_pct;
}

int policy_floor_pct(const struct policy_params *params, const struct policy_gpu *gpu,
		     const struct policy_terms *terms)
{
	int floor_pct = terms->min_cap_pct > 0 ? terms->min_cap_pct : params->cap_floor_pct;
	int ceiling_pct = policy_ceiling_pct(gpu, terms);

	if (floor_pct < gpu->floor_pct)
		floor_pct = gpu->floor_pct;
	if (floor_pct < 1)
		floor_pct = 1;
	floor_pct = (floor_pct + gpu->step_pct - 1) / gpu->step_pct * gpu->step_pct;
	return floor_pct < ceiling_pct ? floor_pct : ceiling_pct;
}

int policy_ceiling_pct(const struct policy_gpu *gpu, const struct policy_terms *terms)
{
	return terms->burst ? 100 / gpu->step_pct * gpu->step_pct : plan_contract_pct(gpu, terms);
}

int policy_terms_ceiling_pct(const struct policy_terms *terms)
{
	return terms->burst ? 100 : terms->initial_cap_pct;
}
