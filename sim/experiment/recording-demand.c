/* SPDX-License-Identifier: MIT */
/*
 * What a tenant wanted, from what it was seen to do. Must never take a capped tenant's load for its
 * demand.
 *
 * A cap hides what lies above it: busy = min(demand, cap). Where less than CENSORED_UTIL of what
 * was allotted was used, or the cap was all that was sold, the load is the demand. Elsewhere more
 * may have been wanted, and the same tenant's seconds in which it could be seen say how much: of
 * those in which it wanted more than here, the median. Where it was never seen to want more, it is
 * taken to have wanted its contract, as policy/qos/demand.c does.
 *
 * With frames the same is asked of the frame rate, for busy time and frames of one second make the
 * GPU time of a frame whatever the cap. Who was never seen to draw as much but was promised more is
 * taken to draw what was promised; who has that too, to fill his contract.
 *
 * What a cap keeps from a tenant without frames it does later, be it a queue or a program that just
 * takes longer. As long as it uses all it is given the work is therefore the same whatever the cap:
 * from the first such second to the last it is told to have wanted at the level estimated until all
 * that was done is asked for, and nothing more. But where it went on to the end of what is known,
 * the end of its work was not seen. Frames that were not drawn are not drawn later.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "sim/experiment/recording-internal.h"

#define CENSORED_UTIL 97 /* percent of what was allotted */
#define HABIT_MIN_S   5	 /* seconds that make a habit */
#define FPS_LEAST     0.1
#define FPS_STEP      1.05
#define FPS_MOST      10000 /* that a trace may have */

/* How @span is told on: what held last is taken where nothing is known. */
struct teller {
	const struct recording_histogram *habit;
	double ceiling_pct, target_fps;
	double frame_pct_s; /* GPU time of a frame, percent of a second */
	struct trace_point last;
	/* without frames: cells up to busy_end used all they were given, and did so much that is
	 * not told yet */
	size_t busy_end;
	double busy_pct_s;
};

int recording_ceiling_pct(const struct recording *recording, const struct recording_span *span)
{
	return recording->vgpus[span->vgpu].terms.burst ? 100 : span->contract_pct;
}

bool recording_is_censored(const struct recording *recording, const struct recording_span *span,
			   const struct recording_cell *cell)
{
	return cell->util_pct >= CENSORED_UTIL &&
	       cell->cap_pct < recording_ceiling_pct(recording, span);
}

/* --- habits --- */

static int load_bin(double load_pct)
{
	return (int)fmin(RECORDING_LOADS - 1, fmax(0, ceil(load_pct)));
}

static int fps_bin(double fps)
{
	double bin = fps > FPS_LEAST ? log(fps / FPS_LEAST) / log(FPS_STEP) : 0;

	return (int)fmin(RECORDING_FRAMES - 1, ceil(bin));
}

static double bin_fps(int bin)
{
	return FPS_LEAST * pow(FPS_STEP, bin);
}

/* The median of what lies above @bin; -1: too little does. */
static int median_above(const float *seconds, int n, int bin)
{
	double sum_s = 0, half_s = 0;

	for (int i = bin + 1; i < n; i++)
		sum_s += (double)seconds[i];
	if (sum_s < HABIT_MIN_S)
		return -1;
	while (half_s < sum_s / 2)
		half_s += (double)seconds[++bin];
	return bin;
}

int recording_build_histograms(struct recording *recording)
{
	for (int s = 0; s < recording->n_spans; s++) {
		struct recording_span *span = &recording->spans[s];
		struct recording_vgpu *vgpu = &recording->vgpus[span->vgpu];

		if (!vgpu->habit)
			vgpu->habit = calloc(1, sizeof(*vgpu->habit));
		if (!vgpu->habit)
			return -ENOMEM;
		for (size_t i = 0; i < span->n_cells; i++) {
			const struct recording_cell *cell = &span->cells[i];
			float dt_s = recording->ticks[span->first + i].dt_s;

			span->draws = span->draws || cell->fps > 0;
			if (isnan(cell->load_pct) || recording_is_censored(recording, span, cell))
				continue;
			vgpu->habit->load_s[load_bin((double)cell->load_pct)] += dt_s;
			if (!isnan(cell->fps))
				vgpu->habit->fps_s[fps_bin((double)cell->fps)] += dt_s;
		}
	}
	return 0;
}

/* --- one second --- */

static double estimate_pct(const struct teller *teller, double load_pct)
{
	int bin = median_above(teller->habit->load_s, RECORDING_LOADS, load_bin(load_pct));

	return fmax(load_pct, bin < 0 ? teller->ceiling_pct : bin);
}

/* A paced program is seen at its pace: what is drawn at about that rate wants no more. */
static double estimate_fps(const struct teller *teller, double fps)
{
	int bin = median_above(teller->habit->fps_s, RECORDING_FRAMES, fps_bin(fps) - 1);

	if (bin >= 0)
		return fmax(fps, bin_fps(bin));
	if (teller->target_fps > fps)
		return teller->target_fps;
	return fmax(fps, teller->ceiling_pct / teller->frame_pct_s);
}

