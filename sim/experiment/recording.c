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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "base/xalloc.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/recording.h"
#include "sim/experiment/scenario.h"
#include "sim/model/random.h"
#include "sim/model/trace.h"

#define LOADS 101 /* number of load bins, 1 percent of the GPU each */
/* number of frame rate bins, from 0.1 frames per second; each next bin is 5 % higher */
#define FRAMES 256

struct recording_tick {
	int64_t at_ms;
	float dt_s;	/* 0: no data */
	float load_pct; /* sum of the known loads of all vGPUs */
};

/* The values of one row. NAN: the value was not valid. */
struct recording_cell {
	float load_pct, util_pct, fps;
	unsigned char cap_pct;
	bool broken;
};

/*
 * The seconds that a vGPU spent at each load and at each frame rate. Seconds in which the cap
 * limited the vGPU are not counted.
 */
struct recording_histogram {
	float load_s[LOADS], fps_s[FRAMES];
};

struct recording_vgpu {
	char id[ID_MAX];
	struct recording_terms terms;
	int span; /* index of the current span; -1: no current span */
	struct recording_histogram *histogram;
};

/* A span: a time in which a vGPU exists without interruption and with the same contract. */
struct recording_span {
	int vgpu, contract_pct;
	double target_fps;
	size_t first; /* index of the tick of cells[0] */
	struct recording_cell *cells;
	size_t n_cells, n_allocated;
	bool draws; /* has frames */
	struct trace *trace;
	double begin_s, end_s; /* begin and end in replayed time */
};

struct recording {
	struct recording_tick *ticks;
	size_t n_ticks, ticks_allocated;
	struct recording_vgpu *vgpus;
	int n_vgpus;
	size_t vgpus_allocated, spans_allocated;
	struct recording_span *spans;
	int n_spans;
	struct recording_facts facts;
};

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
	return (int)fmin(LOADS - 1, fmax(0, ceil(load_pct)));
}

static int fps_bin(double fps)
{
	double bin = fps > FPS_LEAST ? log(fps / FPS_LEAST) / log(FPS_STEP) : 0;

	return (int)fmin(FRAMES - 1, ceil(bin));
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

/* Adds all cells that are not censored to the histogram of their vGPU. */
static void build_histograms(struct recording *recording)
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
	int bin = median_above(estimator->histogram->load_s, LOADS, load_bin(load_pct));

	return fmax(load_pct, bin < 0 ? estimator->ceiling_pct : bin);
}

/*
 * The median includes the bin of @fps. Otherwise a program that is paced at @fps would get a higher
 * estimate, because it never has a higher frame rate.
 */
