/* SPDX-License-Identifier: MIT */
/*
 * Reads traces line by line, so that memory contains only the points, and plays them back. Demand
 * is integrated exactly over any time. Frames occur at the recorded rate. Each frame has the demand
 * of the time since the previous frame.
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
#include "base/xalloc.h"
#include "sim/model/trace.h"

#define T_MAX_S	   4e9 /* 126 years: twice this time, in ns, fits into 64 bits */
#define FPS_MAX	   10000
#define LINE_SIZE  256	/* of a line with its NUL; a line of three numbers needs about 64 */
#define POINTS_MIN 1024 /* size of the first allocation in points */

struct point {
	uint64_t t_ns;
	/* float, so that a point has only 16 bytes; 7 digits are enough */
	float fps, demand_pct;
};

struct trace {
	char *name; /* path of the file; NULL: the trace was created from memory */
	struct point *points;
	size_t n, allocated;
	uint64_t end_ns;
	bool has_frames;
};

/*
 * Returns -EINVAL with the message "POSITION: @what". POSITION is the number of point @i or, for a
 * file, its line.
 */
static int fail_at(const struct trace *trace, size_t i, struct err *reterr, const char *what)
{
	if (!trace->name)
		return err_fail(reterr, EINVAL, "point %zu: %s", i + 1, what);
	return err_fail(reterr, EINVAL, "%.300s:%zu: %s", trace->name, i + 2, what);
}

/* --- points --- */

static void reserve_point(struct trace *trace)
{
	size_t allocated = trace->allocated == 0 ? POINTS_MIN : 2 * trace->allocated;

	if (trace->n < trace->allocated)
		return;
	if (allocated > TRACE_POINTS_MAX)
		allocated = TRACE_POINTS_MAX;
	trace->points = xreallocarray(trace->points, allocated, sizeof(*trace->points));
	trace->allocated = allocated;
}

/* Returns true if 0 <= @value <= @max. Returns false for NaN. */
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
		snprintf(what, sizeof(what), "t_s %g: out of range (allowed: 0 to %g)", point->t_s,
			 T_MAX_S);
	else if (!is_within(point->fps_uncapped, FPS_MAX))
		snprintf(what, sizeof(what), "fps_uncapped %g: out of range (allowed: 0 to %d)",
			 point->fps_uncapped, FPS_MAX);
	else if (!is_within(point->demand_pct, 100))
		snprintf(what, sizeof(what), "demand_pct %g: out of range (allowed: 0 to 100)",
			 point->demand_pct);
	else if (last && t_ns <= last->t_ns)
		snprintf(what, sizeof(what), "t_s %.15g: not later than the previous t_s %.15g",
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
		return err_fail(reterr, EFBIG, "%.300s: too many points (limit %d)",
				trace->name ? trace->name : "trace", TRACE_POINTS_MAX);
	reserve_point(trace);
	trace->points[trace->n++] = (struct point){
		.t_ns = t_ns,
		.fps = (float)point->fps_uncapped,
		.demand_pct = (float)point->demand_pct,
	};
	trace->has_frames |= point->fps_uncapped > 0;
	return 0;
}

