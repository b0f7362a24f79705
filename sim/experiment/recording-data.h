/* SPDX-License-Identifier: MIT */
/* The data of a recording. Internal to recording-*.c. */
#ifndef SIM_EXPERIMENT_RECORDING_DATA_H
#define SIM_EXPERIMENT_RECORDING_DATA_H

#include "sim/model/trace.h"
#include "sim/experiment/recording.h"

#define RECORDING_LOADS	 101 /* bins of the load, 1 percent each */
#define RECORDING_FRAMES 256 /* bins of the frame rate, 5 % wide, from 0.1 frames per second */

struct recording_tick {
	int64_t at_ms;
	float dt_s; /* 0: no data */
};

/* One row. NAN: not valid. */
struct recording_cell {
	float load_pct, util_pct, fps;
	unsigned char cap_pct;
	bool broken;
};

/*
 * Histograms of seconds by load and by frame rate, without seconds in which the cap limited the
 * vGPU.
 */
struct recording_histogram {
	float load_s[RECORDING_LOADS], fps_s[RECORDING_FRAMES];
};

struct recording_vgpu {
	char id[ID_MAX];
	struct recording_terms terms;
	int span; /* index of the current span; -1: no span */
	struct recording_histogram *histogram;
};

/* One vGPU with one contract, without interruption. */
struct recording_span {
	int vgpu, contract_pct;
	double target_fps;
	size_t first; /* tick of the first cell */
	struct recording_cell *cells;
	size_t n_cells, n_allocated;
	bool draws; /* has frames */
	struct trace *trace;
	double begin_s, end_s; /* in replayed time */
};

struct recording {
	struct recording_tick *ticks;
	size_t n_ticks, ticks_allocated;
	struct recording_vgpu *vgpus;
	int n_vgpus, vgpus_allocated;
	struct recording_span *spans;
	int n_spans, spans_allocated;
	struct recording_facts facts;
};

#endif
