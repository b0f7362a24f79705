/* SPDX-License-Identifier: MIT */
/*
 * The caps and quanta that the daemon last wrote, in a small file of the state directory. A quantum
 * does not show its cap exactly, and the quantum of the physical function does not show its own
 * part; so a daemon that starts again reads them here. An entry counts only while the driver has
 * its quantum. The file needs no fsync: after a reboot the driver has no quanta.
 */
#ifndef GPU_XE_MEMORY_H
#define GPU_XE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/xe/quanta.h"

/* What was known of a function before and after the last write. */
struct xe_remembered {
	int cap_pct[2];
	uint32_t quantum_ms[2];
};

struct xe_memory {
	bool valid;
	uint32_t own_ms, found_ms;
	struct xe_remembered of[XE_VFS_MAX + 1];
};

/* Reads the file. A file that is missing, damaged or of another device gives no memory. */
void xe_memory_load(const char *path, const char *pci, struct xe_memory *ret_memory);
/* Replaces the file. Returns 0 or a negative errno. */
int xe_memory_save(const char *path, const char *pci, const struct xe_memory *memory);

#endif
