/* SPDX-License-Identifier: MIT */
/*
 * Strict parsing of text into values: the whole string or nothing, no leading or trailing white
 * space, no locale. Each returns 0 and writes *ret_x, or -EINVAL (not of this form) or -ERANGE
 * (outside [min, max]) and leaves it alone.
 */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* Decimal digits, an optional leading '-'; no '+', no hex. */
int parse_int(const char *text, int64_t min, int64_t max, int64_t *ret_value);

/* A finite decimal number such as -3, 0.5, 12e-3; NaN, infinities and hex floats are refused. */
int parse_double(const char *text, double min, double max, double *ret_value);

/* on, off, yes, no, true, false. */
int parse_bool(const char *text, bool *ret_value);

#endif
