/* SPDX-License-Identifier: MIT */
/* The data of a recording. Internal to recording-*.c. */
#ifndef SIM_EXPERIMENT_RECORDING_DATA_H
#define SIM_EXPERIMENT_RECORDING_DATA_H

#include "sim/model/trace.h"
#include "sim/experiment/recording.h"

#define RECORDING_LOADS 101 /* number of load bins, 1 percent of the GPU each */
/* number of frame rate bins, from 0.1 frames per second; each next bin is 5 % higher */
#define RECORDING_FRAMES 256

struct recording_tick {
	int64_t at_ms;
	float dt_s;	/* 0: no data */
	float load_pct; /* sum of the known loads of all vGPUs */
};

/* The values of one row. NAN: the value was not valid. */
struct recording_cell {
	float load_pct, util_pct, fps;
	unsigned char cap_pct;
	bool broken;
};

/*
 * The seconds that a vGPU spent at each load and at each frame rate. Seconds in which the cap
 * limited the vGPU are not counted.
 */
struct recording_histogram {
	float load_s[RECORDING_LOADS], fps_s[RECORDING_FRAMES];
};

struct recording_vgpu {
	char id[ID_MAX];
	struct recording_terms terms;
	int span; /* index of the current span; -1: no current span */
	struct recording_histogram *histogram;
};

/* A span: a time in which a vGPU exists without interruption and with the same contract. */
struct recording_span {
	int vgpu, contract_pct;
	double target_fps;
	size_t first; /* index of the tick of cells[0] */
	struct recording_cell *cells;
	size_t n_cells, n_allocated;
	bool draws; /* has frames */
	struct trace *trace;
	double begin_s, end_s; /* begin and end in replayed time */
};

struct recording {
	struct recording_tick *ticks;
	size_t n_ticks, ticks_allocated;
	struct recording_vgpu *vgpus;
	int n_vgpus;
	size_t vgpus_allocated, spans_allocated;
	struct recording_span *spans;
	int n_spans;
	struct recording_facts facts;
};

/* Adds all cells that are not censored to the histogram of their vGPU. */
void recording_build_histograms(struct recording *recording);

/*
 * Creates the trace of @span: estimates its demand. Adds the number of seconds with an estimated
 * demand to the facts of @recording.
 */
int recording_make_trace(struct recording *recording, struct recording_span *span,
			 struct err *reterr);

#endif
