/* SPDX-License-Identifier: MIT */
/*
 * The workload of a simulated tenant, from one line of text:
 *
 *   idle                                  no demand
 *   glxgears | glmark2 | plot3d           the three programs of the GVT-g paper
 *   frame:gpu_ms=G,cpu_ms=C               a renderer with these times per frame
 *   game:gpu_ms=G,cpu_ms=C,vsync_hz=N     a renderer that starts frames at the ticks of a screen;
 *                                         the cost of its scenes drifts between 0.7 and 1.3
 *   busy                                  demands the whole GPU; no frames
 *   load:pct=P                            constant demand of P percent of the GPU; no frames
 *   square:period_s=T,high_pct=H,low_pct=L[,phase_s=S]   high for half of each period; no frames
 *   burst:on_s=A,off_s=B,pct=P[,jitter=J] P percent in bursts, otherwise 0; no frames
 *   trace:file=PATH                       recorded demand, see workload_load()
 *
 * Workloads with frames accept scale=X (factor of the GPU time) and seed=S. All of them except game
 * accept fps_max=N (pacing). Each frame takes its CPU time +-5 % and then its GPU time +-10 %. The
 * random numbers depend only on the seed (default: a hash of the vGPU id). If the load of a program
 * changes over time, the seed also selects its start position. The lengths of bursts and pauses are
 * exponentially distributed around the given mean. With jitter=0 they are exactly the mean, and the
 * workload starts with a burst. Values between 0 and 1 mix both.
 */
#ifndef SIM_MODEL_WORKLOAD_H
#define SIM_MODEL_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sim/model/playback.h"

#define WORKLOAD_TEXT_MAX 256

/* LOAD: demand without frames, which arrives ten times per second. */
enum workload_kind { WORKLOAD_IDLE, WORKLOAD_FRAMES, WORKLOAD_BUSY, WORKLOAD_LOAD };

struct workload_model;

/* A parsed workload. Plain data that callers may copy. */
struct workload {
	enum workload_kind kind;
	const struct workload_model *model;
	double gpu_ms, cpu_ms; /* CPU and GPU time of a frame, before scale */
	double scale;
	double fps_max; /* maximum frame rate; 0: not paced */
	double vsync_hz;
	double pct; /* load, burst */
	double on_s, off_s, jitter;
	double period_s, phase_s, low_pct, high_pct;
	struct playback playback; /* trace */
	bool seeded;
	uint64_t seed;
	char text[WORKLOAD_TEXT_MAX]; /* text from which the workload was parsed */
};

/* The position up to which demand without frames was computed. */
struct workload_demand {
	uint64_t to_ns;	    /* since the start of the program */
	uint64_t random;    /* generator state: burst, scenes of a game */
	uint64_t change_ns; /* burst: next switch between on and off */
	bool is_on;
	struct playhead head; /* trace */
};

/* A running program. */
struct workload_run {
	uint64_t random;      /* generator state */
	uint64_t cpu_ns;      /* CPU time of the next frame, drawn in advance */
	double gpu_factor;    /* GPU time of the next frame, without the cost of its scene */
	uint64_t started_ns;  /* time of the start */
	uint64_t began_ns;    /* started_ns minus the start position in the load */
	uint64_t interval_ns; /* interval of pacing or of a screen; 0: not paced */
	uint64_t frame_ns;    /* start of the last frame */
	struct workload_demand demand; /* demand that has arrived at the GPU */
	struct workload workload;
};

struct workload_frame {
	uint64_t begin_ns; /* start of the CPU work; UINT64_MAX: never */
	uint64_t cpu_ns;
	uint64_t gpu_ns; /* 0: no GPU work */
	bool is_drawn;	 /* false: work that is not a frame */
};

/* Parses any workload except a trace. -EINVAL with a message that names the key and its allowed
 * values. */
int workload_parse(const char *text, struct workload *ret_workload, struct err *reterr);

/*
 * Parses @text. For a trace it also reads the file, relative to the folder @dir (NULL: the current
 * directory), and the caller owns *@ret_trace, which must outlive the workload. For other workloads
 * *@ret_trace is NULL. Returns the errors of workload_parse() and trace_load().
 *
 *   trace:file=PATH[,offset_s=S][,length_s=S][,loop=on][,scale=X][,gap=hold|idle][,gap_s=S]
 *         [,interpolate=on]
 *
 * Playback starts at the time offset_s of the trace (default: its first point) and ends after
 * length_s or at the end of the trace. Then the workload is idle, or starts again with loop. A gap
 * of more than gap_s (5) between two points is an error. With gap=hold the point before a gap is
 * valid through the gap, with gap=idle only for gap_s. With interpolate, demand and frame rate
 * change linearly between points, except across gaps. Demand without frames is at most the whole
 * GPU and queues without limit. Frames start at the recorded rate and queue like the frames of a
 * renderer. Frames that could not start in time are skipped.
 */
int workload_load(const char *text, const char *dir, struct workload *ret_workload,
		  struct trace **ret_trace, struct err *reterr);

/* Like workload_load(), with a trace that is already loaded: the file name is not used. */
int workload_from_trace(const char *text, const struct trace *trace, struct workload *ret_workload,
			struct err *reterr);

/* Starts @workload on the vGPU @id at @now_ns. */
void workload_start(struct workload_run *run, const struct workload *workload, const char *id,
		    uint64_t now_ns);

/*
 * Returns the next frame of a program with frames. The CPU of the program is idle from @now_ns on.
 */
struct workload_frame workload_next_frame(struct workload_run *run, uint64_t now_ns);

/*
 * Returns the GPU time demanded between the position @demand and @to_ns after the start. Advances
 * @demand. Only for WORKLOAD_LOAD and for traces (with or without frames).
 */
double workload_demand_ns(const struct workload *workload, struct workload_demand *demand,
			  uint64_t to_ns);

#endif
