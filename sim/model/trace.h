/* SPDX-License-Identifier: MIT */
/*
 * A tenant's demand as it was recorded: points in time, from a CSV file or from memory. What is not
 * exactly of the form is refused with its line; nothing is ever guessed, skipped or taken for zero.
 *
 * The file begins with the line "t_s,demand_pct" or "t_s,fps_uncapped,demand_pct". Each line after
 * it is a point: t_s in seconds, from 0 on and later than the point before; demand_pct in percent
 * of the whole GPU, 0 to 100; fps_uncapped the frames a second that come with that demand when no
 * cap is in the way, 0 to 10000, where 0 with a demand is work that draws nothing. Lines may end in
 * CR LF. A point holds until the next one; the last for the shorter time of the two points before
 * it, and a lone one for a second.
 */
#ifndef SIM_MODEL_TRACE_H
#define SIM_MODEL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define TRACE_POINTS_MAX 20000000 /* half a year of seconds; 16 bytes each */

struct trace; /* never changes once made: many tenants may play one */

struct trace_point {
	double t_s;
	double fps_uncapped; /* 0: no frames */
	double demand_pct;
};

/*
 * Reads the file @path, a regular one. -EINVAL with a sentence that begins with FILE:LINE, -EFBIG
 * for one with too many points, -ENOMEM, or why it cannot be read.
 */
int trace_load(const char *path, struct trace **ret_trace, struct err *reterr);

/* The same of @n points; the sentence names the point, counted from 1. */
int trace_new(const struct trace_point *points, size_t n, struct trace **ret_trace,
	      struct err *reterr);

struct trace *trace_free(struct trace *trace); /* NULL is fine; returns NULL */

size_t trace_count(const struct trace *trace); /* at least 1 */
struct trace_point trace_point_at(const struct trace *trace, size_t index);

/* Whether any point has frames. */
bool trace_has_frames(const struct trace *trace);

/* From its first point to where the last one ends. */
double trace_begin_s(const struct trace *trace);
double trace_end_s(const struct trace *trace);
uint64_t trace_begin_ns(const struct trace *trace);
uint64_t trace_end_ns(const struct trace *trace);

/* At @t_s, as the points hold; 0 before the first and after the end. */
double trace_demand_pct(const struct trace *trace, double t_s);
double trace_fps_uncapped(const struct trace *trace, double t_s);

/* The last point at or before @t_ns, the first where there is none. */
size_t trace_find(const struct trace *trace, uint64_t t_ns);
uint64_t trace_time_ns(const struct trace *trace, size_t index);

/*
 * Whether points between @from_ns and @to_ns follow each other within @gap_ns: 0, or -EINVAL with a
 * sentence that names the line after the gap.
 */
int trace_check_gaps(const struct trace *trace, uint64_t from_ns, uint64_t to_ns, uint64_t gap_ns,
		     struct err *reterr);

#endif
