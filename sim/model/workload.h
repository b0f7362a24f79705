/* SPDX-License-Identifier: MIT */
/*
 * The workload of a simulated tenant, from one line of text:
 *
 *   idle                                  no demand
 *   glxgears | glmark2 | plot3d           the three programs of the GVT-g paper
 *   frame:gpu_ms=G,cpu_ms=C               a renderer with these GPU and CPU times per frame
 *   game:gpu_ms=G,cpu_ms=C,vsync_hz=N     a renderer that starts frames at the ticks of a screen;
 *                                         scenes multiply its GPU time by 0.7 to 1.3
 *   busy                                  unlimited demand; no frames
 *   load:pct=P                            constant demand of P percent of the GPU; no frames
 *   square:period_s=T,high_pct=H,low_pct=L[,phase_s=S]   high for half of each period; no frames
 *   burst:on_s=A,off_s=B,pct=P[,jitter=J] P percent in bursts, 0 in pauses; no frames
 *   trace:file=PATH                       recorded demand, see workload_load()
 *
 * Workloads with frames accept scale=X (factor of the GPU time) and seed=S. All workloads with
 * frames except game accept fps_max=N (pacing). The CPU time of each frame varies by 5 %, its GPU
 * time by 10 %. The random numbers depend only on the seed (default: a hash of the vGPU id). If the
 * load of a program changes periodically, the seed also selects the position at which it starts.
 *
 * on_s and off_s are the mean lengths of bursts and pauses. With jitter=1 (default) the lengths are
 * exponentially distributed. With jitter=0 the lengths are constant, and the workload starts with a
 * burst. Values between 0 and 1 mix both.
 */
#ifndef SIM_MODEL_WORKLOAD_H
#define SIM_MODEL_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sim/model/trace.h"

#define WORKLOAD_TEXT_MAX 256

/* WORKLOAD_LOAD: demand without frames, which arrives ten times per second. */
enum workload_kind { WORKLOAD_IDLE, WORKLOAD_FRAMES, WORKLOAD_BUSY, WORKLOAD_LOAD };

struct workload_model;

/* A parsed workload. Plain data that callers may copy. */
struct workload {
	enum workload_kind kind;
	const struct workload_model *model;
	double gpu_ms, cpu_ms; /* GPU and CPU time of a frame, not multiplied by scale */
	double scale;
	double fps_max; /* maximum frame rate; 0: not paced */
	double vsync_hz;
	double pct; /* load, burst */
	double on_s, off_s, jitter;
	double period_s, phase_s, low_pct, high_pct;
	struct playback playback; /* trace */
	bool seeded;
	uint64_t seed;
	char text[WORKLOAD_TEXT_MAX]; /* the workload was parsed from this text */
};

/* A position in the demand of a program. */
struct workload_demand {
	uint64_t to_ns; /* time since the start of the program */
	/* random state, for bursts and for the scenes of a game */
	uint64_t random;
	uint64_t change_ns; /* burst: time of the next switch between on and off */
	bool is_on;
	struct playhead head; /* trace */
};

/* A running program. */
struct workload_run {
	uint64_t random; /* state of the random generator */
	uint64_t cpu_ns; /* CPU time of the next frame, drawn in advance */
	/* the next frame needs the GPU time of the workload or scene, times this factor */
	double gpu_factor;
	uint64_t started_ns; /* time at which the program started */
	uint64_t began_ns;   /* time at which the first cycle of the load started */
	/* minimum time between the starts of two frames, for pacing or a screen; 0: none */
	uint64_t interval_ns;
	uint64_t frame_ns;	       /* time at which the last frame started */
	struct workload_demand demand; /* position up to which the GPU has received the demand */
	struct workload workload;
};

struct workload_frame {
	uint64_t begin_ns; /* time at which the CPU starts the frame; UINT64_MAX: never */
	uint64_t cpu_ns;
	uint64_t gpu_ns; /* GPU time of the frame; 0: no GPU work */
	bool is_drawn;	 /* true: a frame; false: other work */
};

/*
 * Parses any workload except a trace. -EINVAL with a message that contains the key and its allowed
 * values.
 */
int workload_parse(const char *text, struct workload *ret_workload, struct err *reterr);

/*
 * Parses @text. If the workload is a trace, also reads its file, relative to the folder @dir (NULL:
 * the current directory). The caller owns *@ret_trace, which must outlive the workload. For other
 * workloads *@ret_trace is NULL. Returns the errors of workload_parse() and trace_load().
 *
 *   trace:file=PATH[,offset_s=S][,length_s=S][,loop=on][,scale=X][,gap=hold|idle][,gap_s=S]
 *         [,interpolate=on]
 *
 * Playback starts at the time offset_s of the trace (default: its first point) and ends after
 * length_s or at the end of the trace. Then the workload is idle or, with loop, starts again. A gap
 * of more than gap_s (default 5) between two points is an error. With gap=hold the demand before a
 * gap continues through the gap. With gap=idle it continues for gap_s, and is then 0. With
 * interpolate, demand and frame rate change linearly between points, except across gaps. Demand
 * without frames is at most the whole GPU, and is queued without limit. Frames start at the
 * recorded rate and are queued like the frames of a renderer. Frames that could not start in time
 * are skipped.
 */
int workload_load(const char *text, const char *dir, struct workload *ret_workload,
		  struct trace **ret_trace, struct err *reterr);

/* Like workload_load(), but the trace is already loaded. The file name in @text is not used. */
int workload_from_trace(const char *text, const struct trace *trace, struct workload *ret_workload,
			struct err *reterr);

/* Starts @workload on the vGPU @id at the time @now_ns. */
void workload_start(struct workload_run *run, const struct workload *workload, const char *id,
		    uint64_t now_ns);

/* Returns the next frame of a program with frames. @now_ns: the time from which the CPU is idle. */
struct workload_frame workload_next_frame(struct workload_run *run, uint64_t now_ns);

/*
 * Returns the GPU time demanded from the position @demand to @to_ns after the start. Moves @demand
 * to @to_ns. Only for WORKLOAD_LOAD and for traces (with or without frames).
 */
double workload_demand_ns(const struct workload *workload, struct workload_demand *demand,
			  uint64_t to_ns);

#endif
