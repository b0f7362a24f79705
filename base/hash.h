/* SPDX-License-Identifier: MIT */
/* Tells texts apart. Must never guard a secret: of the SHA-256 it is no more than a quarter. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdint.h>

uint64_t hash_text(const char *text);

#endif
