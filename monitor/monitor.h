/* SPDX-License-Identifier: MIT */
/*
 * Samples a vGPU: combines the reading of the GPU backend with the frames that the tenant's
 * programs report. Each field has its own valid bit.
 */
#ifndef MONITOR_MONITOR_H
#define MONITOR_MONITOR_H

#include "base/sample.h"
#include "gpu/gpu.h"
#include "monitor/fps/fps.h"

/* Maximum FPS that the programs of a vGPU can report. More FPS are invalid. */
#define MONITOR_FPS_MAX 1e6

/* The sample of one vGPU in one period, its reading, and what only monitor/ knows. */
struct monitor_row {
	struct sample sample;
	struct gpu_reading reading; /* all members are 0 if it failed */
	double frame_p50_ms;	    /* median; 0: no reported frames */
	double frame_max_ms;	    /* maximum; 0: no reported frames */
	double frame_gpu_ms;	    /* mean GPU time of a frame; 0: not measured */
	bool fps_seen;		    /* at least one frame was counted */
	double fps_age_s;	    /* time since the last valid FPS, if fps_seen */
	uint64_t frames;	    /* cumulative; counted by the backend or by the programs */
	/* of the programs that report frames; FPS_PRESENT_UNKNOWN if the backend counts them */
	enum fps_present present;
	bool gone;	/* the vGPU no longer exists */
	int read_errno; /* reason for an invalid busy time (positive errno), or 0 */
};

/* Frame times of one period; 0: unknown. */
struct monitor_frame_times {
	double p50_ms, p99_ms, max_ms, gpu_ms;
};

/* State of one vGPU between periods; zero-initialised. */
struct monitor_track {
	bool primed;
	struct gpu_reading last;
	bool fps_primed;
	struct fps_totals fps_last; /* totals at the last successful reading */
	/* last known frame times of programs in a virtual machine */
	struct monitor_frame_times reported;
	bool fps_seen;
	/* GPU clock at the last valid FPS; before the first valid FPS: at the first frame */
	uint64_t fps_valid_at_ns;
};

/*
 * Computes the row of a vGPU from its @reading. @error is the negative errno of the reading; 0: the
 * reading is valid. Frames come from the backend if it counts them, otherwise from @fps (NULL: no
 * program reports). @period_s is the nominal period by the clock of the GPU: FPS are invalid if
 * more than 2.5 periods have passed since the last sample. This clock runs at @speed times the
 * clock of @fps.
 */
void monitor_sample(struct monitor_track *track, int error, const struct gpu_reading *reading,
		    const struct fps_totals *fps, double period_s, double speed,
		    struct monitor_row *ret_row);

#endif
