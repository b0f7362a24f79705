/* SPDX-License-Identifier: MIT */
/* GET /metrics: the state of the daemon as Prometheus text or OpenMetrics. */
#ifndef GOVER_D_API_METRICS_H
#define GOVER_D_API_METRICS_H

#include "gover-d/api/metrics-format.h"
#include "gover-d/api/request.h"
#include "gover-d/core/view.h"
#include "gover-d/model/decisions.h"

/* Decisions by kind since the start of the daemon. */
struct metrics_tally {
	int64_t last_id; /* the last counted one */
	uint64_t counts[DECISION_KINDS];
};

/* Starts counting: decisions recorded before are not counted. */
void metrics_tally_begin(struct metrics_tally *tally, const struct decisions *decisions);
/* Counts decisions since the last call. */
void metrics_tally_decisions(struct metrics_tally *tally, const struct decisions *decisions);

/* Median and 99th percentile of the newest ticks in us; NAN: no tick yet. */
struct metrics_tick {
	double p50_us, p99_us;
};
struct metrics_tick metrics_tick(const struct host *host);

/* Values of the API itself. */
struct metrics_source {
	enum metrics_format format;
	const struct metrics_tally *tally;
	const struct metrics_route {
		const char *method, *route; /* "other", "none": requests without a route */
		const struct api_counter *counter;
	} * routes;
	size_t n_routes;
	int64_t tls_expires_s; /* unix time; 0: TCP is not encrypted */
};

/* Returns the text (from malloc); NULL: no memory. */
char *metrics_write(const struct view *view, const struct metrics_source *source);

#endif
