/* SPDX-License-Identifier: MIT */
/* Composes texts of limited length. Finds the known word that is nearest to a mistyped word. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdarg.h>
#include <stddef.h>

/*
 * Appends to the text in the buffer @text of @size bytes. A text that becomes too long is cut and
 * ends with "...". @size is at least 4.
 */
void text_append(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void text_append_args(char *text, size_t size, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

/* Two words with this many differences or more are not similar. */
#define NEAREST_FAR 3

/*
 * Compares @candidate with @word. If their distance is less than *best and at most half the length
 * of @word, sets *guess to @candidate and *best to the distance. Before the first call, the caller
 * sets *best to NEAREST_FAR.
 */
void nearest_offer(const char *word, const char *candidate, int *best, const char **guess);

/*
 * Returns the number of letters to change, add, remove or swap to turn @a into @b, at most
 * NEAREST_FAR.
 */
int nearest_distance(const char *a, const char *b);

#endif
