/* SPDX-License-Identifier: MIT */
/*
 * The frames of each vGPU, from the source that the configuration of its GPU names: reports of the
 * programs or counts of the kernel. Only one of them is used, so no frame counts twice.
 */
#ifndef GOVER_D_CORE_FRAMES_H
#define GOVER_D_CORE_FRAMES_H

#include <systemd/sd-event.h>

#include "gover-d/model/host.h"
#include "monitor/bpf/bpf.h"

struct config;
struct fps_hub;

struct frames {
	const struct config *config;
	/* source 1: reports of the programs */
	struct fps_hub *hub; /* NULL: not open yet */
	sd_event_source *source;
	/* source 2: counts of the kernel */
	struct fps_bpf *bpf;	 /* NULL: no GPU uses it, or it is not available */
	char error[ERR_MSG_MAX]; /* why it is not available or incomplete; "": no problem */
	uint64_t scan_ns;	 /* monotonic: when new libraries were last looked for */
	int slow_scans;		 /* consecutive searches that took longer than their interval */
};

/*
 * Opens both sources. A failure of the kernel's counts is logged and the daemon goes on without
 * them. @config and @host must outlive @frames.
 */
int frames_open(struct frames *frames, const struct config *config, struct host *host,
		sd_event *event, struct err *reterr);
void frames_close(struct frames *frames);

/* The frames of the vGPU until now; NULL: none were seen yet. */
const struct fps_totals *frames_of(struct frames *frames, const struct host_gpu *gpu,
				   const struct vgpu *vgpu);
/* The vGPU is removed. A later one of the same name starts from zero. */
void frames_forget(struct frames *frames, const char *id);

/* Once a tick, after the caps are written: looks for new libraries. */
void frames_scan(struct frames *frames, struct instant now);

#endif
