/* SPDX-License-Identifier: MIT */
/* Composes the explanation of a decision: its named numbers and its sentence. */
#ifndef POLICY_REASON_H
#define POLICY_REASON_H

#include "policy/policy.h"

/* Adds a number. @name is static text that ends with the unit. A decision has at most
 * POLICY_NUMBERS_MAX numbers. */
void reason_add_number(struct policy_decision *decision, const char *name, double value);

/* Appends text to the sentence. A sentence that is too long is cut and ends with "...". */
__attribute__((format(printf, 2, 3))) void reason_add_text(struct policy_decision *decision,
							   const char *format, ...);

/* Appends the first moves and the number of the other moves: ": a 50 -> 44 %, b 20 -> 26 %". */
void reason_add_moves(const struct policy_gpu *gpu, const struct policy_out *out,
		      struct policy_decision *decision);

/* Appends "1/5" for 0.2. */
void reason_add_fraction(struct policy_decision *decision, double fraction);

/* Returns the sum of the raises in percent, or of the cuts if @sign is -1. */
int reason_sum_moved_pct(const struct policy_out *out, const struct policy_decision *decision,
			 int sign);

#endif
