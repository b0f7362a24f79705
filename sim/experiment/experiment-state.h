/* SPDX-License-Identifier: MIT */
/* The state of an experiment, for the other files of this folder. */
#ifndef SIM_EXPERIMENT_EXPERIMENT_STATE_H
#define SIM_EXPERIMENT_EXPERIMENT_STATE_H

#include "policy/offer.h"
#include "sim/experiment/experiment.h"
#include "sim/model/sim.h"

/* A vGPU, with the state that experiment.h does not show. */
struct tenant {
	struct experiment_vgpu vgpu;
	struct policy_track track;
	struct sim_vgpu *sim;
	/* A second GPU that runs only this program, to measure its demand. Used only for
	 * renderers without a target frame rate; otherwise NULL. */
	struct sim *alone;
	struct sim_vgpu *alone_vgpu;
	struct sim_counters last;
	uint64_t last_wanted_ns;
	double frame_s;	      /* last measured GPU time of a frame, seconds */
	bool primed;	      /* true: the counters were read at least once */
	struct sample sample; /* of the last period, for the policy */
	uint64_t leaves_ns;   /* time of departure; UINT64_MAX: never */
	bool moves;	      /* true: the departure is a move to another host */
	int number;	      /* number in the order of arrival */
	uint64_t draw;	      /* this number and the seed determine the demand of the tenant */
};

/* The last offer of the GPU. */
struct sale {
	struct offer_life life;
	uint64_t claim_ns;	 /* time at which a customer claims the offer */
	struct tenant *newcomer; /* NULL: the offer is not claimed yet */
};

struct arrival {
	uint64_t at_ns;
	int kind;
	bool waits; /* the tenant did not fit at its arrival time and waits for capacity */
};

struct experiment {
	const struct scenario *scenario;
	const struct policy *policy;
	struct policy_params params;
	uint64_t seed;
	struct experiment_hooks hooks;
	struct sim *sim;
	uint64_t now_ns, end_ns, period_ns, last_busy_ns;
	double util;
	struct policy_gpu gpu;
	struct policy_vgpu views[POLICY_VGPUS_MAX];
	struct tenant *present[POLICY_VGPUS_MAX]; /* same order as views[] */
	int n_present;
	struct tenant *sampled[POLICY_VGPUS_MAX]; /* the vGPUs of the last period */
	int n_sampled;
	struct policy_out out;
	struct account_sample samples[POLICY_VGPUS_MAX];
	struct account_vgpu *accounted[POLICY_VGPUS_MAX];
	struct account account;
	struct account_vgpu accounts[EXPERIMENT_VGPUS_MAX];
	struct tenant tenants[EXPERIMENT_VGPUS_MAX];
	int n_tenants;
	struct sale sale;
	int *bag; /* one element per tenant that can take an offer: its kind */
	int n_bag, n_drawn;
	struct arrival *arrivals; /* tenants with an arrival time, sorted by this time */
	int n_arrivals, n_arrived, n_waiting;
	int n_taken; /* vGPUs that other hosts have accepted, including those that still leave */
	struct experiment_summary counts;
};

/* Returns the workload of tenant number @draw, with the random seed of this tenant. */
struct workload tenants_workload(const struct scenario_tenant *kind, uint64_t seed, uint64_t draw);

/*
 * Returns the kind of tenant number @number of those that take offers, counted from 0. Tenants that
 * are present from the start have the first numbers. The number must be below n_bag, unless tenants
 * are drawn independently.
 */
const struct scenario_tenant *tenants_kind(const struct experiment *experiment, int number);

/*
 * Returns the kind of the tenant that takes the next offer. Call this function only if
 * another tenant can take an offer.
 */
const struct scenario_tenant *tenants_next(const struct experiment *experiment);

#endif
