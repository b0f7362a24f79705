/* SPDX-License-Identifier: MIT */
/*
 * Appends formatted text to a buffer. Decodes UTF-8 to find control characters. Computes the
 * optimal string alignment distance of words.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
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

/* --- control characters --- */

static bool is_control(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {{0, 0x1f},	{0x7f, 0x9f},	  {0x61c, 0x61c},
		      {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

/* Decodes the first character of @text. Returns its length in bytes; 0: it is not UTF-8. */
static size_t decode(const char *text, uint32_t *ret_code)
{
	static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char first = (unsigned char)text[0];
	size_t length = first < 0x80   ? 1
			: first < 0xc0 ? 0
			: first < 0xe0 ? 2
			: first < 0xf0 ? 3
				       : 4;
	uint32_t code = length < 2 ? first : first & (0x7fu >> length);

	for (size_t i = 1; i < length; i++) {
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | ((unsigned char)text[i] & 0x3f);
	}
	if (length == 0 || first >= 0xf8 || code < lowest[length] || code > 0x10ffff ||
	    (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret_code = code;
	return length;
}

uint32_t text_find_control(const char *text)
{
	uint32_t code = 0;

	while (*text) {
		size_t length = decode(text, &code);

		if (length > 0 && is_control(code))
			return code;
		text += length > 0 ? length : 1;
	}
	return 0;
}

void text_mask_controls(char *text)
{
	uint32_t code = 0;

	while (*text) {
		size_t length = decode(text, &code);

		if (length == 0 || is_control(code)) {
			length = length > 0 ? length : 1;
			memset(text, '?', length);
		}
		text += length;
	}
}

/* --- similar words --- */

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
