/* SPDX-License-Identifier: MIT */
/* The demand of recorded tenants. Internal to recording-*.c. */
#ifndef SIM_EXPERIMENT_RECORDING_DEMAND_H
#define SIM_EXPERIMENT_RECORDING_DEMAND_H

#include "sim/experiment/recording-data.h"

/* Returns the highest cap that the tenant of @span may get. */
int recording_ceiling_pct(const struct recording *recording, const struct recording_span *span);

/* Returns whether the cap may have limited the tenant. */
bool recording_is_censored(const struct recording *recording, const struct recording_span *span,
			   const struct recording_cell *cell);

/* Counts the demand of all cells that are not censored. -ENOMEM. */
int recording_build_histograms(struct recording *recording);

/* Makes the trace of @span and adds the estimated times to the facts. */
int recording_make_trace(struct recording *recording, struct recording_span *span,
			 struct err *reterr);

#endif
