/* SPDX-License-Identifier: MIT */
/*
 * Explains decisions: one sentence for a cloud operator, with the numbers that were used, and the
 * same numbers with names for programs.
 */
#include <assert.h>
#include <math.h>
#include <stdarg.h>

#include "base/text.h"
#include "policy/explain.h"
#include "policy/signal.h"

#define NAMED_MAX 6 /* largest number of moves in a sentence; the decision contains all moves */

void reason_add_number(struct policy_decision *decision, const char *name, double value)
{
	assert(decision->n_numbers < POLICY_NUMBERS_MAX);
	decision->numbers[decision->n_numbers++] = (struct policy_number){name, value};
}

void reason_add_text(struct policy_decision *decision, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text_append_args(decision->why, sizeof(decision->why), format, args);
	va_end(args);
}

void reason_add_moves(const struct policy_gpu *gpu, const struct policy_out *out,
		      struct policy_decision *decision)
{
	const struct policy_move *moves = out->moves + decision->first_move;

	for (int i = 0; i < decision->n_moves && i < NAMED_MAX; i++)
		reason_add_text(decision, "%s%s %d -> %d %%", i == 0 ? ": " : ", ",
				gpu->vgpus[moves[i].vgpu].id, moves[i].from_pct, moves[i].to_pct);
	if (decision->n_moves > NAMED_MAX)
		reason_add_text(decision, " and %d more", decision->n_moves - NAMED_MAX);
}

void reason_add_fraction(struct policy_decision *decision, double fraction)
{
	double parts = round(1 / fraction);

	if (parts > 1 && fabs(parts * fraction - 1) < 1e-9)
		reason_add_text(decision, "1/%.0f", parts);
	else
		reason_add_text(decision, "%.3g", fraction);
}

int reason_sum_moved_pct(const struct policy_out *out, const struct policy_decision *decision,
			 int sign)
{
	int sum_pct = 0;

	for (int i = 0; i < decision->n_moves; i++) {
		const struct policy_move *move = &out->moves[decision->first_move + i];
		int change_pct = sign * (move->to_pct - move->from_pct);

		sum_pct += change_pct > 0 ? change_pct : 0;
	}
	return sum_pct;
}

/* Begins the sentence with the reason why @vgpu needs help, and adds at most 7 numbers. */
static void add_need(const struct policy_params *params, const struct policy_gpu *gpu,
		     const struct policy_vgpu *vgpu, struct policy_decision *decision)
{
	double gpu_bound_pct = 100 * rules_in_force(params).gpu_bound;
	double u_pct = 100 * vgpu->sample.util;
	bool work = vgpu->terms.counts_work;
	int digits = work && vgpu->terms.target_fps < 10 ? 2 : 1;

	reason_add_number(decision, "u_pct", u_pct);
	reason_add_number(decision, "cap_pct", vgpu->cap_pct);
	reason_add_number(decision, "overload_pct", params->overload_pct);
	if (vgpu->terms.target_fps > 0 && vgpu->sample.fps_valid) {
		reason_add_number(decision, work ? "rate" : "fps", vgpu->rate);
		reason_add_number(decision, work ? "target_rate" : "target_fps",
				  vgpu->terms.target_fps);
		reason_add_number(decision, "e", vgpu->e);
	}
	switch (signal_cause(params, gpu, vgpu)) {
	case SIGNAL_QOS:
		reason_add_number(decision, "qos_gpu_bound_pct", gpu_bound_pct);
		reason_add_text(decision,
				"%s reaches %.*f of its target of %.6g %s while it uses %.1f %% "
				"of its %d %% cap (it is GPU-bound at %.4g %% or more)",
				vgpu->id, digits, vgpu->rate, vgpu->terms.target_fps,
				work ? "units/s" : "FPS", u_pct, vgpu->cap_pct, gpu_bound_pct);
		break;
	case SIGNAL_USE:
		reason_add_number(decision, "above_periods", vgpu->track->overload_run);
		reason_add_text(decision,
				"%s uses %.1f %% of its %d %% cap and has been above the threshold "
				"of %.4g %% for %d periods",
				vgpu->id, u_pct, vgpu->cap_pct, params->overload_pct,
				vgpu->track->overload_run);
		break;
	case SIGNAL_WAKE:
		reason_add_text(decision,
				"%s is overloaded at its floor: it uses %.1f %% of its %d %% cap "
				"(threshold %.4g %%)",
				vgpu->id, u_pct, vgpu->cap_pct, params->overload_pct);
		break;
	case SIGNAL_NONE:
		break;
	}
}

void explain_steal(const struct policy_params *params, const struct policy_gpu *gpu,
		   const struct policy_out *out, const struct steal *steal,
		   struct policy_decision *decision)
{
	static const char *const bounds[] = {
		[STEAL_SHARE] = "",
		[STEAL_ONE_STEP] = ", rounded up to one step",
		[STEAL_FLOOR] = ", limited by the donor's floor",
		[STEAL_CEILING] = ", limited by the receiver's ceiling",
		[STEAL_LINE] = ", limited so that the donor stays below the threshold",
	};
	const struct policy_vgpu *donor = &gpu->vgpus[steal->donor];

