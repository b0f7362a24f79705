/* SPDX-License-Identifier: MIT */
/*
 * The credits of VMCG (IEEE TPDS 2018, section 4) as caps. In each period every vGPU receives
 * credits:
 *
 *   CREDIT_i = (e^(BW_i x MSIZE_i) + NUM_i) / (e^(BW x MSIZE) + sum NUM_j) x CREDIT     (Eq. 2)
 *
 * Credits that a vGPU does not need are transferred to vGPUs that have used all of theirs. The
 * terms of the paper and their counterparts here:
 *
 *   CREDIT      the GPU without held caps, in steps; a step of credit is a step of cap
 *   BW, MSIZE   PCI-E traffic and graphics memory: unknown to gover, so 0 for all. Each vGPU then
 *               has e^0 = 1 beside its NUM, and the denominator has one such term for each vGPU, so
 *               that all credits add up to CREDIT
 *   NUM_i       waiting requests: here the claim, an estimate of the demand in percent of the GPU.
 *               While a vGPU uses all its credits, its claim grows by demand_probe each period.
 *               While the cap exceeds the need by more than twice the dead band, the claim shrinks.
 *               Otherwise the claim does not change, so that a steady load has steady credits
 *   TIME_G      one period
 *   transfer    the need is the smallest cap with which the use in the last demand_periods is below
 *               overload_pct. A vGPU gives the credits above its need plus the dead band. A vGPU
 *               that has used all credits can receive up to its claim, any other up to its need
 *
 * Floors and contracts bound the caps. VMCG has no admission, so vGPUs are sold as by gover
 * (rule 4). Frames and weights have no influence.
 */
#include "base/number.h"
#include "policy/baseline/assign.h"
#include "policy/explain.h"
#include "policy/fund.h"
#include "policy/plan.h"
#include "policy/share.h"
#include "policy/signal.h"

/* Returns the claim after this period. */
static int next_claim_pct(const struct policy_params *params, const struct policy_gpu *gpu,
			  const struct policy_vgpu *vgpu)
{
	int need_pct = probe_need_steps(params, gpu, vgpu) * gpu->step_pct;
	int band_pct = probe_band_steps(params, gpu) * gpu->step_pct;
	int claim_pct = vgpu->track->claim_pct;

	if (probe_is_censored(params, gpu, vgpu)) {
		claim_pct = max_int(claim_pct, vgpu->cap_pct);
		claim_pct = probe_more_steps(params, gpu, claim_pct) * gpu->step_pct;
		return min_int(claim_pct, policy_ceiling_pct(gpu, &vgpu->terms));
	}
	if (vgpu->cap_pct > need_pct + 2 * band_pct)
		claim_pct = claim_pct * (need_pct + band_pct) / vgpu->cap_pct;
	return max_int(claim_pct, need_pct);
}

static void read_claims(const struct policy_params *params, struct policy_gpu *gpu)
{
	for (int i = 0; i < gpu->n_vgpus; i++)
		gpu->vgpus[i].track->claim_pct = next_claim_pct(params, gpu, &gpu->vgpus[i]);
}

struct transfer {
	int spare[WATERFILL_MAX]; /* steps that each entry can give */
	int room[WATERFILL_MAX];  /* steps that each entry can receive */
	int total;		  /* steps to transfer */
};

static void find_transfer(const struct policy_params *params, const struct policy_gpu *gpu,
			  const struct waterfill *fill, const int *floors,
			  struct transfer *ret_transfer)
{
	int spare = 0, room = 0;

	*ret_transfer = (struct transfer){0};
	for (int i = 0; i < fill->n; i++) {
		const struct waterfill_entry *entry = &fill->entries[i];
		const struct policy_vgpu *vgpu = entry->id ? &gpu->vgpus[entry->vgpu] : NULL;
		int want, keep = entry->steps;

		if (!vgpu) {
			want = entry->limit;
		} else if (probe_is_censored(params, gpu, vgpu)) {
			want = vgpu->track->claim_pct / gpu->step_pct;
		} else {
			want = probe_need_steps(params, gpu, vgpu);
			keep = max_int(want + probe_band_steps(params, gpu), floors[i]);
		}
		ret_transfer->room[i] = max_int(0, min_int(want, entry->limit) - entry->steps);
		ret_transfer->spare[i] = max_int(0, entry->steps - keep);
		room += ret_transfer->room[i];
		spare += ret_transfer->spare[i];
	}
	ret_transfer->total = min_int(spare, room);
}

