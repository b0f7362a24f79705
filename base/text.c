/* SPDX-License-Identifier: MIT */
/* Appends formatted text to a buffer. Computes the optimal string alignment distance of words. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void text_append_args(char *text, size_t size, const char *format, va_list args)
{
	size_t used = strlen(text);
	int n = vsnprintf(text + used, size - used, format, args);

	if (n < 0)
		text[used] = '\0';
	else if ((size_t)n >= size - used)
		memcpy(text + size - 4, "...", 4);
}

void text_append(char *text, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text_append_args(text, size, format, args);
	va_end(args);
}

#define WORD_MAX 48

static int min3(int a, int b, int c)
{
	int ab = a < b ? a : b;

	return ab < c ? ab : c;
}

int nearest_distance(const char *a, const char *b)
{
	int d[WORD_MAX + 1][WORD_MAX + 1];
	int n = (int)strnlen(a, WORD_MAX + 1), m = (int)strnlen(b, WORD_MAX + 1);

	/* The distance is at least the difference of the lengths. */
	if (n > WORD_MAX || m > WORD_MAX || abs(n - m) >= NEAREST_FAR)
		return NEAREST_FAR;
	for (int i = 0; i <= n; i++) {
		for (int j = 0; j <= m; j++) {
			if (i == 0 || j == 0) {
				d[i][j] = i + j;
				continue;
			}
			d[i][j] = min3(d[i - 1][j] + 1, d[i][j - 1] + 1,
				       d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < d[i][j])
				d[i][j] = d[i - 2][j - 2] + 1;
		}
	}
	return d[n][m] < NEAREST_FAR ? d[n][m] : NEAREST_FAR;
}

void nearest_offer(const char *word, const char *candidate, int *best, const char **guess)
{
	int distance = nearest_distance(word, candidate);

	if (distance < *best && (size_t)distance * 2 <= strlen(word)) {
		*best = distance;
		*guess = candidate;
	}
}
