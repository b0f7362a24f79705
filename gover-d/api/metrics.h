/* SPDX-License-Identifier: MIT */
/* GET /metrics: the state of the daemon as Prometheus text or OpenMetrics. */
#ifndef GOVER_D_API_METRICS_H
#define GOVER_D_API_METRICS_H

#include "gover-d/api/request.h"
#include "gover-d/manager/view.h"
#include "gover-d/model/decisions.h"

enum metrics_format { METRICS_TEXT, METRICS_OPEN };

/*
 * Returns OpenMetrics if the header @accept names it, and not before text/plain. Scrapers name the
 * format that they prefer first. @accept NULL: text.
 */
enum metrics_format metrics_format_choose(const char *accept);
const char *metrics_format_type(enum metrics_format format); /* value of the header Content-Type */

/* Values that the api provides for metrics. */
struct metrics_source {
	enum metrics_format format;
	const uint64_t *decision_counts; /* by kind since the start of the daemon */
	const struct metrics_route {
		/* requests that match no route have method "other" and route "none" */
		const char *method, *route;
		struct api_counter counter;
	} * routes;
	size_t n_routes;
	int64_t tls_expires_s; /* expiry of the TLS certificate, unix time; 0: no TLS */
};

/*
 * Median and 99th percentile of the time from the scheduled start of a tick to its last cap write,
 * over the newest ticks; NAN: no tick yet.
 */
struct metrics_tick {
	double p50_us, p99_us;
};
struct metrics_tick metrics_tick(const struct host *host);

/* Returns the text (from malloc). */
char *metrics_write(const struct view *view, const struct metrics_source *source);

#endif
