/* SPDX-License-Identifier: MIT */
/* What the files of a recording share. For nobody else. */
#ifndef SIM_EXPERIMENT_RECORDING_INTERNAL_H
#define SIM_EXPERIMENT_RECORDING_INTERNAL_H

#include "sim/model/trace.h"
#include "sim/experiment/recording.h"

#define RECORDING_LOADS	 101 /* whole percent */
#define RECORDING_FRAMES 256 /* steps of 5 % from 0.1 frames a second on */

struct recording_tick {
	int64_t at_ms;
	float dt_s; /* 0: nothing is known of it */
};

/* One row as it is kept. NAN: not valid. */
struct recording_cell {
	float load_pct, util_pct, fps;
	unsigned char cap_pct;
	bool broken;
};

/* Seconds in which a vGPU was seen to want so much while its cap was not in the way. */
struct recording_histogram {
	float load_s[RECORDING_LOADS], fps_s[RECORDING_FRAMES];
};

struct recording_vgpu {
	char id[ID_MAX];
	struct recording_terms terms;
	int span; /* the open one; -1: none */
	struct recording_histogram *habit;
};

/* One vGPU under one contract, without a break. */
struct recording_span {
	int vgpu, contract_pct;
	double target_fps;
	size_t first; /* tick of its first cell */
	struct recording_cell *cells;
	size_t n_cells, n_allocated;
	bool draws; /* frames were counted */
	struct trace *trace;
	double begin_s, end_s; /* in known time */
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

/* What @span's tenant could have been given at most. */
int recording_ceiling_pct(const struct recording *recording, const struct recording_span *span);

/* Whether the cap may have been in the way of more. */
bool recording_is_censored(const struct recording *recording, const struct recording_span *span,
			   const struct recording_cell *cell);

/* Learns from all cells what was wanted where it could be seen. -ENOMEM. */
int recording_build_histograms(struct recording *recording);

/* Makes the trace of @span, and adds what was estimated to the facts. */
int recording_make_trace(struct recording *recording, struct recording_span *span,
			 struct err *reterr);

#endif
