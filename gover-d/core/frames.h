/* SPDX-License-Identifier: MIT */
/*
 * Where a vGPU's frames come from, as the configuration of its GPU says: from the programs, which
 * report them, or from the kernel, which counts them. One of the two, so that no frame is counted
 * twice. Must never keep the daemon from starting.
 */
#ifndef GOVER_D_CORE_FRAMES_H
#define GOVER_D_CORE_FRAMES_H

#include "gover-d/model/host.h"
#include "monitor/bpf/bpf.h"

struct manager;

/* What the kernel counts. */
struct frames {
	struct fps_bpf *bpf;	 /* NULL: no GPU asks for it, or it cannot be */
	char error[ERR_MSG_MAX]; /* why not, or what lacks; "": nothing */
	uint64_t look_ns;	 /* monotonic: when new libraries were last looked for */
	int slow_looks;		 /* in a row that were not over by the next */
};

/* Where any GPU has fps_source = bpf. Tells the log where that cannot be, and goes on. */
void frames_open(struct manager *manager);
void frames_close(struct manager *manager);

/* The vGPU's frames until now; NULL: none were ever seen. */
const struct fps_totals *frames_of(struct manager *manager, const struct host_gpu *gpu,
				   const struct vgpu *vgpu);
/* The vGPU is gone; whatever comes by its name later is another. */
void frames_forget(struct manager *manager, const char *id);

/* Once a tick, after the caps are written: has new libraries looked for. */
void frames_look(struct manager *manager, struct instant now);

#endif
