/* SPDX-License-Identifier: MIT */
/*
 * Where in a library file the functions are with which programs present. The file may be a
 * tenant's, and change while it is read: must never believe a size or place in it, nor map it.
 */
#ifndef MONITOR_BPF_ELF_H
#define MONITOR_BPF_ELF_H

#include <stdbool.h>
#include <stdint.h>

#define PRESENT_PLACES_MAX 8

struct present_file {
	/* In the file, of a function's first instruction that does something. */
	uint64_t place[PRESENT_PLACES_MAX];
	int n;
};

/* Is it by its name a library that presents: libGL, libGLX, libEGL or libvulkan? Without folder. */
bool present_file_is_named(const char *name);

/*
 * Looks into the open file. 0, with @ret_file->n 0 where it presents nothing, or does so through
 * another that is looked into itself; -EINVAL: no library, or a broken one; or as the system says.
 */
int present_file_read(int fd, struct present_file *ret_file);

#endif