/* Of a cell with a load, of a tenant that draws. */
static struct trace_point tell_frames(struct teller *teller, double load_pct, double fps,
				      bool censored)
{
	struct trace_point point = {.fps_uncapped = fps, .demand_pct = load_pct};

	if (fps > 0 && load_pct > 0)
		teller->frame_pct_s = load_pct / fps;
	if (!(teller->frame_pct_s > 0) || !(load_pct > 0))
		return point;
	if (isnan(fps))
		point.fps_uncapped = fps = load_pct / teller->frame_pct_s;
	if (censored && fps > 0) {
		point.fps_uncapped = estimate_fps(teller, fps);
		point.demand_pct = point.fps_uncapped * teller->frame_pct_s;
	}
	return point;
}

static struct trace_point within(struct trace_point point)
{
	double most = point.fps_uncapped;

	if (isnan(most))
		point.fps_uncapped = most = 0;
	if (point.demand_pct > 100)
		most = point.fps_uncapped * 100 / point.demand_pct;
	point.fps_uncapped = fmin(most, FPS_MOST);
	point.demand_pct = fmin(fmax(point.demand_pct, 0), 100);
	return point;
}

static bool is_busy(const struct recording_cell *cell)
{
	return cell->util_pct >= CENSORED_UTIL;
}

/* From cell @at on: how long it used all it was given, and what it did in that time. */
static void look_ahead(const struct recording *recording, const struct recording_span *span,
		       size_t at, struct teller *teller)
{
	teller->busy_pct_s = 0;
	for (; at < span->n_cells && is_busy(&span->cells[at]); at++)
		teller->busy_pct_s += (double)recording->ticks[span->first + at].dt_s *
				      (double)span->cells[at].load_pct;
	teller->busy_end = at;
	if (at == span->n_cells)
		teller->busy_pct_s = INFINITY;
}

/* Of cell @at, with a load, of a tenant without frames. */
static struct trace_point tell_load(const struct recording *recording,
				    const struct recording_span *span, size_t at, double dt_s,
				    bool censored, struct teller *teller)
{
	const struct recording_cell *cell = &span->cells[at];
	double pct = (double)cell->load_pct;

	if (!is_busy(cell))
		return (struct trace_point){.demand_pct = pct};
	if (at >= teller->busy_end)
		look_ahead(recording, span, at, teller);
	if (censored)
		pct = estimate_pct(teller, pct);
	pct = fmin(pct, teller->busy_pct_s / dt_s);
	teller->busy_pct_s -= pct * dt_s;
	return (struct trace_point){.demand_pct = pct};
}

static struct trace_point tell_cell(struct recording *recording, const struct recording_span *span,
				    size_t at, double dt_s, struct teller *teller)
{
	const struct recording_cell *cell = &span->cells[at];
	bool censored = recording_is_censored(recording, span, cell);
	double load_pct = (double)cell->load_pct, fps = (double)cell->fps;
	struct recording_facts *facts = &recording->facts;

	if (isnan(load_pct)) {
		facts->unknown_s += dt_s;
		return teller->last;
	}
	if (censored)
		facts->censored_s += dt_s;
	if (span->draws && isnan(fps) && load_pct > 0)
		facts->fps_missing_s += dt_s;
	if (span->draws)
		teller->last = tell_frames(teller, load_pct, fps, censored);
	else
		teller->last = tell_load(recording, span, at, dt_s, censored, teller);
	teller->last = within(teller->last);
	return teller->last;
}

/* The first frame that can be priced, for seconds before it whose frames nobody counted. */
static double first_frame_pct_s(const struct recording_span *span)
{
	for (size_t i = 0; i < span->n_cells; i++)
		if (span->cells[i].fps > 0 && span->cells[i].load_pct > 0)
			return (double)span->cells[i].load_pct / (double)span->cells[i].fps;
	return 0;
}

int recording_make_trace(struct recording *recording, struct recording_span *span,
			 struct err *reterr)
{
	struct trace_point *points = calloc(span->n_cells, sizeof(*points));
	struct teller teller = {
		.habit = recording->vgpus[span->vgpu].habit,
		.ceiling_pct = recording_ceiling_pct(recording, span),
		.target_fps = span->target_fps,
		.frame_pct_s = first_frame_pct_s(span),
	};
	double t_s = 0;
	size_t n = 0;
	int r;

	if (!points)
		return err_fail(reterr, ENOMEM, "out of memory");
	for (size_t i = 0; i < span->n_cells; i++) {
		double dt_s = (double)recording->ticks[span->first + i].dt_s;

		if (!(dt_s > 0))
			continue;
		points[n] = tell_cell(recording, span, i, dt_s, &teller);
		points[n++].t_s = t_s;
		t_s += dt_s;
		recording->facts.broken_s += span->cells[i].broken ? dt_s : 0;
	}
	recording->facts.vgpu_s += t_s;
	r = trace_new(points, n, &span->trace, reterr);
	free(points);
	return r;
}
