/* SPDX-License-Identifier: MIT */
/* Appends formatted text to a buffer. */
#include <stdio.h>
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
