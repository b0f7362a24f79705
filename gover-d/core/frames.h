/* SPDX-License-Identifier: MIT */
/*
 * Reads the frame counts of each vGPU. The configuration names the source for each GPU: reports of
 * the programs, or counts of the kernel. Only one source is used, so that no frame is counted
 * twice.
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
	struct fps_bpf *bpf;	 /* NULL: not used by any GPU, or not available */
	char error[ERR_MSG_MAX]; /* problem of source 2; "": no problem */
	uint64_t scan_ns;	 /* monotonic time of the last search for new libraries */
	/* consecutive requests for a search while the previous search still ran */
	int slow_scans;
};

/*
 * Opens both sources. If the kernel cannot count frames, the daemon logs this and runs without
 * these counts. @config and @host must outlive @frames.
 */
int frames_open(struct frames *frames, const struct config *config, struct host *host,
		sd_event *event, struct err *reterr);
void frames_close(struct frames *frames);

/* Returns the frame counts of the vGPU so far; NULL: no frames yet. */
const struct fps_totals *frames_of(struct frames *frames, const struct host_gpu *gpu,
				   const struct vgpu *vgpu);
/*
 * Discards the frame counts of a removed vGPU, so that a later vGPU of the same name starts from
 * zero.
 */
void frames_forget(struct frames *frames, const char *id);

/* Looks for new libraries. Call this function in each tick, after the caps are written. */
void frames_scan(struct frames *frames, struct instant now);

#endif
