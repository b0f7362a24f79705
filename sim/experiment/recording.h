/* SPDX-License-Identifier: MIT */
/*
 * A recording of one GPU, to be replayed. The rows become the tenants of a scenario with the same
 * demand. Demand above a cap cannot be measured, so it is estimated. Times without
 * data are cut out and counted. They must not be replayed as idle time.
 */
#ifndef SIM_EXPERIMENT_RECORDING_H
#define SIM_EXPERIMENT_RECORDING_H

#include "base/id.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/scenario.h"

#define RECORDING_NEWCOMERS 16 /* maximum number of kinds of newcomers */
#define RECORDING_SPANS_MAX (SCENARIO_TENANTS_MAX - RECORDING_NEWCOMERS)
#define RECORDING_VGPUS_MAX 4096
#define RECORDING_TICKS_MAX 10000000

struct recording;

/* One vGPU in one period. NAN: the value is not valid. */
struct recording_row {
	int64_t at_ms; /* time of the tick, the same for all vGPUs */
	double dt_s;   /* length of the period; 0: first period after a start of the daemon */
	int cap_pct, contract_pct;
	double load_pct, util_pct, fps, target_fps;
	bool broken; /* as recorded */
};

/* Terms of a vGPU that are not in the rows. */
struct recording_terms {
	int min_cap_pct;
	double weight;
	bool burst;
	double price_per_cap_hour, penalty_per_broken_s; /* negative: the prices of [price] */
};

struct recording_facts {
	double seconds;	 /* length of the replayed time */
	double period_s; /* median */
	int gaps;	 /* number of gaps cut out of the replayed time */
	double gap_s;	 /* total length of the gaps */
	int vgpus;
	int spans; /* a span: a time in which a vGPU exists and keeps its contract */
	double vgpu_s;
	double censored_s; /* part of vgpu_s in which demand above the cap is estimated */
	/* part of vgpu_s without readings, in which the last estimate is repeated */
	double unknown_s;
	double fps_missing_s; /* part of vgpu_s in which a missing frame rate is estimated */
	double broken_s;      /* as recorded */
};

struct recording *recording_new(void);
struct recording *recording_free(struct recording *recording); /* accepts NULL; returns NULL */

/*
 * Returns the number of the vGPU @id. Adds a vGPU with this id if none exists. -EINVAL, -E2BIG.
 */
int recording_vgpu(struct recording *recording, const char *id);
void recording_set_terms(struct recording *recording, int vgpu,
			 const struct recording_terms *terms);

/* Adds a row. Rows must be in order of time. -EINVAL, -E2BIG. */
int recording_add(struct recording *recording, int vgpu, const struct recording_row *row,
		  struct err *reterr);

/*
 * Estimates the demand. Call this function after the last row. -ENODATA: the recording is too
 * short. -E2BIG: the recording has more spans than a scenario can have tenants.
 */
int recording_finish(struct recording *recording, struct err *reterr);

struct recording_facts recording_facts(const struct recording *recording);

/*
 * Summarizes the recorded run, with the prices of @scenario. The only counts that a recording
 * contains are the cap moves and the tenants that left.
 */
void recording_summarize(struct recording *recording, const struct scenario *scenario,
			 struct experiment_summary *ret_summary);

/*
 * Adds the recorded vGPUs to @scenario as tenants, with their times and contracts, and sets the
 * length and period of @scenario. @scenario must have no tenants. @recording must outlive
 * @scenario.
 */
int recording_tenants(const struct recording *recording, struct scenario *scenario,
		      struct err *reterr);

/*
 * Adds tenants that take offers, with the offered contract. @seed selects a random recorded vGPU
 * for each tenant. The tenant has the demand of this vGPU. Demand without frames is multiplied by
 * the ratio of the offered contract to the recorded contract. *@ret_newcomers must outlive
 * @scenario.
 */
struct recording_newcomers;
int recording_newcomers_new(const struct recording *recording, uint64_t seed,
			    struct recording_newcomers **ret_newcomers, struct err *reterr);
struct recording_newcomers *recording_newcomers_free(struct recording_newcomers *newcomers);
int recording_newcomers_add(const struct recording_newcomers *newcomers, struct scenario *scenario,
			    struct err *reterr);

/*
 * Returns the id of the recorded vGPU that became tenant number @tenant; NULL: the tenant is a
 * newcomer.
 */
const char *recording_id(const struct recording *recording, int tenant);

#endif
