/* SPDX-License-Identifier: MIT */
/*
 * Recorded demand. Must never take a line it does not wholly understand, nor hold more than one
 * block of the file beside the points.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/parse.h"
#include "sim/model/trace.h"

#define T_MAX_S	   4e9 /* 126 years: with as long a last point, what 64 bits of ns hold */
#define FPS_MAX	   10000
#define LINE_MAX_B 255 /* three numbers need a quarter of that */
#define BLOCK_B	   65536
#define POINTS_MIN 1024 /* room to begin with; it doubles */

struct point {
	uint64_t t_ns;
	float fps, demand_pct; /* to seven digits, so that a point is 16 bytes */
};

struct trace {
	char *name; /* of the file; NULL: has none */
	struct point *points;
	size_t n, room;
	uint64_t end_ns;
	bool has_frames;
};

/* The sentence's begin: where point @i of @trace stands. Each line but the first is a point. */
static int fail_at(const struct trace *trace, size_t i, struct err *reterr, const char *what)
{
	if (!trace->name)
		return err_fail(reterr, EINVAL, "point %zu: %s", i + 1, what);
	return err_fail(reterr, EINVAL, "%.300s:%zu: %s", trace->name, i + 2, what);
}

/* --- points --- */

static int make_room(struct trace *trace)
{
	size_t room = trace->room == 0 ? POINTS_MIN : 2 * trace->room;
	struct point *points;

	if (trace->n < trace->room)
		return 0;
	if (room > TRACE_POINTS_MAX)
		room = TRACE_POINTS_MAX;
	points = reallocarray(trace->points, room, sizeof(*points));
	if (!points)
		return -ENOMEM;
	trace->points = points;
	trace->room = room;
	return 0;
}

/* Written so that NaN is outside. */
static bool is_within(double value, double max)
{
	return value >= 0 && value <= max;
}

static int check_point(const struct trace *trace, const struct trace_point *point, uint64_t t_ns,
		       struct err *reterr)
{
	const struct point *last = trace->n > 0 ? &trace->points[trace->n - 1] : NULL;
	char what[128];

	if (!is_within(point->t_s, T_MAX_S))
		snprintf(what, sizeof(what), "t_s %g: allowed is a number from 0 to %g", point->t_s,
			 T_MAX_S);
	else if (!is_within(point->fps_uncapped, FPS_MAX))
		snprintf(what, sizeof(what), "fps_uncapped %g: allowed is a number from 0 to %d",
			 point->fps_uncapped, FPS_MAX);
	else if (!is_within(point->demand_pct, 100))
		snprintf(what, sizeof(what), "demand_pct %g: allowed is a number from 0 to 100",
			 point->demand_pct);
	else if (last && t_ns <= last->t_ns)
		snprintf(what, sizeof(what), "t_s %.15g does not come after the %.15g before it",
			 point->t_s, (double)last->t_ns / (double)NS_PER_S);
	else
		return 0;
	return fail_at(trace, trace->n, reterr, what);
}

static int append(struct trace *trace, const struct trace_point *point, struct err *reterr)
{
	uint64_t t_ns = 0;
	int r;

	if (is_within(point->t_s, T_MAX_S))
		t_ns = (uint64_t)llround(point->t_s * (double)NS_PER_S);
	r = check_point(trace, point, t_ns, reterr);
	if (r < 0)
		return r;
	if (trace->n == TRACE_POINTS_MAX)
		return err_fail(reterr, EFBIG, "%.300s%smore than %d points",
				trace->name ? trace->name : "", trace->name ? ": " : "",
				TRACE_POINTS_MAX);
	r = make_room(trace);
	if (r < 0)
		return err_fail(reterr, -r, "no memory for %zu points of a trace", trace->n + 1);
	trace->points[trace->n++] = (struct point){
		.t_ns = t_ns,
		.fps = (float)point->fps_uncapped,
		.demand_pct = (float)point->demand_pct,
	};
	trace->has_frames |= point->fps_uncapped > 0;
	return 0;
}

