/* SPDX-License-Identifier: MIT */
/*
 * Where in a library file the functions are with which programs present. The file may be a
 * tenant's, and change while it is read: must never believe a size or place in it, nor map it.
 */
#ifndef MONITOR_BPF_SYMBOLS_H
#define MONITOR_BPF_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#define FPS_BPF_SYMBOLS_MAX 8

struct fps_bpf_symbols {
	/* In the file, of a function's first instruction that does something. */
	uint64_t place[FPS_BPF_SYMBOLS_MAX];
	int n;
};

/* Is it by its name a library that presents: libGL, libGLX, libEGL or libvulkan? Without folder. */
bool fps_bpf_symbols_is_library(const char *name);

/*
 * Looks into the open file. 0, with @ret_file->n 0 where it presents nothing, or does so through
 * another that is looked into itself; -EINVAL: no library, or a broken one; or as the system says.
 */
int fps_bpf_symbols_read(int fd, struct fps_bpf_symbols *ret_file);

#endif
