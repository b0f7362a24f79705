/* SPDX-License-Identifier: MIT */
/*
 * Estimates the demand of a tenant from its recorded load.
 *
 * A cap hides demand above the cap: load = min(demand, cap). If the tenant used less than
 * CENSORED_UTIL percent of the allotted time, or if the cap was the whole contract, the demand
 * equals the load. All other seconds are censored: their demand was at least the load. The
 * estimate of this demand is the median of the higher loads that the same tenant had in seconds
 * that are not censored. If fewer than HISTOGRAM_MIN_S such seconds exist, the estimate is the
 * contract.
 *
 * A use above SHARED_UTIL percent shows that caps were guarantees: the tenant used spare time.
 * Its demand then equals the load unless the whole GPU was in use.
 *
 * For a tenant with frames, the frame rate is estimated in the same way. The demand is this frame
 * rate times the measured GPU time of a frame, which does not depend on the cap. If too few higher
 * frame rates are known, the estimate is the target frame rate. If the target was reached, the
 * estimate is the frame rate that uses the whole contract.
 *
 * Work without frames is not lost if a cap delays it. A busy period is a time in which the tenant
 * uses all its allotted time. In a busy period, the demand equals the estimate above until the sum
 * of this demand equals the work done in the whole busy period. Then the demand is 0. If the
 * recording ends within the busy period, this work is not known, and the demand does not become 0.
 *
 * A tenant with frames has no delayed work, because it skips late frames.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "sim/experiment/recording-data.h"

/* a tenant that uses at least this percentage of the allotted time is busy */
#define CENSORED_UTIL	97
#define SHARED_UTIL	110
#define SATURATED_PCT	97 /* load of all tenants from which the whole GPU is in use */
#define HISTOGRAM_MIN_S 5  /* minimum seconds in the histogram for a median */
#define FPS_LEAST	0.1
#define FPS_STEP	1.05
#define FPS_MOST	10000 /* maximum frame rate of a trace */

/* The state of the estimation of one span. */
struct estimator {
	const struct recording_histogram *histogram;
	double ceiling_pct, target_fps;
	double frame_pct_s;	 /* GPU time of a frame in percent of a second */
	struct trace_point last; /* last estimate; repeated while readings are missing */
	/* for tenants without frames */
	size_t busy_end;   /* index of the first cell after the busy period */
	double busy_pct_s; /* work of the busy period that is not yet part of the demand */
};

/* Returns the highest cap that the tenant of @span may get. */
static int ceiling_of(const struct recording *recording, const struct recording_span *span)
{
	return recording->vgpus[span->vgpu].terms.burst ? 100 : span->contract_pct;
}

/* Returns true if the tenant used all time that was available to it. */
static bool is_busy(const struct recording *recording, const struct recording_span *span, size_t at)
{
	const struct recording_cell *cell = &span->cells[at];

	if (cell->util_pct > SHARED_UTIL &&
	    recording->ticks[span->first + at].load_pct < SATURATED_PCT)
		return false;
	return cell->util_pct >= CENSORED_UTIL;
}

/* Returns true if the cap may have limited the load in cell @at of @span. */
static bool is_censored(const struct recording *recording, const struct recording_span *span,
			size_t at)
{
	return is_busy(recording, span, at) &&
	       span->cells[at].cap_pct < ceiling_of(recording, span);
}

/* --- histograms --- */

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

/*
 * Returns the median of the bins above @bin; -1: these bins have less than HISTOGRAM_MIN_S seconds.
 */
static int median_above(const float *seconds, int n, int bin)
{
	double sum_s = 0, half_s = 0;

	for (int i = bin + 1; i < n; i++)
		sum_s += (double)seconds[i];
	if (sum_s < HISTOGRAM_MIN_S)
		return -1;
	while (half_s < sum_s / 2)
		half_s += (double)seconds[++bin];
	return bin;
}

void recording_build_histograms(struct recording *recording)
{
	for (int s = 0; s < recording->n_spans; s++) {
		struct recording_span *span = &recording->spans[s];
		struct recording_vgpu *vgpu = &recording->vgpus[span->vgpu];

		if (!vgpu->histogram)
			vgpu->histogram = xcalloc(1, sizeof(*vgpu->histogram));
		for (size_t i = 0; i < span->n_cells; i++) {
			const struct recording_cell *cell = &span->cells[i];
			float dt_s = recording->ticks[span->first + i].dt_s;

			span->draws = span->draws || cell->fps > 0;
			if (isnan(cell->load_pct) || is_censored(recording, span, i))
				continue;
			vgpu->histogram->load_s[load_bin((double)cell->load_pct)] += dt_s;
			if (!isnan(cell->fps))
				vgpu->histogram->fps_s[fps_bin((double)cell->fps)] += dt_s;
		}
	}
}

/* --- one second --- */

