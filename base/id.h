/* SPDX-License-Identifier: MIT */
/* Identifiers of vGPUs and GPUs: what may stand in a path, a URL, a metric label and a log line. */
#ifndef BASE_ID_H
#define BASE_ID_H

#include <stdbool.h>

#define ID_MAX 64 /* with the closing NUL */

/* True for 1 to 63 characters of [A-Za-z0-9._-] that do not begin with '.' or '-'. */
bool id_valid(const char *id);

/* Total order of ids, as people count: "vgpu2" before "vgpu10". <0, 0, >0 as strcmp. */
int id_compare(const char *a, const char *b);

/* Copies a valid id, whatever its buffer. Returns 0, or -EINVAL for one that is not valid. */
int id_copy(char dest[ID_MAX], const char *id);

#endif
