/* SPDX-License-Identifier: MIT */
/* Composes texts of limited length. */
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

#endif
