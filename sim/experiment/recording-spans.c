/* SPDX-License-Identifier: MIT */
/*
 * Creates spans from rows. A span is a time in which a vGPU exists without interruption and keeps
 * its contract. Replayed time is the sequence of measured periods. A period is cut out of replayed
 * time if it has no valid reading, is the first period after a start of the daemon, or is longer
 * than GAP_PERIODS times the median period.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "sim/experiment/recording-data.h"

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

/* Ends a span at its last valid reading. */
static void trim(struct recording_span *span)
{
	while (span->n_cells > 0 && isnan(span->cells[span->n_cells - 1].load_pct))
		span->n_cells--;
}

/* Sets the replayed begin and end of @span. Returns false if the replayed span is empty. */
static bool place(const double *known_s, struct recording_span *span)
{
	span->begin_s = known_s[span->first];
	span->end_s = known_s[span->first + span->n_cells];
	return span->end_s > span->begin_s;
}

static int place_spans(struct recording *recording, struct err *reterr)
{
	CLEANUP_FREE double *known_s = xcalloc(recording->n_ticks + 1, sizeof(*known_s));
	int kept = 0;

	for (size_t i = 0; i < recording->n_ticks; i++)
		known_s[i + 1] = known_s[i] + (double)recording->ticks[i].dt_s;
	for (int i = 0; i < recording->n_spans; i++) {
		struct recording_span *span = &recording->spans[i];

		trim(span);
		if (place(known_s, span))
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
	recording_build_histograms(recording);
	for (int i = 0; r == 0 && i < recording->n_spans; i++)
		r = recording_make_trace(recording, &recording->spans[i], reterr);
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
