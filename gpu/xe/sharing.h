/* SPDX-License-Identifier: MIT */
/*
 * What happens with the slice of a function that has no work: with priority normal the function
 * keeps it, so that caps are limits; with priority low the next function has its turn, so that caps
 * are guarantees. The driver has one setting for all functions (the physical function alone may
 * also have priority high).
 */
#ifndef GPU_XE_SHARING_H
#define GPU_XE_SHARING_H

#include "gpu/xe/layout.h"

#define XE_SHARING_MAX 16

/*
 * Reads the setting of functions 0 to @n_vfs as "hard", "guarantee", "high" (the physical function
 * has priority over all others) or "mixed". Returns a negative errno; -EOPNOTSUPP: the driver has
 * no such setting.
 */
int xe_sharing_read(const struct xe_place *place, int n_vfs, char ret_word[XE_SHARING_MAX]);
/* Sets it for all functions. */
int xe_sharing_write(const struct xe_place *place, bool guarantee);
#endif