/* Takes credits from the vGPUs in proportion to their spare credits, and divides the credits among
 * the receivers by Eq. 2. */
static void make_transfer(const struct transfer *transfer, struct waterfill *fill)
{
	struct share shares[POLICY_VGPUS_MAX];
	int n = 0;

	for (int i = 0; i < fill->n; i++)
		if (transfer->spare[i] > 0)
			shares[n++] = (struct share){.id = fill->entries[i].id,
						     .vgpu = i,
						     .weight = transfer->spare[i],
						     .limit = transfer->spare[i]};
	(void)share_divide(shares, n, transfer->total);
	for (int i = 0; i < n; i++)
		fill->entries[shares[i].vgpu].steps -= shares[i].steps;
	for (int i = 0; i < fill->n; i++)
		fill->entries[i].limit = fill->entries[i].steps + transfer->room[i];
	(void)waterfill_allocate(fill->entries, fill->n, transfer->total);
}

static bool compute_credit(const struct policy_params *params, const struct policy_gpu *gpu,
			   const struct policy_terms *newcomer, struct assignment *ret_assigned)
{
	int floors[WATERFILL_MAX], claims_pct = 0, wanting = 0;
	struct transfer transfer;
	struct waterfill fill;

	assign_begin(params, gpu, newcomer, true, &fill);
	if (fill.extra < 0)
		return false;
	for (int i = 0; i < fill.n; i++) {
		struct waterfill_entry *entry = &fill.entries[i];
		const struct policy_vgpu *vgpu = entry->id ? &gpu->vgpus[entry->vgpu] : NULL;
		int claim_pct = vgpu ? vgpu->track->claim_pct : newcomer->initial_cap_pct;

		entry->weight = 1 + claim_pct;
		floors[i] = entry->steps;
		claims_pct += claim_pct;
		wanting += vgpu && probe_is_censored(params, gpu, vgpu);
	}
	(void)waterfill_allocate(fill.entries, fill.n, fill.extra);
	find_transfer(params, gpu, &fill, floors, &transfer);
	make_transfer(&transfer, &fill);
	assign_finish(gpu, &fill, ret_assigned);
	ret_assigned->wanting = wanting;
	ret_assigned->demand_pct = claims_pct;
	ret_assigned->spare_pct = transfer.total * gpu->step_pct;
	return true;
}

static void explain_credit(const struct policy_params *params, const struct policy_gpu *gpu,
			   const struct policy_out *out, const struct assignment *assigned,
			   struct policy_decision *decision)
{
	assign_explain_demand(params, gpu, assigned, decision);
	reason_add_text(decision,
			"; the vGPUs share %d %% of the GPU by their estimated demands, which add "
			"up to %d %%",
			assigned->shared_pct, assigned->demand_pct);
	if (assigned->spare_pct > 0)
		reason_add_text(decision,
				"; %d %% go from vGPUs that need less than their share to "
				"vGPUs that need more",
				assigned->spare_pct);
	reason_add_moves(gpu, out, decision);
}

static const struct assign_rule credit = {
	.read = read_claims,
	.compute = compute_credit,
	.explain = explain_credit,
	.share = "its share by demand",
	.uses_readings = true,
};

static int fund_credit(const struct policy_params *params, const struct policy_gpu *gpu,
		       const struct policy_terms *terms, struct fund *ret_fund)
{
	return assign_fund_plan(params, gpu, terms, &credit, ret_fund);
}

void credit_step(const struct policy_params *params, struct policy_gpu *gpu, struct policy_out *out)
{
	bool moved = assign_step(params, gpu, &credit, out);

	admit_period(params, gpu, &admit_by_load, fund_credit, assign_is_calm(gpu), moved, out);
}

ASSIGN_FUNCTIONS(credit, credit)
