/* SPDX-License-Identifier: MIT */
/*
 * Metrics that name flavours. gover_vgpu_info has the flavour and the owner of each vGPU, so that
 * its other metrics need no labels for them: Prometheus joins both.
 */
#ifndef GOVER_D_API_METRICS_FLAVORS_H
#define GOVER_D_API_METRICS_FLAVORS_H

#include "gover-d/api/metrics-format.h"
#include "gover-d/core/view.h"

void metrics_flavors_write(const struct metrics_out *out, const struct view *view);

#endif
