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

#endif
