/* SPDX-License-Identifier: MIT */
/*
 * Creates the tenants of a scenario from a recording: the recorded tenants, and newcomers that take
 * offers.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "sim/experiment/recording-data.h"
#include "sim/model/random.h"

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