	add_need(params, gpu, &gpu->vgpus[steal->receiver], decision);
	reason_add_number(decision, "donor_u_pct", 100 * donor->sample.util);
	reason_add_number(decision, "donor_cap_pct", donor->cap_pct);
	reason_add_number(decision, "unused_pct", steal->unused_pct);
	reason_add_number(decision, "steal_fraction", params->steal_fraction);
	reason_add_number(decision, "stolen_pct", steal->steps * gpu->step_pct);
	reason_add_text(decision, "; ");
	reason_add_fraction(decision, params->steal_fraction);
	reason_add_text(decision, " of the %.1f %% unused by %s moves%s", steal->unused_pct,
			donor->id, bounds[steal->bound]);
	reason_add_moves(gpu, out, decision);
}

void explain_pool(const struct policy_params *params, const struct policy_gpu *gpu,
		  const struct policy_out *out, struct policy_decision *decision)
{
	int given_pct = reason_sum_moved_pct(out, decision, 1);
	int receivers = 0;

	for (int i = 0; i < gpu->n_vgpus; i++)
		receivers += gpu->vgpus[i].receiver;
	if (decision->vgpu >= 0)
		add_need(params, gpu, &gpu->vgpus[decision->vgpu], decision);
	else
		reason_add_text(decision, "%d vGPUs are overloaded", receivers);
	reason_add_number(decision, "receivers", receivers);
	reason_add_number(decision, "free_pct", gpu->free_pct);
	reason_add_number(decision, "given_pct", given_pct);
	reason_add_text(
		decision, "; the free pool has %d %% of the GPU and gives %d %%%s", gpu->free_pct,
		given_pct,
		decision->vgpu >= 0 ? "" : " in proportion to the room below the ceiling of each");
	reason_add_moves(gpu, out, decision);
}

void explain_severe(const struct policy_gpu *gpu, int n_signals, struct policy_decision *decision)
{
	const struct policy_vgpu *vgpu = &gpu->vgpus[decision->vgpu];

	reason_add_number(decision, "overloaded", n_signals);
	reason_add_number(decision, "load_pct", 100 * vgpu->sample.load);
	reason_add_number(decision, "u_pct", 100 * vgpu->sample.util);
	reason_add_number(decision, "cap_pct", vgpu->cap_pct);
	reason_add_number(decision, "total_load_pct", 100 * gpu->total_load);
	reason_add_text(decision,
			"%d vGPUs are overloaded at the same time, so no cap is moved between "
			"them; migrating %s would relieve the GPU most: it uses %.1f %% of the GPU "
			"(all vGPUs: %.1f %%)",
			n_signals, vgpu->id, 100 * vgpu->sample.load, 100 * gpu->total_load);
}

void explain_newcomer(const struct policy_params *params, const struct policy_gpu *gpu,
		      const struct policy_terms *terms, const struct fund *fund,
		      struct policy_decision *decision)
{
	reason_add_number(decision, "flavor_cap_pct", terms->initial_cap_pct);
	reason_add_number(decision, "fundable_pct", fund->cap_pct);
	reason_add_number(decision, "min_newcomer_pct", params->min_newcomer_pct);
	reason_add_number(decision, "free_pct", gpu->free_pct);
	reason_add_number(decision, "given_pct", fund->given_pct);
}

void explain_absent(const struct policy_gpu *gpu, struct policy_decision *decision)
{
	if (gpu->absent.n == 0)
		return;
	reason_add_number(decision, "missing_pct", gpu->absent.demand_pct);
	reason_add_text(decision, "; %d missing vGPUs may want %d %%", gpu->absent.n,
			gpu->absent.demand_pct);
}

void explain_offer(const struct policy_params *params, const struct policy_gpu *gpu,
		   const struct policy_terms *terms, const struct fund *fund,
		   struct policy_decision *decision)
{
	reason_add_number(decision, "calm_periods", gpu->calm_run);
	reason_add_number(decision, "total_load_pct", 100 * gpu->total_load);
	reason_add_number(decision, "lowload_pct", params->lowload_pct);
	explain_newcomer(params, gpu, terms, fund, decision);
	reason_add_text(decision,
			"No vGPU needed help for %d periods and all vGPUs use %.1f %% of the GPU "
			"(threshold %.4g %%): a contract of %d %% can be sold; %d %% can be funded "
			"now, of which other vGPUs give %d %%",
			gpu->calm_run, 100 * gpu->total_load, params->lowload_pct,
			terms->initial_cap_pct, fund->cap_pct, fund->given_pct);
	explain_absent(gpu, decision);
}

/* Adds the numbers of every decision of kind POLICY_FUND and begins its sentence. */
static void add_funded(const struct policy_gpu *gpu, const struct policy_terms *terms,
		       const struct fund *fund, struct policy_decision *decision)
{
	reason_add_number(decision, "contract_pct", terms->initial_cap_pct);
	reason_add_number(decision, "funded_pct", fund->cap_pct);
	reason_add_number(decision, "free_pct", 100 - plan_sum_cap_pct(gpu));
	reason_add_number(decision, "given_pct", fund->given_pct);
	reason_add_number(decision, "givers", fund->givers);
	reason_add_text(decision, "A newcomer with a contract of %d %% gets %d %%",
			terms->initial_cap_pct, fund->cap_pct);
}

