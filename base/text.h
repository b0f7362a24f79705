/* SPDX-License-Identifier: MIT */
/*
 * Composes texts of limited length. Finds characters that a text of a user must not contain. Finds
 * the known word that is nearest to a mistyped word.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Appends to the text in the buffer @text of @size bytes. A text that becomes too long is cut and
 * ends with "...". @size is at least 4.
 */
void text_append(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void text_append_args(char *text, size_t size, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

/*
 * A text on one line must show what it contains. These characters are control characters here: C0,
 * DEL and C1, the separators of lines and paragraphs (U+2028, U+2029), and the controls that change
 * the direction of a text (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069).
 *
 * Returns the first control character of @text; 0: none. Bytes that are not UTF-8 are skipped.
 */
uint32_t text_find_control(const char *text);
/* Replaces each byte of a control character, and each byte that is not UTF-8, by '?'. */
void text_mask_controls(char *text);

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
