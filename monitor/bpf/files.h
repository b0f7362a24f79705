/* SPDX-License-Identifier: MIT */
/*
 * The library files with the kernel's program on them, and the thread that looks for more. Private
 * to fps-bpf. What it reads may be on a file system of a tenant's, who can let it wait for ever: so
 * nobody else ever waits for the thread.
 */
#ifndef MONITOR_BPF_FILES_H
#define MONITOR_BPF_FILES_H

#include <bpf/libbpf.h>

#include "monitor/bpf/bpf.h"

struct fps_bpf_files;

/* Puts @present on what the host's loader knows, and starts the thread. -EPERM or as the system
 * says: it could be put on none of it. @present outlives the files. */
int fps_bpf_files_new(struct bpf_program *present, struct fps_bpf_files **ret_files);
/* Takes it off all of them; NULL is fine. False: the thread hangs, and everything is left to the
 * end of this process, @present too. */
bool fps_bpf_files_free(struct fps_bpf_files *files);

/* From now on also look at the programs of this control group; no more. -ENOMEM. */
int fps_bpf_files_add(struct fps_bpf_files *files, const char *id, const char *folder);
void fps_bpf_files_drop(struct fps_bpf_files *files, const char *id);

/* See fps_bpf_request_scan() and fps_bpf_stats(). */
bool fps_bpf_files_request_scan(struct fps_bpf_files *files);
void fps_bpf_files_stats(const struct fps_bpf_files *files, struct fps_bpf_stats *ret_stats);

#endif
