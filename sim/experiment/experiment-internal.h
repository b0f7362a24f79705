/* SPDX-License-Identifier: MIT */
/* What the files of an experiment share. For nobody else. */
#ifndef SIM_EXPERIMENT_EXPERIMENT_INTERNAL_H
#define SIM_EXPERIMENT_EXPERIMENT_INTERNAL_H

#include "policy/offer.h"
#include "sim/model/sim.h"
#include "sim/experiment/experiment.h"

/* A vGPU with what only the experiment knows of it. */
struct tenant {
	struct experiment_vgpu vgpu;
	struct policy_track track;
	struct sim_vgpu *sim;
	/* The same program alone on a GPU: what a renderer without a promise would draw. NULL: one
	 * with a promise, or that draws nothing, or was recorded. */
	struct sim *alone;
	struct sim_vgpu *alone_vgpu;
	struct sim_counters last;
	uint64_t last_wanted_ns;
	double frame_s; /* GPU time of a frame, as last seen */
	bool primed, busy_valid, fps_valid;
	uint64_t leaves_ns; /* UINT64_MAX: stays */
	int number;	    /* in the order they came */
	uint64_t draw;	    /* what it does hangs on this and the seed */
};

/* The last offer of the GPU. */
struct sale {
	struct offer_life life;
	uint64_t claim_ns;	 /* when a customer comes, or came */
	struct tenant *newcomer; /* NULL: not claimed */
};

struct arrival {
	uint64_t at_ns;
	int kind;
	bool waits; /* its time has come, and there was no room */
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
	struct tenant *present[POLICY_VGPUS_MAX]; /* as views[] */
	int n_present;
	struct tenant *sampled[POLICY_VGPUS_MAX]; /* who was there in the last period */
	int n_sampled;
	struct policy_out out;
	struct account_sample samples[POLICY_VGPUS_MAX];
	struct account_vgpu *accounted[POLICY_VGPUS_MAX];
	struct account account;
	struct account_vgpu accounts[EXPERIMENT_VGPUS_MAX];
	struct tenant tenants[EXPERIMENT_VGPUS_MAX];
	int n_tenants;
	struct sale sale;
	int *bag; /* kinds to draw from, one for each that can come */
	int n_bag, n_drawn;
	struct arrival *arrivals; /* those with a time of their own, by it */
	int n_arrivals, n_arrived, n_waiting;
	struct experiment_summary counts;
};

/* --- tenants.c: who comes and goes --- */

/* What is drawn, and who comes at a time of its own. -ENOMEM, -EINVAL. */
int tenants_init(struct experiment *experiment, struct err *reterr);
void tenants_fini(struct experiment *experiment);

/* Those there from the start, each with its part of 100 percent. */
int tenants_start(struct experiment *experiment, struct err *reterr);

/* What the program of the @draw-th to come does. */
struct workload tenants_workload(const struct scenario_tenant *kind, uint64_t seed, uint64_t draw);

/* Who would come next; its draw is experiment->n_drawn. Only where tenants_available(). */
const struct scenario_tenant *tenants_next(const struct experiment *experiment);

/* Whether there is one more who waits for an offer. */
bool tenants_available(const struct experiment *experiment);

/* The next of them comes, if it can be funded. NULL: it cannot, and waits on. */
struct tenant *tenants_admit_next(struct experiment *experiment);

/* Those whose time has come, or is over. */
void tenants_update(struct experiment *experiment);

/* --- sale.c: the life of an offer --- */

void sale_open(struct experiment *experiment);
/* After the step of each period. */
void sale_update(struct experiment *experiment);
void sale_left(struct experiment *experiment, const struct tenant *tenant);

/* --- experiment.c --- */

/* The GPU as it is now, into experiment->gpu. */
void experiment_build_view(struct experiment *experiment);
/* Carries out and tells what is in experiment->out. */
void experiment_apply(struct experiment *experiment);
/* As the policy, or who took it over, funds a newcomer of @terms. */
int experiment_fund(struct experiment *experiment, const struct policy_params *params,
		    const struct policy_terms *terms);
void experiment_emit(struct experiment *experiment, const char *kind, const char *vgpu,
		     const char *format, ...) __attribute__((format(printf, 4, 5)));
int experiment_sum_cap_pct(const struct experiment *experiment);

#endif
