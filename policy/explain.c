/* SPDX-License-Identifier: MIT */
/*
 * Decisions in words: one sentence a cloud operator understands, with the numbers that were used,
 * and the same numbers by name for programs. Must never decide anything.
 */
#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "policy/explain.h"
#include "policy/signal.h"

#define NAMED_MAX 6 /* moves named in a sentence; all are in the decision */

static void number(struct policy_decision *decision, const char *name, double value)
{
	assert(decision->n_numbers < POLICY_NUMBERS_MAX);
	decision->numbers[decision->n_numbers++] = (struct policy_number){name, value};
}

/* Adds to the sentence; one too long ends in "...". */
__attribute__((format(printf, 2, 3))) static void say(struct policy_decision *decision,
						      const char *format, ...)
{
	size_t used = strlen(decision->why);
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(decision->why + used, POLICY_WHY_MAX - used, format, args);
	va_end(args);
	if (n < 0)
		decision->why[used] = '\0';
	else if ((size_t)n >= POLICY_WHY_MAX - used)
		memcpy(decision->why + POLICY_WHY_MAX - 4, "...", 4);
}

static void say_moves(const struct policy_gpu *gpu, const struct policy_out *out,
		      struct policy_decision *decision)
{
	const struct policy_move *moves = out->moves + decision->first_move;

	for (int i = 0; i < decision->n_moves && i < NAMED_MAX; i++)
		say(decision, "%s%s %d -> %d %%", i == 0 ? ": " : ", ",
		    gpu->vgpus[moves[i].vgpu].id, moves[i].from_pct, moves[i].to_pct);
	if (decision->n_moves > NAMED_MAX)
		say(decision, " and %d more", decision->n_moves - NAMED_MAX);
}

/* 0.2 is "1/5". */
static void say_fraction(struct policy_decision *decision, double fraction)
{
	double parts = round(1 / fraction);

	if (parts > 1 && fabs(parts * fraction - 1) < 1e-9)
		say(decision, "1/%.0f", parts);
	else
		say(decision, "%.3g", fraction);
}

/* Percent moved: the sum of the raises, or of the cuts where @sign is -1. */
static int moved_pct(const struct policy_out *out, const struct policy_decision *decision, int sign)
{
	int sum_pct = 0;

	for (int i = 0; i < decision->n_moves; i++) {
		const struct policy_move *move = &out->moves[decision->first_move + i];
		int change_pct = sign * (move->to_pct - move->from_pct);

		sum_pct += change_pct > 0 ? change_pct : 0;
	}
	return sum_pct;
}