void explain_fund(const struct policy_params *params, const struct policy_gpu *gpu,
		  const struct policy_out *out, const struct policy_terms *terms,
		  const struct fund *fund, struct policy_decision *decision)
{
	add_funded(gpu, terms, fund, decision);
	reason_add_number(decision, "fund_fraction", params->fund_fraction);
	reason_add_number(decision, "fund_window_periods", params->fund_window_periods);
	reason_add_number(decision, "min_newcomer_pct", params->min_newcomer_pct);
	if (fund->givers == 0) {
		reason_add_text(decision, ", all of it from the free pool");
		return;
	}
	reason_add_text(decision,
			", of which other vGPUs give %d %%: each at most %.3g of the cap that it "
			"did not use in the last %d periods",
			fund->given_pct, params->fund_fraction, params->fund_window_periods);
	reason_add_moves(gpu, out, decision);
}

void explain_fund_share(const struct policy_params *params, const struct policy_gpu *gpu,
			const struct policy_out *out, const struct policy_terms *terms,
			const struct fund *fund, const char *share,
			struct policy_decision *decision)
{
	add_funded(gpu, terms, fund, decision);
	reason_add_number(decision, "min_newcomer_pct", params->min_newcomer_pct);
	reason_add_text(decision, ", %s", share);
	if (fund->givers > 0)
		reason_add_text(decision, "; %d %% come from vGPUs above their share",
				fund->given_pct);
	reason_add_moves(gpu, out, decision);
}

void explain_return(const struct policy_gpu *gpu, const struct policy_out *out,
		    struct policy_decision *decision)
{
	int free_pct = 100 - plan_sum_cap_pct(gpu);
	int given_pct = reason_sum_moved_pct(out, decision, 1);

	reason_add_number(decision, "free_pct", free_pct);
	reason_add_number(decision, "given_pct", given_pct);
	reason_add_text(decision,
			"The free pool has %d %% of the GPU; %d %% go to vGPUs below their "
			"contract, in proportion to the room below each contract",
			free_pct, given_pct);
	reason_add_moves(gpu, out, decision);
}

void explain_fit(const struct policy_gpu *gpu, const struct policy_out *out, int over_pct,
		 int left_pct, struct policy_decision *decision)
{
	int cut_pct = reason_sum_moved_pct(out, decision, -1);

	reason_add_number(decision, "sum_cap_pct", 100 + over_pct);
	reason_add_number(decision, "over_pct", over_pct);
	reason_add_number(decision, "cut_pct", cut_pct);
	reason_add_number(decision, "left_pct", left_pct);
	reason_add_text(decision,
			"All caps add up to %d %%; %d %% are cut, first unused cap, then all caps "
			"in proportion",
			100 + over_pct, cut_pct);
	if (left_pct > 0)
		reason_add_text(decision, " (floors and holds prevent a further cut of %d %%)",
				left_pct);
	reason_add_moves(gpu, out, decision);
}

/* Ends the sentence with the cap that other vGPUs give to decision->vgpu. */
static void add_given(const struct policy_gpu *gpu, const struct policy_out *out,
		      struct policy_decision *decision)
{
	const struct policy_vgpu *vgpu = &gpu->vgpus[decision->vgpu];
	int own_pct = vgpu->cap_pct - vgpu->want_cap_pct;
	int others_pct = reason_sum_moved_pct(out, decision, -1) - (own_pct > 0 ? own_pct : 0);

	reason_add_number(decision, "given_pct", others_pct);
	if (others_pct > 0)
		reason_add_text(
			decision,
			"; other vGPUs give %d %%, first unused cap, then all caps in proportion",
			others_pct);
	reason_add_moves(gpu, out, decision);
}

void explain_hold(const struct policy_gpu *gpu, const struct policy_out *out, int cap_pct,
		  struct policy_decision *decision)
{
	const struct policy_vgpu *vgpu = &gpu->vgpus[decision->vgpu];

	reason_add_number(decision, "cap_pct", vgpu->cap_pct);
	reason_add_number(decision, "held_pct", cap_pct);
	reason_add_text(decision, "An operator holds %s at %d %%", vgpu->id, cap_pct);
	add_given(gpu, out, decision);
}

void explain_set(const struct policy_gpu *gpu, const struct policy_out *out, int least_pct,
		 int most_pct, struct policy_decision *decision)
{
	const struct policy_vgpu *vgpu = &gpu->vgpus[decision->vgpu];

	reason_add_number(decision, "cap_pct", vgpu->cap_pct);
	reason_add_number(decision, "least_pct", least_pct);
	reason_add_number(decision, "most_pct", most_pct);
	reason_add_text(decision,
			"The new contract of %s allows caps from %d to %d %%; its cap was %d %%",
			vgpu->id, least_pct, most_pct, vgpu->cap_pct);
	add_given(gpu, out, decision);
}
