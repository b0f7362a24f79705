/* SPDX-License-Identifier: MIT */
/* Estimates the demand of recorded tenants. Internal to recording-*.c. */
#ifndef SIM_EXPERIMENT_RECORDING_DEMAND_H
#define SIM_EXPERIMENT_RECORDING_DEMAND_H

#include "sim/experiment/recording-data.h"

/* Returns the highest cap that the tenant of @span may get. */
int recording_ceiling_pct(const struct recording *recording, const struct recording_span *span);

/* Returns true if the cap may have limited the load in cell @at of @span. */
bool recording_is_censored(const struct recording *recording, const struct recording_span *span,
			   size_t at);

/* Adds all cells that are not censored to the histogram of their vGPU. */
void recording_build_histograms(struct recording *recording);

/* Creates the trace of @span. Adds the number of seconds with an estimated demand to the facts of
 * @recording. */
int recording_make_trace(struct recording *recording, struct recording_span *span,
			 struct err *reterr);

#endif
