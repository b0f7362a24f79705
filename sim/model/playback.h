/* SPDX-License-Identifier: MIT */
/*
 * The playback of a trace: selects the played part of the trace, plays that part once or in a loop,
 * and computes values between points. Demand is integrated exactly over any span of time. Frames
 * occur at the recorded rate, each with the demand of its span.
 */
#ifndef SIM_MODEL_PLAYBACK_H
#define SIM_MODEL_PLAYBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/model/trace.h"

/* The part to play, and how. Constant during playback. */
struct playback {
	const struct trace *trace;
	uint64_t from_ns, length_ns; /* start and length in the time of the trace */
	uint64_t gap_ns;	     /* a longer distance between two points is a gap */
	bool idle_gaps;		     /* demand is 0 from gap_ns after the start of a gap */
	bool interpolate;	     /* linear between points, except across gaps */
	bool loop;
	double scale; /* factor of the demand */
};

/* The position of a playback. All zero at its start. */
struct playhead {
	uint64_t played_ns;
	size_t point;	/* index of the point that the last search found */
	double part;	/* completed fraction of the next frame */
	double part_ns; /* GPU work of that fraction */
};

/* The next frame of a trace, or the end of the trace. */
struct playback_frame {
	uint64_t span_ns; /* 0: the trace has ended */
	uint64_t gpu_ns;  /* 0: nothing is ready at the end of the span */
	bool is_drawn;	  /* true: a frame; false: a piece of work without frames, 10 per second */
};

/* Returns the demand from @head to @to_ns after the start, in GPU time. Moves @head to @to_ns. */
double playback_demand_ns(const struct playback *playback, struct playhead *head, uint64_t to_ns);

/*
 * Returns the next frame after @at_ns or @head, whichever is later. Moves @head to the end of that
 * frame and skips frames before @at_ns.
 */
struct playback_frame playback_next_frame(const struct playback *playback, struct playhead *head,
					  uint64_t at_ns);

#endif