static double estimate_fps(const struct estimator *estimator, double fps)
{
	int bin = median_above(estimator->histogram->fps_s, FRAMES, fps_bin(fps) - 1);

	if (bin >= 0)
		return fmax(fps, FPS_LEAST * pow(FPS_STEP, bin));
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

/*
 * Creates the trace of @span: estimates its demand. Adds the number of seconds with an estimated
 * demand to the facts of @recording.
 */
static int make_trace(struct recording *recording, struct recording_span *span, struct err *reterr)
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

#define GAP_PERIODS  5
#define ABSENT_TICKS 5 /* maximum number of missing rows within a span */
#define SECONDS_MIN  10
#define PERIOD_MIN_S 0.1
#define PERIOD_MAX_S 10.0
#define MS_PER_S     1000.0
#define S_PER_MIN    60.0

struct recording *recording_new(void)
{
	return xcalloc(1, sizeof(struct recording));
}

struct recording *recording_free(struct recording *recording)
{
	if (!recording)
		return NULL;
	for (int i = 0; i < recording->n_spans; i++) {
		free(recording->spans[i].cells);
		trace_free(recording->spans[i].trace);
	}
	for (int i = 0; i < recording->n_vgpus; i++)
		free(recording->vgpus[i].histogram);
	free(recording->ticks);
	free(recording->vgpus);
	free(recording->spans);
	free(recording);
	return NULL;
}

/* --- rows --- */

/* Makes room for another element in an array of @n elements. Returns the array. */
static void *grow(void *array, size_t n, size_t *allocated, size_t size)
{
	if (n < *allocated)
		return array;
	*allocated = *allocated ? 2 * *allocated : 16;
	return xreallocarray(array, *allocated, size);
}

int recording_vgpu(struct recording *recording, const char *id)
{
	struct recording_vgpu *vgpus;

	for (int i = 0; i < recording->n_vgpus; i++)
		if (strcmp(recording->vgpus[i].id, id) == 0)
			return i;
	if (recording->n_vgpus == RECORDING_VGPUS_MAX)
		return -E2BIG;
	recording->vgpus = vgpus = grow(recording->vgpus, (size_t)recording->n_vgpus,
					&recording->vgpus_allocated, sizeof(*vgpus));
	vgpus[recording->n_vgpus] = (struct recording_vgpu){
		.terms = {.weight = 1, .price_per_cap_hour = -1, .penalty_per_broken_s = -1},
		.span = -1,
	};
	if (id_copy(vgpus[recording->n_vgpus].id, id) < 0)
		return -EINVAL;
	return recording->n_vgpus++;
}

void recording_set_terms(struct recording *recording, int vgpu, const struct recording_terms *terms)
{
	recording->vgpus[vgpu].terms = *terms;
}

static int enter_tick(struct recording *recording, int64_t at_ms, struct err *reterr)
{
	struct recording_tick *ticks = recording->ticks;
	size_t n = recording->n_ticks;

	if (n > 0 && ticks[n - 1].at_ms == at_ms)
		return 0;
	if (n > 0 && ticks[n - 1].at_ms > at_ms)
		return err_fail(reterr, EINVAL, "rows are not in order of time");
	if (n == RECORDING_TICKS_MAX)
		return err_fail(reterr, E2BIG,
				"too many periods (limit %d): choose a shorter range",
				RECORDING_TICKS_MAX);
	ticks = grow(ticks, n, &recording->ticks_allocated, sizeof(*ticks));
	recording->ticks = ticks;
	ticks[recording->n_ticks++] = (struct recording_tick){.at_ms = at_ms};
	return 0;
}

/* Returns the current span of @vgpu if @row continues this span, otherwise NULL. */
static struct recording_span *find_span(struct recording *recording, int vgpu,
					const struct recording_row *row, double target_fps)
{
	int open = recording->vgpus[vgpu].span;
	struct recording_span *span = open < 0 ? NULL : &recording->spans[open];

	if (!span || span->contract_pct != row->contract_pct ||
	    fabs(span->target_fps - target_fps) > 0 ||
	    recording->n_ticks > span->first + span->n_cells + ABSENT_TICKS)
		return NULL;
	return span;
}

static struct recording_span *begin_span(struct recording *recording, int vgpu,
					 const struct recording_row *row, double target_fps)
{
	struct recording_span *spans = grow(recording->spans, (size_t)recording->n_spans,
					    &recording->spans_allocated, sizeof(*spans));

	recording->spans = spans;
	spans[recording->n_spans] = (struct recording_span){
		.vgpu = vgpu,
		.contract_pct = row->contract_pct,
		.target_fps = target_fps,
		.first = recording->n_ticks - 1,
	};
	recording->vgpus[vgpu].span = recording->n_spans;
	return &spans[recording->n_spans++];
}

static void add_cell(struct recording_span *span, struct recording_cell cell)
{
	span->cells = grow(span->cells, span->n_cells, &span->n_allocated, sizeof(*span->cells));
	span->cells[span->n_cells++] = cell;
}

/* Adds a cell for each tick since the last cell. Ticks without a row get cells without values. */
static void add_row(struct recording *recording, struct recording_span *span,
		    const struct recording_row *row, bool known)
{
	struct recording_cell cell = {.load_pct = NAN,
				      .util_pct = NAN,
				      .fps = NAN,
				      .cap_pct = row->cap_pct ? (unsigned char)row->cap_pct : 100};

	while (span->first + span->n_cells + 1 < recording->n_ticks)
		add_cell(span, cell);
	if (known) {
		recording->ticks[recording->n_ticks - 1].load_pct += (float)row->load_pct;
		cell.load_pct = (float)row->load_pct;
		cell.util_pct = (float)row->util_pct;
		cell.fps = (float)row->fps;
		cell.broken = row->broken;
	}
	add_cell(span, cell);
}

int recording_add(struct recording *recording, int vgpu, const struct recording_row *row,
		  struct err *reterr)
{
	bool known = row->dt_s > 0 && row->load_pct >= 0 && row->util_pct >= 0;
	double target_fps = row->target_fps > 0 ? row->target_fps : 0;
	struct recording_span *span;
	struct recording_tick *tick;
	int r = enter_tick(recording, row->at_ms, reterr);

	if (r < 0)
		return r;
	if (row->cap_pct < 0 || row->cap_pct > 100)
		return err_fail(reterr, EINVAL,
				"vGPU %s: cap %d %%: out of range (allowed: 0 to 100)",
				recording->vgpus[vgpu].id, row->cap_pct);
	if (row->contract_pct < 1 || row->contract_pct > 100)
		return err_fail(reterr, EINVAL,
				"vGPU %s: contract %d %%: out of range (allowed: 1 to 100)",
				recording->vgpus[vgpu].id, row->contract_pct);
	tick = &recording->ticks[recording->n_ticks - 1];
	if (known && (!(tick->dt_s > 0) || row->dt_s < (double)tick->dt_s))
		tick->dt_s = (float)row->dt_s;
	span = find_span(recording, vgpu, row, target_fps);
	if (!span && !known)
		return 0; /* a span cannot start with a row that is not valid */
	if (!span)
		span = begin_span(recording, vgpu, row, target_fps);
	add_row(recording, span, row, known);
	return 0;
}

/* --- spans --- */

static int compare_floats(const void *left, const void *right)
{
	float a = *(const float *)left, b = *(const float *)right;

	return a < b ? -1 : a > b;
}

/* Returns the median length of the measured periods, in seconds. 0: no measured period. */
static double median_period_s(const struct recording *recording, float *room)
{
	size_t n = 0;

	for (size_t i = 0; i < recording->n_ticks; i++)
		if (recording->ticks[i].dt_s > 0)
			room[n++] = recording->ticks[i].dt_s;
	if (n == 0)
		return 0;
	qsort(room, n, sizeof(*room), compare_floats);
	return fmin(PERIOD_MAX_S, fmax(PERIOD_MIN_S, (double)room[n / 2]));
}

/* Time before the first tick is not a gap. */
static void cut_gaps(struct recording *recording)
{
	struct recording_facts *facts = &recording->facts;
	bool was_gap = true;

	for (size_t i = 0; i < recording->n_ticks; i++) {
		struct recording_tick *tick = &recording->ticks[i];
		bool is_gap =
			!(tick->dt_s > 0) || (double)tick->dt_s > GAP_PERIODS * facts->period_s;

		if (!is_gap) {
			facts->seconds += (double)tick->dt_s;
			was_gap = false;
			continue;
		}
		tick->dt_s = 0;
		if (i > 0) {
			facts->gaps += !was_gap;
			facts->gap_s += (double)(tick->at_ms - tick[-1].at_ms) / MS_PER_S;
		}
		was_gap = true;
	}
}

/*
 * Ends each span at its last valid reading, and sets its replayed begin and end. Removes spans of
 * which nothing is replayed.
 */
static int place_spans(struct recording *recording, struct err *reterr)
{
	CLEANUP_FREE double *known_s = xcalloc(recording->n_ticks + 1, sizeof(*known_s));
	int kept = 0;

	for (size_t i = 0; i < recording->n_ticks; i++)
		known_s[i + 1] = known_s[i] + (double)recording->ticks[i].dt_s;
	for (int i = 0; i < recording->n_spans; i++) {
		struct recording_span *span = &recording->spans[i];

		while (span->n_cells > 0 && isnan(span->cells[span->n_cells - 1].load_pct))
			span->n_cells--;
		span->begin_s = known_s[span->first];
		span->end_s = known_s[span->first + span->n_cells];
		if (span->end_s > span->begin_s)
			recording->spans[kept++] = *span;
		else
			free(span->cells);
	}
	recording->n_spans = kept;
	if (kept > RECORDING_SPANS_MAX)
		return err_fail(reterr, E2BIG,
				"too many vGPUs and contract changes (%d, limit %d): choose a "
				"shorter range",
				kept, RECORDING_SPANS_MAX);
	return 0;
}

static void count_vgpus(struct recording *recording)
{
	struct recording_facts *facts = &recording->facts;

	for (int i = 0; i < recording->n_vgpus; i++)
		recording->vgpus[i].span = -1;
	for (int i = 0; i < recording->n_spans; i++) {
		struct recording_vgpu *vgpu = &recording->vgpus[recording->spans[i].vgpu];

		facts->vgpus += vgpu->span < 0;
		vgpu->span = i;
	}
	facts->spans = recording->n_spans;
}

int recording_finish(struct recording *recording, struct err *reterr)
{
	CLEANUP_FREE float *room = xcalloc(recording->n_ticks + 1, sizeof(*room));
	struct recording_facts *facts = &recording->facts;
	int r;

	facts->period_s = median_period_s(recording, room);
	cut_gaps(recording);
	if (facts->seconds < SECONDS_MIN)
		return err_fail(reterr, ENODATA, "recording too short: %.0f seconds (at least %d)",
				facts->seconds, SECONDS_MIN);
	r = place_spans(recording, reterr);
	if (r < 0)
		return r;
	count_vgpus(recording);
	build_histograms(recording);
	for (int i = 0; r == 0 && i < recording->n_spans; i++)
		r = make_trace(recording, &recording->spans[i], reterr);
	return r;
}

struct recording_facts recording_facts(const struct recording *recording)
{
	return recording->facts;
}

const char *recording_id(const struct recording *recording, int tenant)
{
	return tenant < recording->n_spans ? recording->vgpus[recording->spans[tenant].vgpu].id
					   : NULL;
}

/* --- the summary of the recorded run --- */

/* A second without a reading is treated as served. */
static struct account_sample sample_of(const struct recording *recording,
				       const struct scenario *scenario,
				       const struct recording_span *span,
				       const struct recording_cell *cell, struct trace_point wanted)
{
	const struct recording_terms *terms = &recording->vgpus[span->vgpu].terms;
	bool known = !isnan(cell->load_pct);
	double load = (known ? (double)cell->load_pct : wanted.demand_pct) / 100;
	struct account_sample sample = {
		.contract_pct = span->contract_pct,
		.target_fps = span->target_fps,
		.weight = terms->weight,
		.makes_frames = known && !isnan(cell->fps),
		.fps = known && !isnan(cell->fps) ? (double)cell->fps : 0,
		.load = load,
		.util = known ? (double)cell->util_pct / 100 : 0,
		.demand = wanted.demand_pct / 100,
		.price_per_cap_hour = terms->price_per_cap_hour,
		.penalty_per_broken_s = terms->penalty_per_broken_s,
	};

	if (span->target_fps > 0 && sample.makes_frames && sample.fps > 0)
		sample.demand = fmin(sample.demand, span->target_fps * load / sample.fps);
	if (sample.price_per_cap_hour < 0)
		sample.price_per_cap_hour = scenario->params.price_per_cap_hour;
	if (sample.penalty_per_broken_s < 0)
		sample.penalty_per_broken_s = scenario->params.penalty_per_broken_s;
	return sample;
}

struct summing {
	struct account account;
	struct account_vgpu *vgpus;
	size_t *points; /* index of the next point of the trace of each span */
	struct account_sample samples[RECORDING_SPANS_MAX];
	struct account_vgpu *present[RECORDING_SPANS_MAX];
};

static void sum_tick(struct recording *recording, const struct scenario *scenario, size_t tick,
		     struct summing *sum, struct experiment_summary *summary)
{
	double dt_s = (double)recording->ticks[tick].dt_s, util = 0;
	int n = 0;

	for (int i = 0; i < recording->n_spans; i++) {
		const struct recording_span *span = &recording->spans[i];
		size_t at = tick - span->first;

		if (tick < span->first || at >= span->n_cells)
			continue;
		sum->samples[n] = sample_of(recording, scenario, span, &span->cells[at],
					    trace_point_at(span->trace, sum->points[i]++));
		util += sum->samples[n].load;
		sum->present[n++] = &sum->vgpus[i];
		summary->cap_moves +=
			at > 0 && span->cells[at].cap_pct != span->cells[at - 1].cap_pct;
	}
	account_period(&sum->account, dt_s, util, sum->samples, sum->present, n);
}

void recording_summarize(struct recording *recording, const struct scenario *scenario,
			 struct experiment_summary *ret_summary)
{
	struct summing *sum = xcalloc(1, sizeof(*sum));
	struct experiment_summary summary = {0};

	sum->vgpus = xcalloc((size_t)recording->n_spans + 1, sizeof(*sum->vgpus));
	sum->points = xcalloc((size_t)recording->n_spans + 1, sizeof(*sum->points));
	account_init(&sum->account, recording->facts.seconds);
	for (size_t i = 0; i < recording->n_ticks; i++)
		if (recording->ticks[i].dt_s > 0)
			sum_tick(recording, scenario, i, sum, &summary);
	account_summarize(&sum->account, sum->vgpus, recording->n_spans, &summary.account);
	for (int i = 0; i < recording->n_spans; i++)
		summary.left += recording->spans[i].end_s < recording->facts.seconds;
	summary.cap_moves_per_min = summary.cap_moves / (recording->facts.seconds / S_PER_MIN);
	*ret_summary = summary;
	free(sum->vgpus);
	free(sum->points);
	free(sum);
}

/* gap=hold: each demand lasts until the next one, so periods may have any length. */
#define WORKLOAD "trace:file=recorded,gap=hold"

struct recording_newcomers {
	struct newcomer {
		int contract_pct; /* contract of the recorded vGPU */
		bool draws;
		struct trace *trace; /* recorded trace, rotated to start at a random point */
	} kinds[RECORDING_NEWCOMERS];
	int n;
};

static struct scenario_tenant *add_tenant(struct scenario *scenario, const char *kind)
{
	char name[SCENARIO_NAME_MAX];

	snprintf(name, sizeof(name), "%s%d", kind, scenario->n_tenants + 1);
	return scenario_add_tenant(scenario, name);
}

static int play(struct scenario_tenant *tenant, const char *text, const struct trace *trace,
		struct err *reterr)
{
	snprintf(tenant->workload_text, sizeof(tenant->workload_text), "%s", text);
	return workload_from_trace(text, trace, &tenant->workload, reterr);
}

/* --- recorded tenants --- */

/*
 * Returns the index of the flavor with the prices of @terms. Adds this flavor if it does not exist.
 * Returns -1 if @terms uses the prices of [price].
 */
static int find_prices(struct scenario *scenario, const struct recording_terms *terms)
{
	struct scenario_flavor *flavor = scenario->flavors;
	int n = scenario->n_flavors;

	if (terms->price_per_cap_hour < 0)
		return -1;
	for (int i = 0; i < n; i++)
		if (fabs(flavor[i].price_per_cap_hour - terms->price_per_cap_hour) <= 0 &&
		    fabs(flavor[i].penalty_per_broken_s - terms->penalty_per_broken_s) <= 0)
			return i;
	if (n == SCENARIO_FLAVORS_MAX)
		return -1;
	flavor[n] = (struct scenario_flavor){
		.cap_pct = 50,
		.price_per_cap_hour = terms->price_per_cap_hour,
		.penalty_per_broken_s = terms->penalty_per_broken_s,
	};
	snprintf(flavor[n].name, sizeof(flavor[n].name), "prices%d", n + 1);
	return scenario->n_flavors++;
}

static int add_span(const struct recording *recording, const struct recording_span *span,
		    struct scenario *scenario, struct err *reterr)
{
	const struct recording_terms *terms = &recording->vgpus[span->vgpu].terms;
	struct scenario_tenant *tenant = add_tenant(scenario, "recorded");

	tenant->flavor = find_prices(scenario, terms);
	tenant->contract_pct = span->contract_pct;
	tenant->min_cap_pct =
		terms->min_cap_pct < span->contract_pct ? terms->min_cap_pct : span->contract_pct;
	tenant->target_fps = span->target_fps;
	tenant->weight = terms->weight;
	tenant->burst = terms->burst;
	tenant->waits = true;
	tenant->arrive_s = span->begin_s;
	if (span->begin_s <= 0)
		tenant->start_cap_pct = span->cells[0].cap_pct;
	if (span->end_s < recording->facts.seconds)
		tenant->stay_s = span->end_s - span->begin_s;
	return play(tenant, WORKLOAD, span->trace, reterr);
}

int recording_tenants(const struct recording *recording, struct scenario *scenario,
		      struct err *reterr)
{
	int r = 0;

	scenario->seconds = (int)recording->facts.seconds;
	scenario->period_ms = (int)lround(1000 * recording->facts.period_s);
	for (int i = 0; r == 0 && i < recording->n_spans; i++)
		r = add_span(recording, &recording->spans[i], scenario, reterr);
	return r;
}

/* --- newcomers --- */

/*
 * Selects a random second of all spans, and returns the span of that second. Longer spans are
 * selected more often.
 */
static const struct recording_span *find_point(const struct recording *recording, uint64_t random,
					       size_t *ret_point)
{
	const struct recording_span *span = recording->spans;
	uint64_t at, all = trace_count(span->trace);

	for (int i = 1; i < recording->n_spans; i++)
		all += trace_count(recording->spans[i].trace);
	for (at = random % all; at >= trace_count(span->trace); span++)
		at -= trace_count(span->trace);
	*ret_point = (size_t)at;
	return span;
}

/*
 * Creates a trace that starts with point @first of @trace and ends with the points before @first.
 */
static int rotate(const struct trace *trace, size_t first, struct trace **ret_trace,
		  struct err *reterr)
{
	size_t n = trace_count(trace);
	struct trace_point *points = xcalloc(n, sizeof(*points));
	double t_s = 0;
	int r;

	for (size_t i = 0; i < n; i++) {
		size_t at = (first + i) % n;
		double end_s = at + 1 < n ? trace_point_at(trace, at + 1).t_s : trace_end_s(trace);

		points[i] = trace_point_at(trace, at);
		end_s -= points[i].t_s;
		points[i].t_s = t_s;
		t_s += end_s;
	}
	r = trace_new(points, n, ret_trace, reterr);
	free(points);
	return r;
}

int recording_newcomers_new(const struct recording *recording, uint64_t seed,
			    struct recording_newcomers **ret_newcomers, struct err *reterr)
{
	struct recording_newcomers *newcomers = xcalloc(1, sizeof(*newcomers));
	int r = 0;

	while (r == 0 && newcomers->n < RECORDING_NEWCOMERS) {
		struct newcomer *kind = &newcomers->kinds[newcomers->n];
		size_t point;
		const struct recording_span *span =
			find_point(recording, random_next(&seed), &point);

		kind->contract_pct = span->contract_pct;
		kind->draws = trace_has_frames(span->trace);
		r = rotate(span->trace, point, &kind->trace, reterr);
		newcomers->n += r == 0;
	}
	if (r < 0) {
		recording_newcomers_free(newcomers);
		return r;
	}
	*ret_newcomers = newcomers;
	return 0;
}

struct recording_newcomers *recording_newcomers_free(struct recording_newcomers *newcomers)
{
	for (int i = 0; newcomers && i < newcomers->n; i++)
		trace_free(newcomers->kinds[i].trace);
	free(newcomers);
	return NULL;
}

int recording_newcomers_add(const struct recording_newcomers *newcomers, struct scenario *scenario,
			    struct err *reterr)
{
	int r = 0;

	for (int i = 0; r == 0 && i < newcomers->n; i++) {
		const struct newcomer *kind = &newcomers->kinds[i];
		double scale = (double)scenario->flavor_cap_pct / kind->contract_pct;
		struct scenario_tenant *tenant = add_tenant(scenario, "newcomer");
		char text[96];

		snprintf(text, sizeof(text), WORKLOAD ",loop=on,scale=%.6g",
			 kind->draws ? 1 : scale);
		r = play(tenant, text, kind->trace, reterr);
	}
	return r;
}
