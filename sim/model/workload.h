/* SPDX-License-Identifier: MIT */
/*
 * What a simulated tenant does with its GPU, from one line of text:
 *
 *   idle                                  nothing
 *   glxgears | glmark2 | plot3d           the paper's three programs
 *   frame:gpu_ms=G,cpu_ms=C               a renderer of one's own
 *   game:gpu_ms=G,cpu_ms=C,vsync_hz=N     one whose frames begin at the ticks of a screen, and
 *                                         whose scenes drift between 0.7 and 1.3 of their cost
 *   busy                                  wants the GPU always; no frames
 *   load:pct=P                            a constant demand of P percent of the GPU; no frames
 *   square:period_s=T,high_pct=H,low_pct=L[,phase_s=S]   high for half of each period; no frames
 *   burst:on_s=A,off_s=B,pct=P[,jitter=J] P percent for a while, then nothing; no frames
 *   trace:file=PATH                       what was recorded, see workload_load()
 *
 * Those with frames also take scale=X (GPU time times X) and seed=S, and but for the game fps_max=N
 * (pacing). Each frame costs its CPU time +-5 % and then its GPU time +-10 %, drawn from the seed,
 * or from the vGPU's id where none is given: same seed, same frames. Where a program's load changes
 * over time, the seed also says where it begins. Bursts and rests last an exponential time with the
 * given mean, from the seed too; with jitter=0 just that mean, beginning with a burst, and in
 * between a part of each.
 */
#ifndef SIM_MODEL_WORKLOAD_H
#define SIM_MODEL_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "sim/model/playback.h"

#define WORKLOAD_TEXT_MAX 256

/* How it comes to its GPU: by frames, or by a demand that arrives ten times a second. */
enum workload_kind { WORKLOAD_IDLE, WORKLOAD_FRAMES, WORKLOAD_BUSY, WORKLOAD_LOAD };

struct workload_model;

/* A program as described; plain data, may be copied. */
struct workload {
	enum workload_kind kind;
	const struct workload_model *model;
	double gpu_ms, cpu_ms; /* of a frame, before scale */
	double scale;
	double fps_max; /* 0: not paced */
	double vsync_hz;
	double pct; /* load, burst */
	double on_s, off_s, jitter;
	double period_s, phase_s, low_pct, high_pct;
	struct playback playback; /* trace */
	bool seeded;
	uint64_t seed;
	char text[WORKLOAD_TEXT_MAX]; /* as it was given */
};

/* How far a demand without frames has been told. */
struct workload_demand {
	uint64_t to_ns;	    /* since the program began */
	uint64_t random;    /* burst; a game's scenes */
	uint64_t change_ns; /* burst: when it next turns on or off */
	bool is_on;
	struct playhead head; /* trace */
};

/* A running program. */
struct workload_run {
	uint64_t random;	       /* state of the generator */
	uint64_t cpu_ns;	       /* of the next frame, drawn already */
	double gpu_factor;	       /* the same, times what the frame's scene costs */
	uint64_t started_ns;	       /* when */
	uint64_t began_ns;	       /* its time 0: the start less where in its load it began */
	uint64_t interval_ns;	       /* between frames: at least, or of a screen; 0: not paced */
	uint64_t frame_ns;	       /* begin of the last frame */
	struct workload_demand demand; /* what has arrived at the GPU */
	struct workload workload;
};

struct workload_frame {
	uint64_t begin_ns; /* when its CPU work begins; UINT64_MAX: never */
	uint64_t cpu_ns;
	uint64_t gpu_ns; /* 0: nothing came of it */
	bool is_drawn;	 /* no: work that is no frame */
};

/* Reads @text, of any workload but a trace, which is refused. -EINVAL with a sentence that names
 * the key and what is allowed. */
int workload_parse(const char *text, struct workload *ret_workload, struct err *reterr);

/*
 * Reads @text, and if it is a trace its file too, relative to the folder @dir (NULL: to that of the
 * process). *@ret_trace is then the caller's, to be kept as long as the workload is used or runs;
 * else NULL. Errors as of workload_parse() and trace_load().
 *
 *   trace:file=PATH[,offset_s=S][,length_s=S][,loop=on][,scale=X][,gap=hold|idle][,gap_s=S]
 *         [,interpolate=on]
 *
 * It begins at offset_s of the trace's time, without it at the first point, and goes on for
 * length_s or to the trace's end; then it is idle, or begins anew. Demand is times scale. A gap of
 * more than gap_s (5) between two points that are played is refused, unless the point before it is
 * to hold through it, or for gap_s of it. With interpolate demand and frames change evenly from
 * point to point but across gaps. Without frames the demand, of at most all the GPU, waits without
 * bound. With frames they are made as often as the trace says and wait as those of any renderer;
 * what was not made in its time is not made later.
 */
int workload_load(const char *text, const char *dir, struct workload *ret_workload,
		  struct trace **ret_trace, struct err *reterr);

/* The same with a trace that is there already: its file is only a name. */
int workload_from_trace(const char *text, const struct trace *trace, struct workload *ret_workload,
			struct err *reterr);

/* Starts the program of vGPU @id at @now_ns. */
void workload_start(struct workload_run *run, const struct workload *workload, const char *id,
		    uint64_t now_ns);

/* The next frame of a program with frames whose CPU is free at @now_ns. */
struct workload_frame workload_next_frame(struct workload_run *run, uint64_t now_ns);

/*
 * GPU time that @workload wants after what @demand was told last until @to_ns after its begin, and
 * tells @demand. For WORKLOAD_LOAD and for traces, with frames too.
 */
double workload_demand_ns(const struct workload *workload, struct workload_demand *demand,
			  uint64_t to_ns);

#endif
