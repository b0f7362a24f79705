/* SPDX-License-Identifier: MIT */
/* Compresses texts into the gzip format (RFC 1952) with zlib. The functions keep no state. */
#ifndef GOVER_D_UTIL_GZIP_H
#define GOVER_D_UTIL_GZIP_H

#include <stddef.h>

/*
 * Compresses @length bytes. The result is in memory from malloc and smaller than @length. -ENOSPC:
 * it would not be smaller. -ENOMEM: out of memory.
 */
int gzip_pack(const char *data, size_t length, char **ret_packed, size_t *ret_length);

#endif
