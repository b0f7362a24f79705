/* SPDX-License-Identifier: MIT */
/*
 * The playback of a part of a trace, once or in a loop. Demand is integrated exactly over any time.
 * Frames occur at the recorded rate. Each frame has the demand of the time since the previous
 * frame.
 */
#ifndef SIM_MODEL_PLAYBACK_H
#define SIM_MODEL_PLAYBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/model/trace.h"

/* The part of a trace to play, and how to play it. Constant during playback. */
struct playback {
	const struct trace *trace;
	/* begin and length of the played part, in the time of the trace */
	uint64_t from_ns, length_ns;
	/* a longer time between two points is a gap */
	uint64_t gap_ns;
	/* true: after gap_ns in a gap, demand is 0; false: the last demand continues through the
	 * gap */
	bool idle_gaps;
	/* true: values change linearly between points, except across gaps */
	bool interpolate;
	bool loop;
	/* loop: position in the played part at the start of the playback */
	uint64_t phase_ns;
	double scale; /* factor by which the demand is multiplied */
};

/* The position of a playback. All zero at the start of the playback. */
struct playhead {
	uint64_t played_ns;
	size_t point;	/* index of the point found by the last search */
	double part;	/* fraction of the current frame that is complete */
	double part_ns; /* GPU work of this fraction */
};

/* The next frame of a trace, or the end of the trace. */
struct playback_frame {
	/* time from the position of the playhead to the end of the frame; 0: the trace has ended */
	uint64_t span_ns;
	/* GPU work of the frame; 0: no frame is complete at the end of the span */
	uint64_t gpu_ns;
	bool is_drawn; /* true: a frame; false: a piece (1/10 s) of work without frames */
};

/*
 * Returns the GPU time demanded from the position of @head to @to_ns after the start. Moves @head
 * to @to_ns.
 */
double playback_demand_ns(const struct playback *playback, struct playhead *head, uint64_t to_ns);

/*
 * Returns the next frame after the position of @head, and moves @head to the end of that frame.
 * Frames before @at_ns are skipped.
 */
struct playback_frame playback_next_frame(const struct playback *playback, struct playhead *head,
					  uint64_t at_ns);

#endif
