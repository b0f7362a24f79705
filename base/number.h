/* SPDX-License-Identifier: MIT */
/* The lesser and the greater of two whole numbers. */
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
