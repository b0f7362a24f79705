/* SPDX-License-Identifier: MIT */
/* Composes the explanation of a decision: its named numbers and its sentence. */
#ifndef POLICY_REASON_H
#define POLICY_REASON_H

#include "policy/policy.h"

/* @name is static and ends with the unit. At most POLICY_NUMBERS_MAX numbers. */
void reason_add_number(struct policy_decision *decision, const char *name, double value);

/* Appends to the sentence; a sentence that is too long ends with "...". */
__attribute__((format(printf, 2, 3))) void reason_add_text(struct policy_decision *decision,
							   const char *format, ...);

/* Appends ": a 50 -> 44 %, b 20 -> 26 %": the first moves and the number of the others. */
void reason_add_moves(const struct policy_gpu *gpu, const struct policy_out *out,
		      struct policy_decision *decision);

/* Appends "1/5" for 0.2. */
void reason_add_fraction(struct policy_decision *decision, double fraction);

/* The sum of the raises in percent, or of the cuts if @sign is -1. */
int reason_sum_moved_pct(const struct policy_out *out, const struct policy_decision *decision,
			 int sign);

#endif