static double estimate_pct(const struct estimator *estimator, double load_pct)
{
	int bin = median_above(estimator->histogram->load_s, RECORDING_LOADS, load_bin(load_pct));

	return fmax(load_pct, bin < 0 ? estimator->ceiling_pct : bin);
}

/*
 * The median includes the bin of @fps. Otherwise a program that is paced at @fps would get a higher
 * estimate, because it never has a higher frame rate.
 */
static double estimate_fps(const struct estimator *estimator, double fps)
{
	int bin = median_above(estimator->histogram->fps_s, RECORDING_FRAMES, fps_bin(fps) - 1);

	if (bin >= 0)
		return fmax(fps, bin_fps(bin));
	if (estimator->target_fps > fps)
		return estimator->target_fps;
	return fmax(fps, estimator->ceiling_pct / estimator->frame_pct_s);
}

/* Estimates the demand in a second with the valid load @load_pct, for a tenant with frames. */
static struct trace_point estimate_frames(struct estimator *estimator, double load_pct, double fps,
					  bool censored)
{
	struct trace_point point = {.fps_uncapped = fps, .demand_pct = load_pct};

	if (fps > 0 && load_pct > 0)
		estimator->frame_pct_s = load_pct / fps;
	if (!(estimator->frame_pct_s > 0) || !(load_pct > 0))
		return point;
	if (isnan(fps))
		point.fps_uncapped = fps = load_pct / estimator->frame_pct_s;
	if (censored && fps > 0) {
		point.fps_uncapped = estimate_fps(estimator, fps);
		point.demand_pct = point.fps_uncapped * estimator->frame_pct_s;
	}
	return point;
}

static struct trace_point limit_point(struct trace_point point)
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

/* Finds the end and the total work of the busy period that starts with cell @at. */
static void begin_busy_period(const struct recording *recording, const struct recording_span *span,
			      size_t at, struct estimator *estimator)
{
	estimator->busy_pct_s = 0;
	for (; at < span->n_cells && is_busy(recording, span, at); at++)
		estimator->busy_pct_s += (double)recording->ticks[span->first + at].dt_s *
					 (double)span->cells[at].load_pct;
	estimator->busy_end = at;
	if (at == span->n_cells)
		estimator->busy_pct_s = INFINITY;
}

/* Estimates the demand of cell @at, whose load is valid, for a tenant without frames. */
static struct trace_point estimate_load(const struct recording *recording,
					const struct recording_span *span, size_t at, double dt_s,
					bool censored, struct estimator *estimator)
{
	const struct recording_cell *cell = &span->cells[at];
	double pct = (double)cell->load_pct;

	if (!is_busy(recording, span, at))
		return (struct trace_point){.demand_pct = pct};
	if (at >= estimator->busy_end)
		begin_busy_period(recording, span, at, estimator);
	if (censored)
		pct = estimate_pct(estimator, pct);
	pct = fmin(pct, estimator->busy_pct_s / dt_s);
	estimator->busy_pct_s -= pct * dt_s;
	return (struct trace_point){.demand_pct = pct};
}

static struct trace_point estimate_cell(struct recording *recording,
					const struct recording_span *span, size_t at, double dt_s,
					struct estimator *estimator)
{
	const struct recording_cell *cell = &span->cells[at];
	bool censored = is_censored(recording, span, at);
	double load_pct = (double)cell->load_pct, fps = (double)cell->fps;
	struct recording_facts *facts = &recording->facts;

	if (isnan(load_pct)) {
		facts->unknown_s += dt_s;
		return estimator->last;
	}
	if (censored)
		facts->censored_s += dt_s;
	if (span->draws && isnan(fps) && load_pct > 0)
		facts->fps_missing_s += dt_s;
	if (span->draws)
		estimator->last = estimate_frames(estimator, load_pct, fps, censored);
	else
		estimator->last = estimate_load(recording, span, at, dt_s, censored, estimator);
	estimator->last = limit_point(estimator->last);
	return estimator->last;
}

/*
 * Returns the first known GPU time of a frame, for the seconds before the first known frame rate.
 */
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
	struct trace_point *points = xcalloc(span->n_cells, sizeof(*points));
	struct estimator estimator = {
		.histogram = recording->vgpus[span->vgpu].histogram,
		.ceiling_pct = ceiling_of(recording, span),
		.target_fps = span->target_fps,
		.frame_pct_s = first_frame_pct_s(span),
	};
	double t_s = 0;
	size_t n = 0;
	int r;

	for (size_t i = 0; i < span->n_cells; i++) {
		double dt_s = (double)recording->ticks[span->first + i].dt_s;

		if (!(dt_s > 0))
			continue;
		points[n] = estimate_cell(recording, span, i, dt_s, &estimator);
		points[n++].t_s = t_s;
		t_s += dt_s;
		recording->facts.broken_s += span->cells[i].broken ? dt_s : 0;
	}
	recording->facts.vgpu_s += t_s;
	r = trace_new(points, n, &span->trace, reterr);
	free(points);
	return r;
}
