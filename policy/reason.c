/* SPDX-License-Identifier: MIT */
/* Composes the explanation of a decision. */
#include <assert.h>
#include <math.h>
#include <stdarg.h>

#include "base/text.h"
#include "policy/reason.h"

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
