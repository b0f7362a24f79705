/* SPDX-License-Identifier: MIT */
/* Identifiers of vGPUs and GPUs. They are safe in paths, URLs, metric labels and log lines. */
#ifndef BASE_ID_H
#define BASE_ID_H

#include <stdbool.h>
#include <stdint.h>

#define ID_MAX 64 /* size of an id with its NUL */

/* Returns true if @id has 1 to 63 characters of [A-Za-z0-9._-] and does not begin with '.' or
 * '-'. */
bool id_valid(const char *id);

/* Compares two ids. Numbers in ids are compared by value, so that "vgpu2" is before "vgpu10".
 * Returns <0, 0 or >0 as strcmp() does. */
int id_compare(const char *a, const char *b);

/* Returns a number that depends only on @id and is never 0 (FNV-1a, 64 bits). */
uint64_t id_hash(const char *id);

/* Copies @id to @dest. Returns -EINVAL if the id is not valid. */
int id_copy(char dest[ID_MAX], const char *id);

#endif
