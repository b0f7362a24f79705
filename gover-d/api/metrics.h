/* SPDX-License-Identifier: MIT */
/* GET /metrics: the state of the daemon as Prometheus text or OpenMetrics. */
#ifndef GOVER_D_API_METRICS_H
#define GOVER_D_API_METRICS_H

#include "gover-d/api/metrics-lists.h"
#include "gover-d/model/host.h"

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
