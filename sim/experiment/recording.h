/* SPDX-License-Identifier: MIT */
/*
 * What was recorded of one GPU, to be played again: its rows are made into the tenants of a
 * scenario, each wanting what it wanted then. What a tenant wanted beyond its cap was never seen;
 * how it is estimated is told in recording-demand.c. Must never take a time nothing is known of for
 * a time of idleness: it is cut out, and said how much.
 */
#ifndef SIM_EXPERIMENT_RECORDING_H
#define SIM_EXPERIMENT_RECORDING_H

#include "base/id.h"
#include "sim/experiment/scenario.h"
#include "sim/experiment/experiment.h"

#define RECORDING_NEWCOMERS 16 /* kinds that are drawn from it */
#define RECORDING_SPANS_MAX (SCENARIO_TENANTS_MAX - RECORDING_NEWCOMERS)
#define RECORDING_VGPUS_MAX 4096
#define RECORDING_TICKS_MAX 10000000

struct recording;

/* One vGPU in one period. NAN: not valid then. */
struct recording_row {
	int64_t at_ms; /* of the tick; the same for all vGPUs in it */
	double dt_s;   /* how long the period was; 0: there is nothing before it */
	int cap_pct, contract_pct;
	double load_pct, util_pct, fps, target_fps;
	bool broken; /* as it was counted then */
};

/* What no row says of a vGPU. */
struct recording_terms {
	int min_cap_pct;
	double weight;
	bool burst;
	double price_per_cap_hour, penalty_per_broken_s; /* below 0: those of what is on sale */
};

/* What there is. */
struct recording_facts {
	double seconds;	  /* known, and played again */
	double period_s;  /* the usual one */
	int gaps;	  /* cut out */
	double gap_s;	  /* how long they were on the clock of the rows */
	int vgpus, spans; /* a vGPU under one contract, without a break, is a span */
	double vgpu_s;
	double censored_s;    /* of vgpu_s: demand beyond the cap estimated */
	double unknown_s;     /* no reading: what was before is taken to have gone on */
	double fps_missing_s; /* GPU time of frames nobody counted: at their usual cost */
	double broken_s;      /* as was counted then */
};

int recording_new(struct recording **ret_recording);
struct recording *recording_free(struct recording *recording); /* NULL is fine; returns NULL */

/* The number of the vGPU @id, of which there may be rows. -E2BIG, -ENOMEM. */
int recording_vgpu(struct recording *recording, const char *id);
void recording_set_terms(struct recording *recording, int vgpu,
			 const struct recording_terms *terms);

/* The rows in order of time. -EINVAL, -E2BIG, -ENOMEM. */
int recording_add(struct recording *recording, int vgpu, const struct recording_row *row,
		  struct err *reterr);

/* All rows are there: finds out what was wanted. -ENODATA: they say nothing that could be played.
 * -E2BIG: more spans than a scenario has tenants. */
int recording_finish(struct recording *recording, struct err *reterr);

struct recording_facts recording_facts(const struct recording *recording);

/* What really happened, measured as an experiment is, at the prices of @scenario. Of the counts
 * beside the account only the moves of caps and those who left are known. */
int recording_summarize(struct recording *recording, const struct scenario *scenario,
			struct experiment_summary *ret_summary);

/*
 * Those who were there as tenants of @scenario, which has none yet, at their times and under their
 * contracts; and how long it lasts. @recording must outlive it.
 */
int recording_tenants(const struct recording *recording, struct scenario *scenario,
		      struct err *reterr);

/*
 * Who comes when an offer is made, under the contract that is on sale: kinds drawn from what was
 * recorded, by @seed; without frames they want the part of their contract that it was of the
 * recorded one. *@ret_newcomers are to be kept as long as @scenario.
 */
struct recording_newcomers;
int recording_newcomers_new(const struct recording *recording, uint64_t seed,
			    struct recording_newcomers **ret_newcomers, struct err *reterr);
struct recording_newcomers *recording_newcomers_free(struct recording_newcomers *newcomers);
int recording_newcomers_add(const struct recording_newcomers *newcomers, struct scenario *scenario,
			    struct err *reterr);

/* The id of the vGPU that is @tenant of the scenario; NULL: a newcomer. */
const char *recording_id(const struct recording *recording, int tenant);

#endif
