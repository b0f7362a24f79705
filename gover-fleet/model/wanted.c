/* SPDX-License-Identifier: MIT */
/* Independent of the locale, unlike toupper(). */
#include <errno.h>
#include <string.h>

#include "gover-fleet/model/wanted.h"

static char word_character(char c)
{
	if (c >= 'a' && c <= 'z')
		return (char)(c - 'a' + 'A');
	return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
}

int wanted_word(const char *prefix, const char *name, char *ret_word, size_t size)
{
	size_t at = strlen(prefix), length = strlen(name);

	if (length == 0)
		return -EINVAL;
	if (at + length >= size)
		return -ENAMETOOLONG;
	memcpy(ret_word, prefix, at);
	for (size_t i = 0; i < length; i++)
		ret_word[at + i] = word_character(name[i]);
	ret_word[at + length] = '\0';
	return 0;
}

bool wanted_is_slot(const char *class_name)
{
	return strncmp(class_name, WANTED_CLASS_PREFIX, strlen(WANTED_CLASS_PREFIX)) == 0;
}

bool wanted_is_common(const char *class_name)
{
	return strcmp(class_name, WANTED_CLASS_COMMON) == 0;
}
