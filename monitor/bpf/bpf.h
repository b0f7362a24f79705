/* SPDX-License-Identifier: MIT */
/*
 * Frames counted by the kernel, for programs into which no library can be loaded: a small program
 * (present.bpf.c) runs wherever a process enters a function that presents, and adds to the row of
 * the vGPU whose control group it is in. Where gover was built without libbpf, fps_bpf_new() says
 * so and nothing else is ever called.
 *
 * Must never wait for anything: what takes long is done by a thread of its own.
 */
#ifndef MONITOR_BPF_BPF_H
#define MONITOR_BPF_BPF_H

#include "base/err.h"
#include "monitor/fps/fps.h"

struct fps_bpf;

/* Loads the program and puts it on the libraries that the host's loader knows. Errors: a sentence
 * that says what is lacking. -EOPNOTSUPP: this build or this kernel cannot; -EPERM. */
int fps_bpf_new(struct fps_bpf **ret_bpf, struct err *reterr);
struct fps_bpf *fps_bpf_free(struct fps_bpf *bpf); /* NULL is fine; returns NULL */

/* From now on the frames of the control group whose folder is @folder (version 1: the cpu
 * controller's), and of those below, are @id's. Nothing to do where it is known. -ENOSPC: too many
 * vGPUs; -ENOENT: there is no such group. */
int fps_bpf_watch(struct fps_bpf *bpf, const char *id, const char *folder);
/* The vGPU is gone; fine for an unknown one. */
void fps_bpf_forget(struct fps_bpf *bpf, const char *id);

/* The vGPU's frames until now, counted since it was watched; NULL: it is not. Reads memory, asks
 * nobody. Valid until the vGPU is forgotten. */
const struct fps_totals *fps_bpf_totals(struct fps_bpf *bpf, const char *id);

/* Once a second: has a thread look for library files that came since, a container's own for one,
 * and put the program on them. Never waits. False: it is still looking since the last time. */
bool fps_bpf_request_scan(struct fps_bpf *bpf);

struct fps_bpf_stats {
	int files;   /* library files with the program on them */
	int refused; /* library files on which it could not be put, or were too many */
};
void fps_bpf_stats(const struct fps_bpf *bpf, struct fps_bpf_stats *ret_stats);

#endif
