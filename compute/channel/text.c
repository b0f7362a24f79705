/* SPDX-License-Identifier: MIT */
/* Texts of fixed size in messages. */
#include <string.h>

#include "compute/channel/text.h"

static bool is_printable(char c)
{
	return c >= ' ' && c <= '~';
}

void compute_text_set(char *field, size_t size, const char *text)
{
	size_t n = strnlen(text, size - 1);

	memset(field, 0, size);
	for (size_t i = 0; i < n; i++)
		field[i] = is_printable(text[i]) ? text[i] : '?';
}

bool compute_text_is_valid(const char *field, size_t size)
{
	size_t n = strnlen(field, size);

	if (n == size)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!is_printable(field[i]))
			return false;
	for (size_t i = n; i < size; i++)
		if (field[i] != '\0')
			return false;
	return true;
}
