/* SPDX-License-Identifier: MIT */
/* FNV-1a: tells texts apart that nobody made to be taken for each other. Must never guard a secret.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdint.h>

static inline uint64_t hash_text(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash;
}

#endif
