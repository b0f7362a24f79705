/* SPDX-License-Identifier: MIT */
/*
 * Makes the sample: what a vGPU's GPU says and what its user's programs report, joined at one
 * instant, every field with its valid bit. Reads only; must never write to GPU or tenant.
 */
#ifndef MONITOR_MONITOR_H
#define MONITOR_MONITOR_H

#include "gpu/gpu.h"
#include "monitor/fps/fps.h"

/* One vGPU in one period: the row that policy, REST and history all see. */
struct monitor_row {
	double dt_s; /* measured, GPU seconds; 0 in the first period */
	bool busy_valid;
	uint64_t busy_ns; /* cumulative, as read */
	double load;	  /* delta busy / dt, fraction of the GPU */
	double util;	  /* delta busy / delta allotted */
	bool cap_valid;
	int cap_pct; /* as read; 0 = no limit */
	bool fps_valid;
	double fps;
	bool p99_valid;
	double frame_p99_ms;
	double frame_p50_ms, frame_max_ms; /* of reported frames; 0: none */
	double frame_gpu_ms;		   /* mean GPU time of a frame; 0: not measured */
	bool fps_seen;			   /* frames were seen at least once */
	double fps_age_s;		   /* since the last valid FPS, when seen */
	uint64_t frames;		   /* cumulative, all sources */
	bool gone;			   /* the vGPU does not exist any more */
	int read_errno;			   /* 0, or why busy is invalid (positive errno) */
};

/* Of the frames of one period; 0: not known. */
struct monitor_frame_times {
	double p50_ms, p99_ms, max_ms, gpu_ms;
};

/* What the monitor remembers of one vGPU between periods; all zero at first. Lives with its vGPU.
 */
struct monitor_track {
	bool primed;
	struct gpu_reading last;
	bool fps_primed;
	struct fps_totals fps_last;	 /* as it was at last.at_ns */
	struct monitor_frame_times told; /* of programs that tell now and then */
	bool fps_seen;
	uint64_t
		fps_valid_at_ns; /* GPU clock of the last valid FPS, before it of the first frame */
};

/*
 * Samples one vGPU: @reading is taken from @ops/@vgpu at @now_mono_ns; frames come from the backend
 * where it counts them, else from @fps (NULL: no program reports for it). @period_s is the nominal
 * period: FPS silent for more than 2.5 of them are invalid.
 */
void monitor_sample(struct monitor_track *track, const struct gpu_ops *ops, struct gpu_vgpu *vgpu,
		    const struct fps_totals *fps, uint64_t now_mono_ns, double period_s,
		    struct monitor_row *ret_row);

#endif
