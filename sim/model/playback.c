/* SPDX-License-Identifier: MIT */
/* A trace being played. Pure; must never look further ahead than LOOK_NS in one call. */
#include <math.h>

#include "base/clock.h"
#include "sim/model/playback.h"

#define LOOK_NS	 NS_PER_S /* bounds a call where frames are rare or none */
#define PIECES_S 10	  /* so often comes work that draws nothing */

/* Between two instants of the trace's time demand and frames change evenly, or not at all. */
struct line {
	uint64_t from_ns, to_ns;
	double pct, to_pct;
	double rate, to_rate; /* frames a second, or pieces */
	bool is_drawn;
};

/* The point that holds at @at_ns, found from where the last one was. */
static size_t find_point(const struct trace *trace, size_t point, uint64_t at_ns)
{
	if (trace_time_ns(trace, point) > at_ns)
		return trace_find(trace, at_ns);
	while (point + 1 < trace_count(trace) && trace_time_ns(trace, point + 1) <= at_ns)
		point++;
	return point;
}

/* Frames may want more of the GPU than there is; a demand may not. */
static void set_values(const struct playback *playback, const struct trace_point *from,
		       const struct trace_point *to, struct line *line)
{
	line->pct = from->demand_pct * playback->scale;
	line->to_pct = to->demand_pct * playback->scale;
	line->rate = from->fps_uncapped;
	line->to_rate = to->fps_uncapped;
	line->is_drawn = line->rate > 0 || line->to_rate > 0;
	if (line->is_drawn)
		return;
	line->pct = fmin(line->pct, 100);
	line->to_pct = fmin(line->to_pct, 100);
	line->rate = line->to_rate = line->pct > 0 || line->to_pct > 0 ? PIECES_S : 0;
}

static struct line line_at(const struct playback *playback, struct playhead *head, uint64_t at_ns)
{
	static const struct trace_point nothing = {0};
	const struct trace *trace = playback->trace;
	size_t i = head->point = find_point(trace, head->point, at_ns);
	bool is_last = i + 1 == trace_count(trace);
	struct trace_point from = trace_point_at(trace, i), to = from;
	struct line line = {
		.from_ns = trace_time_ns(trace, i),
		.to_ns = is_last ? trace_end_ns(trace) : trace_time_ns(trace, i + 1),
	};

	if (line.to_ns - line.from_ns > playback->gap_ns) {
		uint64_t idle_ns = line.from_ns + playback->gap_ns;

		if (playback->idle_gaps && at_ns < idle_ns) {
			line.to_ns = idle_ns;
		} else if (playback->idle_gaps) {
			line.from_ns = idle_ns;
			from = to = nothing;
		}
	} else if (playback->interpolate && !is_last) {
		to = trace_point_at(trace, i + 1);
	}
	set_values(playback, &from, &to, &line);
	return line;
}

static double between(double from, double to, double part)
{
	return from + (to - from) * part;
}

/* How much of @line lies before @ns after @at_ns. */
static double part_of(const struct line *line, uint64_t at_ns, double ns)
{
	return ((double)(at_ns - line->from_ns) + ns) / (double)(line->to_ns - line->from_ns);
}

/* The mean of what changes evenly is what it is in the middle. */
static double demand_of(const struct line *line, uint64_t at_ns, uint64_t ns)
{
	double part = part_of(line, at_ns, (double)ns / 2);

	return between(line->pct, line->to_pct, part) / 100 * (double)ns;
}

static double frames_of(const struct line *line, uint64_t at_ns, uint64_t ns)
{
	double part = part_of(line, at_ns, (double)ns / 2);

	return between(line->rate, line->to_rate, part) * (double)ns / (double)NS_PER_S;
}

/* After how many of @max_ns, in which they come, @frames have come; at least 1. */
static uint64_t time_of_frames(const struct line *line, uint64_t at_ns, uint64_t max_ns,
			       double frames)
{
	double rate = between(line->rate, line->to_rate, part_of(line, at_ns, 0));
	double end_rate = between(line->rate, line->to_rate, part_of(line, at_ns, (double)max_ns));
	double slope = (end_rate - rate) / ((double)max_ns / (double)NS_PER_S);
	/* Of the two forms of a quadratic's root the one that has no slope to divide by. */
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

/* The line at the head, and how far it goes before @max_ns, at least 1. */
static struct line next_line(const struct playback *playback, struct playhead *head,
			     uint64_t max_ns, uint64_t *ret_at_ns, uint64_t *ret_ns)
{
	uint64_t into_ns = head->played_ns % playback->length_ns;
	uint64_t at_ns = playback->from_ns + into_ns;
	struct line line = line_at(playback, head, at_ns);
	uint64_t ns = line.to_ns - at_ns;

	if (playback->length_ns - into_ns < ns)
		ns = playback->length_ns - into_ns;
	*ret_at_ns = at_ns;
	*ret_ns = max_ns < ns ? max_ns : ns;
	return line;
}

double playback_demand_ns(const struct playback *playback, struct playhead *head, uint64_t to_ns)
{
	double sum_ns = 0;

	while (head->played_ns < to_ns && !has_ended(playback, head)) {
		uint64_t at_ns, ns;
		struct line line = next_line(playback, head, to_ns - head->played_ns, &at_ns, &ns);

		sum_ns += demand_of(&line, at_ns, ns);
		head->played_ns += ns;
	}
	return sum_ns;
}

/* Work of at least a ns, so that it can be seen to be done. */
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
		struct line line =
			next_line(playback, head, LOOK_NS - frame.span_ns, &trace_ns, &ns);
		double frames = frames_of(&line, trace_ns, ns);
		bool is_ready = head->part + frames >= 1;

		if (is_ready) {
			ns = time_of_frames(&line, trace_ns, ns, 1 - head->part);
			frames = frames_of(&line, trace_ns, ns);
		}
		head->played_ns += ns;
		head->part += frames;
		head->part_ns += demand_of(&line, trace_ns, ns);
		frame.span_ns += ns;
		if (!is_ready)
			continue;
		frame.is_drawn = line.is_drawn;
		frame.gpu_ns = whole_ns(head->part_ns);
		head->part -= 1;
		head->part_ns = 0;
		return frame;
	}
	if (has_ended(playback, head) && head->part_ns > 0) { /* a frame cut off by the end */
		frame.gpu_ns = whole_ns(head->part_ns);
		head->part_ns = 0;
	}
	return frame;
}
