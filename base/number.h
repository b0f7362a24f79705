/* SPDX-License-Identifier: MIT */
/* Minimum and maximum of two integers. */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

static inline int min_int(int a, int b)
{
	return a < b ? a : b;
}

static inline int max_int(int a, int b)
{
	return a > b ? a : b;
}

#endif
