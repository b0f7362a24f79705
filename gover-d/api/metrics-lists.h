/* SPDX-License-Identifier: MIT */
/* Metrics with labels of their own: alerts, offers, decisions, hooks, requests. */
#ifndef GOVER_D_API_METRICS_LISTS_H
#define GOVER_D_API_METRICS_LISTS_H

#include "gover-d/api/metrics-format.h"
#include "gover-d/api/metrics.h"

void metrics_lists_write(const struct metrics_out *out, const struct view *view,
			 const struct metrics_source *source);

#endif
