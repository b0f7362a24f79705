/* SPDX-License-Identifier: MIT */
/*
 * A trace being played: which part of it, once or again and again, and what holds between its
 * points. Demand is added up exactly over any span of time; where there are frames, they come as
 * often as the trace says they came, each with the demand of its span.
 */
#ifndef SIM_MODEL_PLAYBACK_H
#define SIM_MODEL_PLAYBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/model/trace.h"

/* What is played; never changes while it is. */
struct playback {
	const struct trace *trace;
	uint64_t from_ns, length_ns; /* of the trace's time */
	uint64_t gap_ns;	     /* points further apart than that are a gap */
	bool idle_gaps;		     /* a point holds gap_ns into a gap, not all of it */
	bool interpolate;	     /* straight from point to point, gaps excepted */
	bool loop;
	double scale; /* of the demand */
};

/* How far it is. All zero at its begin. */
struct playhead {
	uint64_t played_ns;
	size_t point;	/* where it was found last */
	double part;	/* of a frame, made so far */
	double part_ns; /* and its GPU work */
};

/* What comes of a span of time of a trace with frames. */
struct playback_frame {
	uint64_t span_ns; /* 0: the trace has ended */
	uint64_t gpu_ns;  /* 0: nothing is ready at the end of the span */
	bool is_drawn;	  /* a frame; no: work of a time without frames, ten times a second */
};

/* GPU time wanted from @head on until @to_ns after the begin; moves @head there. */
double playback_demand_ns(const struct playback *playback, struct playhead *head, uint64_t to_ns);

/* The next frame after @at_ns, of which at least @head; moves @head to its end. What came before
 * @at_ns and was not asked for is not made. */
struct playback_frame playback_next_frame(const struct playback *playback, struct playhead *head,
					  uint64_t at_ns);

#endif
