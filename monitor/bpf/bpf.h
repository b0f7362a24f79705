/* SPDX-License-Identifier: MIT */
/*
 * Counts frames in the kernel, for programs that cannot load libgover-fps.so. A BPF program
 * (present.bpf.c) runs when a process calls a function that presents a frame. It adds the frame to
 * the counters of the vGPU whose control group contains the process. Without libbpf fps_bpf_new()
 * always fails.
 *
 * No function blocks: slow work is done by a separate thread.
 */
#ifndef MONITOR_BPF_BPF_H
#define MONITOR_BPF_BPF_H

#include <stdint.h>

#include "base/err.h"
#include "monitor/fps/fps.h"

struct fps_bpf;

/*
 * Loads the BPF program and attaches it to the libraries in the loader cache of the host. Returns
 * -EPERM, or -EOPNOTSUPP if the build or the kernel does not support BPF. @reterr names the missing
 * requirement.
 */
int fps_bpf_new(struct fps_bpf **ret_bpf, struct err *reterr);
struct fps_bpf *fps_bpf_free(struct fps_bpf *bpf); /* NULL is fine; returns NULL */

/*
 * Counts for vGPU @id the frames of all programs in the control group @folder and in its subgroups.
 * With control groups of version 1, @folder belongs to the cpu controller. Does nothing if the vGPU
 * is already watched. Returns -ENOSPC if there are too many vGPUs, and -ENOENT if the group does
 * not exist.
 */
int fps_bpf_watch(struct fps_bpf *bpf, const char *id, const char *folder);
/* Stops counting for vGPU @id. Ignores an unknown vGPU. */
void fps_bpf_forget(struct fps_bpf *bpf, const char *id);

/*
 * Returns the frames of a vGPU since it was watched, or NULL if the vGPU is not watched. Needs no
 * system call. Valid until the vGPU is forgotten.
 */
const struct fps_totals *fps_bpf_totals(struct fps_bpf *bpf, const char *id);

/*
 * Call once per second: lets the thread find new library files, for example in a container, and
 * attach the BPF program. Returns false if the previous scan is still running.
 */
bool fps_bpf_request_scan(struct fps_bpf *bpf);

struct fps_bpf_stats {
	int files;   /* library files with the BPF program attached */
	int refused; /* library files that failed to attach or exceeded a limit */
};
void fps_bpf_stats(const struct fps_bpf *bpf, struct fps_bpf_stats *ret_stats);

#endif