/* Where the last point ends, and no more room than is needed. */
static void finish(struct trace *trace)
{
	const struct point *last = &trace->points[trace->n - 1];
	uint64_t held_ns = NS_PER_S;
	struct point *points;

	if (trace->n > 1)
		held_ns = last->t_ns - last[-1].t_ns;
	if (trace->n > 2 && last[-1].t_ns - last[-2].t_ns < held_ns)
		held_ns = last[-1].t_ns - last[-2].t_ns;
	trace->end_ns = last->t_ns + held_ns;
	points = reallocarray(trace->points, trace->n, sizeof(*points));
	if (points) {
		trace->points = points;
		trace->room = trace->n;
	}
}

struct trace *trace_free(struct trace *trace)
{
	if (!trace)
		return NULL;
	free(trace->name);
	free(trace->points);
	free(trace);
	return NULL;
}

int trace_new(const struct trace_point *points, size_t n, struct trace **ret_trace,
	      struct err *reterr)
{
	struct trace *trace;

	if (n == 0)
		return err_fail(reterr, EINVAL, "a trace without points");
	trace = calloc(1, sizeof(*trace));
	if (!trace)
		return err_fail(reterr, ENOMEM, "no memory for a trace");
	for (size_t i = 0; i < n; i++) {
		int r = append(trace, &points[i], reterr);

		if (r < 0) {
			trace_free(trace);
			return r;
		}
	}
	finish(trace);
	*ret_trace = trace;
	return 0;
}

/* --- the file --- */

/* Lines of a file, block by block. */
struct lines {
	FILE *file;
	char block[BLOCK_B];
	size_t at, end; /* what of the block is not read yet */
	char line[LINE_MAX_B + 1];
};

/* The next line, without its end, in lines->line: its length, -ENODATA after the last one, -EFBIG
 * for a longer one, -EINVAL for one with a zero byte. */
static int read_line(struct lines *lines)
{
	size_t length = 0;
	bool begun = false;

	for (;;) {
		const char *from = lines->block + lines->at, *newline;
		size_t n = lines->end - lines->at;

		if (n == 0) {
			lines->at = 0;
			lines->end = fread(lines->block, 1, sizeof(lines->block), lines->file);
			if (lines->end > 0)
				continue;
			if (ferror(lines->file))
				return -EIO;
			if (!begun)
				return -ENODATA;
			break;
		}
		begun = true;
		newline = memchr(from, '\n', n);
		if (newline)
			n = (size_t)(newline - from);
		if (length + n > LINE_MAX_B)
			return -EFBIG;
		memcpy(lines->line + length, from, n);
		length += n;
		lines->at += n + (newline != NULL);
		if (newline)
			break;
	}
	if (length > 0 && lines->line[length - 1] == '\r')
		length--;
	lines->line[length] = '\0';
	return memchr(lines->line, '\0', length) ? -EINVAL : (int)length;
}

/* What stands in the file goes into a sentence only cut short, and without what a terminal obeys.
 */
