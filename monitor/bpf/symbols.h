/* SPDX-License-Identifier: MIT */
/*
 * Finds the functions that present frames in a library file. The file may belong to a tenant, may
 * be malformed, and may change while it is read.
 */
#ifndef MONITOR_BPF_SYMBOLS_H
#define MONITOR_BPF_SYMBOLS_H

#include <stdint.h>

#define FPS_BPF_SYMBOLS_MAX 8

/* File offsets of the functions that present, where a uprobe can be attached. */
struct fps_bpf_symbols {
	uint64_t offset[FPS_BPF_SYMBOLS_MAX];
	int n;
};

/*
 * Reads the regular file @fd. Returns 0, -EINVAL if the file is not a valid library, -EFBIG, or
 * another negative errno. ret_symbols->n is 0 if the library has no function that presents, or only
 * one that calls another library. That library is examined separately.
 */
int fps_bpf_symbols_read(int fd, struct fps_bpf_symbols *ret_symbols);

#endif
