/* SPDX-License-Identifier: MIT */
/*
 * The state of an experiment, and the functions that apply decisions of its policy. Internal to
 * this folder.
 */
#ifndef SIM_EXPERIMENT_EXPERIMENT_STATE_H
#define SIM_EXPERIMENT_EXPERIMENT_STATE_H

#include "policy/offer.h"
#include "sim/model/sim.h"
#include "sim/experiment/experiment.h"

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
	double frame_s; /* last measured GPU time of a frame, seconds */
	bool primed;	/* true: the counters were read at least once */
	bool busy_valid, fps_valid;
	uint64_t leaves_ns; /* time of departure; UINT64_MAX: never */
	bool moves;	    /* true: the departure is a move to another host */
	int number;	    /* number in the order of arrival */
	uint64_t draw;	    /* this number and the seed determine the demand of the tenant */
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

/* Returns whether another tenant can take an offer. */
bool experiment_has_tenants(const struct experiment *experiment);

/* Copies the current state into experiment->gpu, the input of the policy. */
void experiment_build_view(struct experiment *experiment);
/* Applies the decisions in experiment->out and reports them as events. */
void experiment_apply(struct experiment *experiment);
/* Asks the fund hook, or the policy, for the cap of a newcomer with @terms. -ENOSPC. */
int experiment_fund(struct experiment *experiment, const struct policy_params *params,
		    const struct policy_terms *terms);
void experiment_emit(struct experiment *experiment, const char *kind, const char *vgpu,
		     const char *format, ...) __attribute__((format(printf, 4, 5)));
int experiment_sum_cap_pct(const struct experiment *experiment);

/* Opens an offer after the policy decided to make an offer. */
void sale_open(struct experiment *experiment);
/* Updates the offer: open, claimed, on probation, kept or failed. Runs after the step of each
 * period. */
void sale_update(struct experiment *experiment);

#endif