static const char *shown(const char *text, char copy[33])
{
	snprintf(copy, 33, "%.32s", text);
	for (char *c = copy; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			*c = '?';
	return copy;
}

/* Numbers of up to 15 digits are the quotient of two that are exact: no slower way is needed, nor
 * another result. Anything else is not refused here, only left to parse_double(). */
static bool read_plain(const char *text, double *ret_value)
{
	static const double powers[] = {1e0, 1e1, 1e2,	1e3,  1e4,  1e5,  1e6,	1e7,
					1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
	unsigned int n = 0, n_fraction = 0;
	uint64_t digits = 0;
	bool point = false;

	for (; *text; text++) {
		if (*text == '.' && n > 0 && !point) {
			point = true;
			continue;
		}
		if (*text < '0' || *text > '9' || ++n > 15)
			return false;
		digits = 10 * digits + (uint64_t)(*text - '0');
		n_fraction += point;
	}
	*ret_value = (double)digits / powers[n_fraction];
	return n > 0 && (!point || n_fraction > 0);
}

static int read_number(const struct trace *trace, const char *name, const char *text, double max,
		       double *ret_value, struct err *reterr)
{
	char what[128], copy[33];

	if (read_plain(text, ret_value) && *ret_value <= max)
		return 0;
	if (parse_double(text, 0, max, ret_value) == 0)
		return 0;
	snprintf(what, sizeof(what), "%s '%s': allowed is a number from 0 to %.15g", name,
		 shown(text, copy), max);
	return fail_at(trace, trace->n, reterr, what);
}

static const struct column {
	const char *name;
	double max;
	size_t offset; /* in struct trace_point */
} columns[] = {
	{"t_s", T_MAX_S, offsetof(struct trace_point, t_s)},
	{"fps_uncapped", FPS_MAX, offsetof(struct trace_point, fps_uncapped)},
	{"demand_pct", 100, offsetof(struct trace_point, demand_pct)},
};

static const struct header {
	const char *text;
	size_t n;
	int columns[ARRAY_SIZE(columns)];
} headers[] = {
	{"t_s,demand_pct", 2, {0, 2}},
	{"t_s,fps_uncapped,demand_pct", 3, {0, 1, 2}},
};

static int read_header(const struct trace *trace, const char *line,
		       const struct header **ret_header, struct err *reterr)
{
	char copy[33];

	for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
		if (strcmp(headers[i].text, line) == 0) {
			*ret_header = &headers[i];
			return 0;
		}
	return err_fail(reterr, EINVAL, "%.300s:1: the header is '%s'; allowed: '%s' or '%s'",
			trace->name, shown(line, copy), headers[0].text, headers[1].text);
}

static int read_point(struct trace *trace, const struct header *header, char *line,
		      struct err *reterr)
{
	struct trace_point point = {0};
	char *rest = line, what[64];
	size_t found = 1;

	for (const char *c = line; *c; c++)
		found += *c == ',';
	if (*line == '\0')
		return fail_at(trace, trace->n, reterr, "the line is empty");
	if (found != header->n) {
		snprintf(what, sizeof(what), "%zu columns where the header has %zu", found,
			 header->n);
		return fail_at(trace, trace->n, reterr, what);
	}
	for (size_t i = 0; i < header->n; i++) {
		const struct column *column = &columns[header->columns[i]];
		char *text = rest;
		int r;

		rest = strchr(text, ',');
		if (rest)
			*rest++ = '\0';
		r = read_number(trace, column->name, text, column->max,
				(double *)(void *)((char *)&point + column->offset), reterr);
		if (r < 0)
			return r;
	}
	return append(trace, &point, reterr);
}

static int fail_line(const struct trace *trace, size_t line, int r, struct err *reterr)
{
	char what[64] = "cannot be read";

	if (r == -EFBIG)
		snprintf(what, sizeof(what), "the line is longer than %d characters", LINE_MAX_B);
	else if (r == -EINVAL)
		strcpy(what, "the line holds a zero byte");
	else if (r == -ENODATA && line == 1)
		strcpy(what, "the file is empty");
	else if (r == -ENODATA)
		strcpy(what, "no point follows the header");
	return err_fail(reterr, r == -EIO ? EIO : EINVAL, "%.300s:%zu: %s", trace->name, line,
			what);
}

static int read_file(struct trace *trace, struct lines *lines, struct err *reterr)
{
	const struct header *header = NULL;
	int r = read_line(lines);

	if (r < 0)
		return fail_line(trace, 1, r, reterr);
	r = read_header(trace, lines->line, &header, reterr);
	if (r < 0)
		return r;
	while ((r = read_line(lines)) >= 0) {
		r = read_point(trace, header, lines->line, reterr);
		if (r < 0)
			return r;
	}
	if (r != -ENODATA || trace->n == 0)
		return fail_line(trace, trace->n + 2, r, reterr);
	finish(trace);
	return 0;
}

int trace_load(const char *path, struct trace **ret_trace, struct err *reterr)
{
	CLEANUP_FREE struct lines *lines = calloc(1, sizeof(*lines));
	struct trace *trace = calloc(1, sizeof(*trace));
	int r = -ENOMEM;

	if (lines && trace)
		trace->name = strdup(path);
	if (trace && trace->name)
		r = file_open_stream(path, &lines->file);
	if (r < 0) {
		trace_free(trace);
		return err_fail(reterr, -r, "%.300s: cannot be read: %s", path,
				r == -EINVAL ? "it is no regular file" : strerror(-r));
	}
	r = read_file(trace, lines, reterr);
	(void)fclose(lines->file);
	if (r < 0) {
		trace_free(trace);
		return r;
	}
	*ret_trace = trace;
	return 0;
}

/* --- what is asked of it --- */

size_t trace_count(const struct trace *trace)
{
	return trace->n;
}

struct trace_point trace_point_at(const struct trace *trace, size_t index)
{
	const struct point *point = &trace->points[index];

	return (struct trace_point){
		.t_s = (double)point->t_ns / (double)NS_PER_S,
		.fps_uncapped = (double)point->fps,
		.demand_pct = (double)point->demand_pct,
	};
}

bool trace_has_frames(const struct trace *trace)
{
	return trace->has_frames;
}

uint64_t trace_begin_ns(const struct trace *trace)
{
	return trace->points[0].t_ns;
}

uint64_t trace_end_ns(const struct trace *trace)
{
	return trace->end_ns;
}

double trace_begin_s(const struct trace *trace)
{
	return (double)trace_begin_ns(trace) / (double)NS_PER_S;
}

double trace_end_s(const struct trace *trace)
{
	return (double)trace_end_ns(trace) / (double)NS_PER_S;
}

uint64_t trace_time_ns(const struct trace *trace, size_t index)
{
	return trace->points[index].t_ns;
}

size_t trace_find(const struct trace *trace, uint64_t t_ns)
{
	size_t low = 0, high = trace->n; /* the point is in [low, high) */

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (trace->points[middle].t_ns <= t_ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* NULL: no point holds then. */
static const struct point *point_at(const struct trace *trace, double t_s)
{
	uint64_t t_ns;

	if (!is_within(t_s, T_MAX_S))
		return NULL;
	t_ns = (uint64_t)llround(t_s * (double)NS_PER_S);
	if (t_ns < trace->points[0].t_ns || t_ns >= trace->end_ns)
		return NULL;
	return &trace->points[trace_find(trace, t_ns)];
}

double trace_demand_pct(const struct trace *trace, double t_s)
{
	const struct point *point = point_at(trace, t_s);

	return point ? (double)point->demand_pct : 0;
}

double trace_fps_uncapped(const struct trace *trace, double t_s)
{
	const struct point *point = point_at(trace, t_s);

	return point ? (double)point->fps : 0;
}

int trace_check_gaps(const struct trace *trace, uint64_t from_ns, uint64_t to_ns, uint64_t gap_ns,
		     struct err *reterr)
{
	for (size_t i = trace_find(trace, from_ns) + 1; i < trace->n; i++) {
		const struct point *point = &trace->points[i];
		char what[128];

		if (point[-1].t_ns >= to_ns)
			break;
		if (point->t_ns - point[-1].t_ns <= gap_ns)
			continue;
		snprintf(what, sizeof(what),
			 "a gap of %.9g s; allowed without gap=hold or gap=idle: %.9g s",
			 (double)(point->t_ns - point[-1].t_ns) / (double)NS_PER_S,
			 (double)gap_ns / (double)NS_PER_S);
		return fail_at(trace, i, reterr, what);
	}
	return 0;
}
