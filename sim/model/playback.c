/* SPDX-License-Identifier: MIT */
/*
 * The playback of a trace. The time between two points is a segment, in which demand and frame rate
 * are constant or change linearly.
 */
#include <math.h>

#include "base/clock.h"
#include "sim/model/playback.h"

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
