/* SPDX-License-Identifier: MIT */
/* A hash for comparing texts. The hash has only 64 bits, too few to protect a secret. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdint.h>

uint64_t hash_text(const char *text);

#endif
