/* SPDX-License-Identifier: MIT */
/* What the files of a trial share. For nobody else. */
#ifndef SIM_EXPERIMENT_INTERNAL_H
#define SIM_EXPERIMENT_INTERNAL_H

#include "sim/model/sim.h"
#include "sim/experiment/trial.h"

/* A vGPU with what only the trial knows of it. */
struct member {
	struct trial_vgpu vgpu;
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

enum sale_state { SALE_NONE, SALE_OPEN, SALE_PROBATION, SALE_FAILED };

/* The one offer that a GPU may have alive. */
struct sale {
	enum sale_state state;
	uint64_t claim_ns; /* when a customer comes, or came */
	struct member *newcomer;
	uint64_t probation_ends_ns;
	double watched_s, broken_s;
	int severe_run;
};

struct arrival {
	uint64_t at_ns;
	int tenant;
	bool waits; /* its time has come, and there was no room */
};

struct trial {
	const struct scenario *scenario;
	const struct policy *policy;
	struct policy_params params;
	uint64_t seed;
	struct trial_hooks hooks;
	struct sim *sim;
	uint64_t now_ns, end_ns, period_ns, last_busy_ns;
	double util;
	struct policy_gpu gpu;
	struct policy_vgpu views[POLICY_VGPUS_MAX];
	struct member *there[POLICY_VGPUS_MAX]; /* as views[] */
	int n_there;
	struct member *sampled[POLICY_VGPUS_MAX]; /* who was there in the last period */
	int n_sampled;
	struct policy_out out;
	struct account_sample samples[POLICY_VGPUS_MAX];
	struct account_vgpu *accounted[POLICY_VGPUS_MAX];
	struct account account;
	struct account_vgpu accounts[TRIAL_VGPUS_EVER];
	struct member members[TRIAL_VGPUS_EVER];
	int n_members;
	struct sale sale;
	int *bag; /* kinds to draw from, one for each that can come */
	int n_bag, n_drawn;
	struct arrival *arrivals; /* those with a time of their own, by it */
	int n_arrivals, n_arrived, n_waiting;
	struct trial_summary counts;
};

/* --- members.c: who comes and goes --- */

/* What is drawn, and who comes at a time of its own. -ENOMEM, -EINVAL. */
int members_init(struct trial *trial, struct err *reterr);
void members_fini(struct trial *trial);

/* Those there from the start, each with its part of 100 percent. */
int members_start(struct trial *trial, struct err *reterr);

/* What the program of the @draw-th to come does. */
struct workload members_workload(const struct scenario_tenant *tenant, uint64_t seed,
				 uint64_t draw);

/* Who would come next; its draw is trial->n_drawn. Only where members_waiting(). */
const struct scenario_tenant *members_next(const struct trial *trial);

/* Whether there is one more who waits for an offer. */
bool members_waiting(const struct trial *trial);

/* The next of them comes, if it can be funded. NULL: it cannot, and waits on. */
struct member *members_draw(struct trial *trial);

/* Those whose time has come, or is over. */
void members_pass(struct trial *trial);

/* --- sale.c: the life of an offer --- */

void sale_open(struct trial *trial);
/* After the step of each period. */
void sale_pass(struct trial *trial);
void sale_left(struct trial *trial, const struct member *member);

/* --- trial.c --- */

/* The GPU as it is now, into trial->gpu. */
void trial_view(struct trial *trial);
/* Carries out and tells what is in trial->out. */
void trial_apply(struct trial *trial);
/* As the policy, or who took it over, funds a newcomer of @terms. */
int trial_fund(struct trial *trial, const struct policy_params *params,
	       const struct policy_terms *terms);
void trial_tell(struct trial *trial, const char *kind, const char *vgpu, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
int trial_sum_cap_pct(const struct trial *trial);

#endif