/* Why @vgpu needs help: the beginning of a sentence, and at most 7 numbers. */
static void tell_need(const struct policy_params *params, const struct policy_gpu *gpu,
		      const struct policy_vgpu *vgpu, struct policy_decision *decision)
{
	double gpu_bound_pct = 100 * rules_in_force(params).gpu_bound;
	double u_pct = 100 * vgpu->util;

	number(decision, "u_pct", u_pct);
	number(decision, "cap_pct", vgpu->cap_pct);
	number(decision, "overload_pct", params->overload_pct);
	if (vgpu->terms.target_fps > 0 && vgpu->fps_valid) {
		number(decision, "fps", vgpu->fps);
		number(decision, "target_fps", vgpu->terms.target_fps);
		number(decision, "e", vgpu->e);
	}
	switch (signal_cause(params, gpu, vgpu)) {
	case SIGNAL_QOS:
		number(decision, "qos_gpu_bound_pct", gpu_bound_pct);
		say(decision,
		    "%s shows %.1f of %.4g promised frames a second while it uses %.1f %% of its "
		    "%d %% cap (GPU-bound from %.4g %%)",
		    vgpu->id, vgpu->fps, vgpu->terms.target_fps, u_pct, vgpu->cap_pct,
		    gpu_bound_pct);
		break;
	case SIGNAL_USE:
		number(decision, "above_periods", vgpu->track->overload_run);
		say(decision,
		    "%s uses %.1f %% of its %d %% cap and has been above the line of %.4g %% for "
		    "%d periods",
		    vgpu->id, u_pct, vgpu->cap_pct, params->overload_pct,
		    vgpu->track->overload_run);
		break;
	case SIGNAL_WAKE:
		say(decision,
		    "%s wakes at its floor: it uses %.1f %% of its %d %% cap (line %.4g %%)",
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
		[STEAL_ONE_STEP] = ", at least one step",
		[STEAL_FLOOR] = ", no more than the donor's floor allows",
		[STEAL_CEILING] = ", no more than the receiver may have",
		[STEAL_LINE] = ", no more than keeps the donor itself under the line",
	};
	const struct policy_vgpu *donor = &gpu->vgpus[steal->donor];

	tell_need(params, gpu, &gpu->vgpus[steal->receiver], decision);
	number(decision, "donor_u_pct", 100 * donor->util);
	number(decision, "donor_cap_pct", donor->cap_pct);
	number(decision, "unused_pct", steal->unused_pct);
	number(decision, "steal_fraction", params->steal_fraction);
	number(decision, "stolen_pct", steal->steps * gpu->step_pct);
	say(decision, "; ");
	say_fraction(decision, params->steal_fraction);
	say(decision, " of the %.1f %% that %s leaves unused moves%s", steal->unused_pct, donor->id,
	    bounds[steal->bound]);
	say_moves(gpu, out, decision);
}

void explain_pool(const struct policy_params *params, const struct policy_gpu *gpu,
		  const struct policy_out *out, struct policy_decision *decision)
{
	int given_pct = moved_pct(out, decision, 1);
	int receivers = 0;

	for (int i = 0; i < gpu->n_vgpus; i++)
		receivers += gpu->vgpus[i].receiver;
	if (decision->vgpu >= 0)
		tell_need(params, gpu, &gpu->vgpus[decision->vgpu], decision);
	else
		say(decision, "%d vGPUs are overloaded", receivers);
	number(decision, "receivers", receivers);
	number(decision, "free_pct", gpu->free_pct);
	number(decision, "given_pct", given_pct);
	say(decision, "; %d %% of the GPU is in no cap and %d %% of it is given%s", gpu->free_pct,
	    given_pct, decision->vgpu >= 0 ? "" : " in proportion to what each lacks");
	say_moves(gpu, out, decision);
}

void explain_severe(const struct policy_gpu *gpu, int n_signals, struct policy_decision *decision)
{
	const struct policy_vgpu *victim = &gpu->vgpus[decision->vgpu];

	number(decision, "overloaded", n_signals);
	number(decision, "load_pct", 100 * victim->load);
	number(decision, "u_pct", 100 * victim->util);
	number(decision, "cap_pct", victim->cap_pct);
	number(decision, "total_load_pct", 100 * gpu->total_load);
	say(decision,
	    "%d vGPUs are overloaded at once, so no cap is moved between them; moving %s to "
	    "another host would relieve most: it uses %.1f %% of the GPU (all together %.1f %%)",
	    n_signals, victim->id, 100 * victim->load, 100 * gpu->total_load);
}

void explain_offer(const struct policy_params *params, const struct policy_gpu *gpu,
		   const struct fund *fund, struct policy_decision *decision)
{
	number(decision, "calm_periods", gpu->calm_run);
	number(decision, "total_load_pct", 100 * gpu->total_load);
	number(decision, "lowload_pct", params->lowload_pct);
	number(decision, "flavor_cap_pct", gpu->flavor.initial_cap_pct);
	number(decision, "fundable_pct", fund->cap_pct);
	number(decision, "min_newcomer_pct", params->min_newcomer_pct);
	number(decision, "free_pct", gpu->free_pct);
	number(decision, "given_pct", fund->given_pct);
	say(decision,
	    "For %d periods no vGPU needed help and all together use %.1f %% of the GPU (line "
	    "%.4g %%): one more of %d %% can be sold, %d %% can be funded now, %d %% of it by "
	    "others",
	    gpu->calm_run, 100 * gpu->total_load, params->lowload_pct, gpu->flavor.initial_cap_pct,
	    fund->cap_pct, fund->given_pct);
}

void explain_fund(const struct policy_params *params, const struct policy_gpu *gpu,
		  const struct policy_out *out, const struct policy_terms *terms,
		  const struct fund *fund, struct policy_decision *decision)
{
	number(decision, "contract_pct", terms->initial_cap_pct);
	number(decision, "funded_pct", fund->cap_pct);
	number(decision, "free_pct", 100 - plan_sum_cap_pct(gpu));
	number(decision, "given_pct", fund->given_pct);
	number(decision, "givers", fund->givers);
	number(decision, "fund_fraction", params->fund_fraction);
	number(decision, "fund_window_periods", params->fund_window_periods);
	number(decision, "min_newcomer_pct", params->min_newcomer_pct);
	say(decision, "A newcomer with a contract of %d %% gets %d %%", terms->initial_cap_pct,
	    fund->cap_pct);
	if (fund->givers == 0) {
		say(decision, ", all of it from GPU time in no cap");
		return;
	}
	say(decision,
	    ", for which %d %% come from others: at most %.3g of what each left unused at its "
	    "largest use in %d periods",
	    fund->given_pct, params->fund_fraction, params->fund_window_periods);
	say_moves(gpu, out, decision);
}

void explain_return(const struct policy_gpu *gpu, const struct policy_out *out,
		    struct policy_decision *decision)
{
	int free_pct = 100 - plan_sum_cap_pct(gpu);
	int given_pct = moved_pct(out, decision, 1);

	number(decision, "free_pct", free_pct);
	number(decision, "given_pct", given_pct);
	say(decision,
	    "%d %% of the GPU is in no cap; %d %% go back to those below their contract, in "
	    "proportion to what each lacks",
	    free_pct, given_pct);
	say_moves(gpu, out, decision);
}

void explain_fit(const struct policy_gpu *gpu, const struct policy_out *out, int over_pct,
		 int left_pct, struct policy_decision *decision)
{
	int cut_pct = moved_pct(out, decision, -1);

	number(decision, "sum_cap_pct", 100 + over_pct);
	number(decision, "over_pct", over_pct);
	number(decision, "cut_pct", cut_pct);
	number(decision, "left_pct", left_pct);
	say(decision,
	    "All caps together are %d %%; %d %% are cut, first what is not used, then in "
	    "proportion",
	    100 + over_pct, cut_pct);
	if (left_pct > 0)
		say(decision, " (floors and holds keep %d %% too many)", left_pct);
	say_moves(gpu, out, decision);
}

/* What the others gave for the cap of decision->vgpu, whose sentence goes on with it. */
static void tell_given(const struct policy_gpu *gpu, const struct policy_out *out,
		       struct policy_decision *decision)
{
	const struct policy_vgpu *vgpu = &gpu->vgpus[decision->vgpu];
	int own_pct = vgpu->cap_pct - vgpu->want_cap_pct;
	int others_pct = moved_pct(out, decision, -1) - (own_pct > 0 ? own_pct : 0);

	number(decision, "given_pct", others_pct);
	if (others_pct > 0)
		say(decision,
		    "; the others give %d %%, first what they do not use, then in proportion",
		    others_pct);
	say_moves(gpu, out, decision);
}

void explain_hold(const struct policy_gpu *gpu, const struct policy_out *out, int cap_pct,
		  struct policy_decision *decision)
{
	const struct policy_vgpu *vgpu = &gpu->vgpus[decision->vgpu];

	number(decision, "cap_pct", vgpu->cap_pct);
	number(decision, "held_pct", cap_pct);
	say(decision, "An operator holds %s at %d %%", vgpu->id, cap_pct);
	tell_given(gpu, out, decision);
}

void explain_set(const struct policy_gpu *gpu, const struct policy_out *out, int least_pct,
		 int most_pct, struct policy_decision *decision)
{
	const struct policy_vgpu *vgpu = &gpu->vgpus[decision->vgpu];

	number(decision, "cap_pct", vgpu->cap_pct);
	number(decision, "least_pct", least_pct);
	number(decision, "most_pct", most_pct);
	say(decision, "The contract of %s allows %d to %d %% now, its cap was %d %%", vgpu->id,
	    least_pct, most_pct, vgpu->cap_pct);
	tell_given(gpu, out, decision);
}
