/* SPDX-License-Identifier: MIT */
/* Metrics of vGPUs. */
#ifndef GOVER_D_API_METRICS_VGPUS_H
#define GOVER_D_API_METRICS_VGPUS_H

#include "gover-d/api/metrics-format.h"
#include "gover-d/model/host.h"

void metrics_vgpus_write(const struct metrics_out *out, const struct host *host);

#endif
