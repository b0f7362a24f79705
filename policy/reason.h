/* SPDX-License-Identifier: MIT */
/* The words a decision is told in: its numbers by name, its sentence piece by piece. */
#ifndef POLICY_REASON_H
#define POLICY_REASON_H

#include "policy/policy.h"

/* @name is static text with its unit. At most POLICY_NUMBERS_MAX of them. */
void reason_add_number(struct policy_decision *decision, const char *name, double value);

/* Adds to the sentence; one too long ends in "...". */
__attribute__((format(printf, 2, 3))) void reason_add_text(struct policy_decision *decision,
							   const char *format, ...);

/* ": a 50 -> 44 %, b 20 -> 26 %", of many the first few; nothing where nothing moves. */
void reason_add_moves(const struct policy_gpu *gpu, const struct policy_out *out,
		      struct policy_decision *decision);

/* 0.2 is "1/5". */
void reason_add_fraction(struct policy_decision *decision, double fraction);

/* Percent moved: the sum of the raises, or of the cuts where @sign is -1. */
int reason_sum_moved_pct(const struct policy_out *out, const struct policy_decision *decision,
			 int sign);

#endif
