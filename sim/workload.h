/* SPDX-License-Identifier: MIT */
/*
 * What a simulated tenant does with its GPU, from one line of text:
 *
 *   idle                                  nothing
 *   glxgears | glmark2 | plot3d           the paper's three programs
 *   frame:gpu_ms=G,cpu_ms=C               a renderer of one's own
 *   busy                                  wants the GPU always; no frames
 *   load:pct=P                            a constant demand of P percent of the GPU; no frames
 *
 * Those with frames also take scale=X (GPU time times X), fps_max=N (pacing) and seed=S. Each frame
 * costs its CPU time +-5 % and then its GPU time +-10 %, drawn from the seed, or from the vGPU's id
 * where none is given: same seed, same frames. Where a program's load changes over time, the seed
 * also says where it begins.
 */
#ifndef SIM_WORKLOAD_H
#define SIM_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define WORKLOAD_TEXT_MAX 256

enum workload_kind { WORKLOAD_IDLE, WORKLOAD_FRAMES, WORKLOAD_BUSY, WORKLOAD_LOAD };

struct workload_model;

/* A program as described; plain data, may be copied. */
struct workload {
	enum workload_kind kind;
	const struct workload_model *model;
	double gpu_ms, cpu_ms; /* of a frame, before scale */
	double scale;
	double fps_max; /* 0: not paced */
	double pct;	/* WORKLOAD_LOAD */
	bool seeded;
	uint64_t seed;
	char text[WORKLOAD_TEXT_MAX]; /* as it was given */
};

/* A running program. */
struct workload_run {
	struct workload workload;
	uint64_t random;      /* state of the generator */
	uint64_t began_ns;    /* its time 0: the start less where in its load it began */
	uint64_t interval_ns; /* least time from one frame's begin to the next's; 0: not paced */
	uint64_t frame_ns;    /* begin of the last frame */
};

struct workload_frame {
	uint64_t begin_ns; /* when its CPU work begins */
	uint64_t cpu_ns, gpu_ns;
};

/* Reads @text. -EINVAL with a sentence that names the key and what is allowed. */
int workload_parse(const char *text, struct workload *ret_workload, struct err *reterr);

/* Starts the program of vGPU @id at @now_ns. */
void workload_start(struct workload_run *run, const struct workload *workload, const char *id,
		    uint64_t now_ns);

/* The next frame of a program with frames whose CPU is free at @now_ns. */
struct workload_frame workload_next_frame(struct workload_run *run, uint64_t now_ns);

#endif
