/* SPDX-License-Identifier: MIT */
/*
 * Reads the frame counts of each vGPU. The configuration names the source for each GPU: reports of
 * the programs, or counts of the kernel. Only one source is used, so that no frame is counted
 * twice.
 */
#ifndef GOVER_D_CAP_FRAMES_H
#define GOVER_D_CAP_FRAMES_H

#include <systemd/sd-event.h>

#include "gover-d/model/host.h"
#include "monitor/bpf/bpf.h"

struct config;
struct fps_hub;

struct frames {
	const struct config *config;
	struct fps_hub *hub;	 /* receives reports of the programs; NULL: not open yet */
	sd_event_source *source; /* reads from hub */
	struct fps_bpf *bpf;	 /* counts frames in the kernel; NULL: unused or unavailable */
	char error[ERR_MSG_MAX]; /* why the kernel cannot count frames; "": no problem */
	uint64_t scan_ns;	 /* monotonic time of the last search, see frames_scan() */
	/* number of consecutive searches that were skipped because an earlier search still ran */
	int slow_scans;
};

/*
 * Opens the socket for reports of the programs. Starts counting in the kernel, if the configuration
 * of a GPU selects this. If the kernel cannot count frames, the daemon logs this and runs without
 * these counts. @config and @host must outlive @frames.
 */
int frames_open(struct frames *frames, const struct config *config, struct host *host,
		sd_event *event, struct err *reterr);
void frames_close(struct frames *frames);

/* Returns the frame counts of the vGPU so far; NULL: no frames yet, or its GPU counts units of
 * work. */
const struct fps_totals *frames_of(struct frames *frames, const struct host_gpu *gpu,
				   const struct vgpu *vgpu);
/*
 * Discards the frame counts of a removed vGPU, so that a later vGPU of the same name starts from
 * zero.
 */
void frames_forget(struct frames *frames, const char *id);

/*
 * Searches for new graphics libraries, whose frames must be counted too. If the kernel counts
 * frames (frames->bpf), call this function in each tick, after the caps are written.
 */
void frames_scan(struct frames *frames, struct instant now);

#endif