/* Sets the end of the last point, and frees unused memory. */
static void finish(struct trace *trace)
{
	const struct point *last = &trace->points[trace->n - 1];
	uint64_t held_ns = NS_PER_S;

	if (trace->n > 1)
		held_ns = last->t_ns - last[-1].t_ns;
	if (trace->n > 2 && last[-1].t_ns - last[-2].t_ns < held_ns)
		held_ns = last[-1].t_ns - last[-2].t_ns;
	trace->end_ns = last->t_ns + held_ns;
	trace->points = xreallocarray(trace->points, trace->n, sizeof(*trace->points));
	trace->allocated = trace->n;
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
		return err_fail(reterr, EINVAL, "the trace has no points");
	trace = xcalloc(1, sizeof(*trace));
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

/*
 * Reads the next line, without its line ending. Returns the length of the line. -ENODATA: no
 * further line; -EFBIG: the line is too long; -EINVAL: the line contains a NUL byte.
 */
static int read_line(FILE *file, char line[LINE_SIZE])
{
	size_t length = 0;
	int c;

	while ((c = getc_unlocked(file)) != EOF && c != '\n') {
		if (length + 1 == LINE_SIZE)
			return -EFBIG;
		line[length++] = (char)c;
	}
	if (c == EOF && ferror(file))
		return -EIO;
	if (c == EOF && length == 0)
		return -ENODATA;
	if (length > 0 && line[length - 1] == '\r')
		length--;
	line[length] = '\0';
	return memchr(line, '\0', length) ? -EINVAL : (int)length;
}

/* Copies text of a file for use in a message: shortens it, and replaces control characters. */
static const char *printable(const char *text, char copy[33])
{
	snprintf(copy, 33, "%.32s", text);
	for (char *c = copy; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			*c = '?';
	return copy;
}

static int read_number(const struct trace *trace, const char *name, const char *text, double max,
		       double *ret_value, struct err *reterr)
{
	char what[128], copy[33];

	if (parse_double(text, 0, max, ret_value) == 0)
		return 0;
	snprintf(what, sizeof(what), "%s '%s': not a valid number (allowed: 0 to %.15g)", name,
		 printable(text, copy), max);
	return fail_at(trace, trace->n, reterr, what);
}

static const struct column {
	const char *name;
	double max;
	size_t offset; /* offset of the value in struct trace_point */
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
	return err_fail(reterr, EINVAL, "%.300s:1: unknown header '%s' (allowed: '%s', '%s')",
			trace->name, printable(line, copy), headers[0].text, headers[1].text);
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
		return fail_at(trace, trace->n, reterr, "empty line");
	if (found != header->n) {
		snprintf(what, sizeof(what), "%zu columns, but the header has %zu", found,
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
		snprintf(what, sizeof(what), "line too long (limit %d characters)", LINE_SIZE - 1);
	else if (r == -EINVAL)
		strcpy(what, "the line contains a NUL byte");
	else if (r == -ENODATA && line == 1)
		strcpy(what, "the file is empty");
	else if (r == -ENODATA)
		strcpy(what, "no points after the header");
	return err_fail(reterr, r == -EIO ? EIO : EINVAL, "%.300s:%zu: %s", trace->name, line,
			what);
}

static int read_file(struct trace *trace, FILE *file, struct err *reterr)
{
	const struct header *header = NULL;
	char line[LINE_SIZE];
	int r = read_line(file, line);

	if (r < 0)
		return fail_line(trace, 1, r, reterr);
	r = read_header(trace, line, &header, reterr);
	if (r < 0)
		return r;
	while ((r = read_line(file, line)) >= 0) {
		r = read_point(trace, header, line, reterr);
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
	struct trace *trace = xcalloc(1, sizeof(*trace));
	FILE *file;
	int r = file_open_stream(path, &file);

	trace->name = xstrdup(path);
	if (r < 0) {
		trace_free(trace);
		return err_fail(reterr, -r, "%.300s: cannot be read: %s", path, file_error(r));
	}
	r = read_file(trace, file, reterr);
	(void)fclose(file);
	if (r < 0) {
		trace_free(trace);
		return r;
	}
	*ret_trace = trace;
	return 0;
}

/* --- queries --- */

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
	size_t low = 0, high = trace->n; /* the searched point is in [low, high) */

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (trace->points[middle].t_ns <= t_ns)
			low = middle;
		else
			high = middle;
	}
	return low;
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
			 "gap of %.9g s (allowed: up to %.9g s; with gap=hold or gap=idle any gap)",
			 (double)(point->t_ns - point[-1].t_ns) / (double)NS_PER_S,
			 (double)gap_ns / (double)NS_PER_S);
		return fail_at(trace, i, reterr, what);
	}
	return 0;
}

#define LOOK_NS NS_PER_S /* one call searches at most this time for the next frame */
/* demand without frames is divided into this number of pieces per second */
#define PIECES_S 10

/* Demand and rate change linearly from (pct, rate) at from_ns to (to_pct, to_rate) at to_ns. */
struct segment {
	uint64_t from_ns, to_ns; /* begin and end in the time of the trace */
	double pct, to_pct;
	double rate, to_rate; /* rates at begin and end: frames or pieces per second */
	bool is_drawn;	      /* true: the rate counts frames; false: pieces */
};

/*
 * Returns the index of the last point at or before @at_ns. @point: index at which to start the
 * search.
 */
static size_t find_point(const struct trace *trace, size_t point, uint64_t at_ns)
{
	if (trace_time_ns(trace, point) > at_ns)
		return trace_find(trace, at_ns);
	while (point + 1 < trace_count(trace) && trace_time_ns(trace, point + 1) <= at_ns)
		point++;
	return point;
}

/*
 * Sets demand and rate of @segment. Demand without frames is limited to the whole GPU. Demand with
 * frames has no limit.
 */
static void set_values(const struct playback *playback, const struct trace_point *from,
		       const struct trace_point *to, struct segment *segment)
{
	segment->pct = from->demand_pct * playback->scale;
	segment->to_pct = to->demand_pct * playback->scale;
	segment->rate = from->fps_uncapped;
	segment->to_rate = to->fps_uncapped;
	segment->is_drawn = segment->rate > 0 || segment->to_rate > 0;
	if (segment->is_drawn)
		return;
	segment->pct = fmin(segment->pct, 100);
	segment->to_pct = fmin(segment->to_pct, 100);
	segment->rate = segment->to_rate = segment->pct > 0 || segment->to_pct > 0 ? PIECES_S : 0;
}

static struct segment segment_at(const struct playback *playback, struct playhead *head,
				 uint64_t at_ns)
{
	static const struct trace_point nothing = {0};
	const struct trace *trace = playback->trace;
	size_t i = head->point = find_point(trace, head->point, at_ns);
	bool is_last = i + 1 == trace_count(trace);
	struct trace_point from = trace_point_at(trace, i), to = from;
	struct segment segment = {
		.from_ns = trace_time_ns(trace, i),
		.to_ns = is_last ? trace_end_ns(trace) : trace_time_ns(trace, i + 1),
	};

	if (segment.to_ns - segment.from_ns > playback->gap_ns) {
		uint64_t idle_ns = segment.from_ns + playback->gap_ns;

		if (playback->idle_gaps && at_ns < idle_ns) {
			segment.to_ns = idle_ns;
		} else if (playback->idle_gaps) {
			segment.from_ns = idle_ns;
			from = to = nothing;
		}
	} else if (playback->interpolate && !is_last) {
		to = trace_point_at(trace, i + 1);
	}
	set_values(playback, &from, &to, &segment);
	return segment;
}

static double between(double from, double to, double part)
{
	return from + (to - from) * part;
}

/* Returns the position of the time @at_ns + @ns in @segment: 0 at the start of @segment, 1 at its
 * end. */
static double part_of(const struct segment *segment, uint64_t at_ns, double ns)
{
	return ((double)(at_ns - segment->from_ns) + ns) /
	       (double)(segment->to_ns - segment->from_ns);
}

/*
 * Returns the GPU time demanded in the @ns after @at_ns. The mean of a linear change is the value
 * in the middle.
 */
static double demand_of(const struct segment *segment, uint64_t at_ns, uint64_t ns)
{
	double part = part_of(segment, at_ns, (double)ns / 2);

	return between(segment->pct, segment->to_pct, part) / 100 * (double)ns;
}

static double frames_of(const struct segment *segment, uint64_t at_ns, uint64_t ns)
{
	double part = part_of(segment, at_ns, (double)ns / 2);

	return between(segment->rate, segment->to_rate, part) * (double)ns / (double)NS_PER_S;
}

/* Returns the time from @at_ns until @frames frames are complete, 1 to @max_ns. */
static uint64_t time_of_frames(const struct segment *segment, uint64_t at_ns, uint64_t max_ns,
			       double frames)
{
	double rate = between(segment->rate, segment->to_rate, part_of(segment, at_ns, 0));
	double end_rate =
		between(segment->rate, segment->to_rate, part_of(segment, at_ns, (double)max_ns));
	double slope = (end_rate - rate) / ((double)max_ns / (double)NS_PER_S);
	/* This form of the quadratic formula never divides by the slope, which may be 0. */
	double s = 2 * frames / (rate + sqrt(fmax(rate * rate + 2 * slope * frames, 0)));
	double ns = s * (double)NS_PER_S;

	if (!(ns < (double)max_ns))
		return max_ns;
	return ns < 1 ? 1 : (uint64_t)ns;
}

static bool has_ended(const struct playback *playback, const struct playhead *head)
{
	return !playback->loop && head->played_ns >= playback->length_ns;
}

/*
 * Returns the segment at @head. *@ret_at_ns: the time of @head in the trace. *@ret_ns: the time
 * from @head to the end of the segment, 1 to @max_ns.
 */
static struct segment next_segment(const struct playback *playback, struct playhead *head,
				   uint64_t max_ns, uint64_t *ret_at_ns, uint64_t *ret_ns)
{
	uint64_t into_ns = (head->played_ns + playback->phase_ns) % playback->length_ns;
	uint64_t at_ns = playback->from_ns + into_ns;
	struct segment segment = segment_at(playback, head, at_ns);
	uint64_t ns = segment.to_ns - at_ns;

	if (playback->length_ns - into_ns < ns)
		ns = playback->length_ns - into_ns;
	*ret_at_ns = at_ns;
	*ret_ns = max_ns < ns ? max_ns : ns;
	return segment;
}

double playback_demand_ns(const struct playback *playback, struct playhead *head, uint64_t to_ns)
{
	double sum_ns = 0;

	while (head->played_ns < to_ns && !has_ended(playback, head)) {
		uint64_t at_ns, ns;
		struct segment segment =
			next_segment(playback, head, to_ns - head->played_ns, &at_ns, &ns);

		sum_ns += demand_of(&segment, at_ns, ns);
		head->played_ns += ns;
	}
	return sum_ns;
}

/* The minimum is 1 ns, because 0 means that no frame is complete. */
static uint64_t whole_ns(double ns)
{
	return ns < 1 ? 1 : (uint64_t)ns;
}

struct playback_frame playback_next_frame(const struct playback *playback, struct playhead *head,
					  uint64_t at_ns)
{
	struct playback_frame frame = {0};

	if (head->played_ns < at_ns)
		head->played_ns = at_ns;
	while (frame.span_ns < LOOK_NS && !has_ended(playback, head)) {
		uint64_t trace_ns, ns;
		struct segment segment =
			next_segment(playback, head, LOOK_NS - frame.span_ns, &trace_ns, &ns);
		double frames = frames_of(&segment, trace_ns, ns);
		bool is_ready = head->part + frames >= 1;

		if (is_ready) {
			ns = time_of_frames(&segment, trace_ns, ns, 1 - head->part);
			frames = frames_of(&segment, trace_ns, ns);
		}
		head->played_ns += ns;
		head->part += frames;
		head->part_ns += demand_of(&segment, trace_ns, ns);
		frame.span_ns += ns;
		if (!is_ready)
			continue;
		frame.is_drawn = segment.is_drawn;
		frame.gpu_ns = whole_ns(head->part_ns);
		head->part -= 1;
		head->part_ns = 0;
		return frame;
	}
	if (has_ended(playback, head) && head->part_ns > 0) { /* the trace ends within a frame */
		frame.gpu_ns = whole_ns(head->part_ns);
		head->part_ns = 0;
	}
	return frame;
}
