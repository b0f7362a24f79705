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

/* Parses decimal digits with an optional leading '-'. Rejects '+' and hexadecimal numbers. */
int parse_int(const char *text, int64_t min, int64_t max, int64_t *ret_value);

/*
 * Parses a finite decimal number such as -3, 0.5 or 12e-3. Returns -EINVAL for NaN, infinities and
 * hexadecimal numbers.
 */
int parse_double(const char *text, double min, double max, double *ret_value);

/* Parses one of the words on, off, yes, no, true, false. */
int parse_bool(const char *text, bool *ret_value);

#endif
