/* SPDX-License-Identifier: MIT */
/* Validation, order and copies of identifiers. */
#include <errno.h>
#include <string.h>

#include "base/id.h"

static bool id_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '_' || c == '-';
}

bool id_valid(const char *id)
{
	size_t n;

	if (!id || id[0] == '\0' || id[0] == '.' || id[0] == '-')
		return false;
	for (n = 0; id[n]; n++)
		if (n == ID_MAX - 1 || !id_char(id[n]))
			return false;
	return true;
}

int id_compare(const char *a, const char *b)
{
	return strverscmp(a, b);
}

uint64_t id_hash(const char *id)
{
	uint64_t hash = 14695981039346656037u;

	for (; *id; id++)
		hash = (hash ^ (unsigned char)*id) * 1099511628211u;
	return hash | 1;
}

int id_copy(char dest[ID_MAX], const char *id)
{
	if (!id_valid(id))
		return -EINVAL;
	memcpy(dest, id, strlen(id) + 1);
	return 0;
}
