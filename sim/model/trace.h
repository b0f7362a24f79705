/* SPDX-License-Identifier: MIT */
/*
 * The recorded demand of a tenant: points in time, from a CSV file or from memory. A file with any
 * syntax error is rejected with the number of the line. No value is guessed or skipped.
 *
 * The first line is "t_s,demand_pct" or "t_s,fps_uncapped,demand_pct". Every other line is a point:
 *   t_s           seconds, at least 0 and later than the previous point
 *   demand_pct    percent of the whole GPU, 0 to 100
 *   fps_uncapped  frames per second at that demand without a cap, 0 to 10000; 0: no frames
 * Lines may end in CR LF. A point is valid until the next point. The last point is valid for the
 * shorter of the two intervals before it. If a trace has only one point, the point is valid for 1
 * second.
 */
#ifndef SIM_MODEL_TRACE_H
#define SIM_MODEL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* maximum number of points: one per second for half a year; a point has 16 bytes */
#define TRACE_POINTS_MAX 20000000

struct trace; /* immutable, so several tenants may play the same trace */

struct trace_point {
	double t_s;
	double fps_uncapped; /* frame rate without a cap; 0: no frames */
	double demand_pct;
};

/*
 * Reads the regular file @path. -EINVAL with a message "FILE:LINE: ..."; -EFBIG: too many points;
 * or an error of reading the file.
 */
int trace_load(const char *path, struct trace **ret_trace, struct err *reterr);

/*
 * Creates a trace of @n points. An error message contains the number of the point, counted from 1.
 */
int trace_new(const struct trace_point *points, size_t n, struct trace **ret_trace,
	      struct err *reterr);

struct trace *trace_free(struct trace *trace); /* accepts NULL; returns NULL */

size_t trace_count(const struct trace *trace); /* at least 1 */
struct trace_point trace_point_at(const struct trace *trace, size_t index);

/* Returns true if at least one point has frames. */
bool trace_has_frames(const struct trace *trace);

/*
 * Return the time of the first point, and the end of the time for which the last point holds.
 */
double trace_begin_s(const struct trace *trace);
double trace_end_s(const struct trace *trace);
uint64_t trace_begin_ns(const struct trace *trace);
uint64_t trace_end_ns(const struct trace *trace);

/* Returns the index of the last point at or before @t_ns; 0: no point is that early. */
size_t trace_find(const struct trace *trace, uint64_t t_ns);
uint64_t trace_time_ns(const struct trace *trace, size_t index);

/*
 * Checks that no two successive points between @from_ns and @to_ns are more than @gap_ns apart.
 * -EINVAL with a message that contains the line after the gap.
 */
int trace_check_gaps(const struct trace *trace, uint64_t from_ns, uint64_t to_ns, uint64_t gap_ns,
		     struct err *reterr);

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
