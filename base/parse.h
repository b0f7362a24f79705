/* SPDX-License-Identifier: MIT */
/*
 * Strict parsing of a whole string: no white space around the value, no locale. Each function
 * returns 0 and writes *ret_value, or leaves it unchanged and returns -EINVAL (wrong form) or
 * -ERANGE (outside [min, max]).
 */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* Decimal digits, an optional leading '-'; no '+', no hex. */
int parse_int(const char *text, int64_t min, int64_t max, int64_t *ret_value);

/* A finite decimal number such as -3, 0.5, 12e-3. NaN, infinities and hex floats are -EINVAL. */
int parse_double(const char *text, double min, double max, double *ret_value);

/* on, off, yes, no, true, false. */
int parse_bool(const char *text, bool *ret_value);

#endif
