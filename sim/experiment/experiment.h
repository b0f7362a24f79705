/* SPDX-License-Identifier: MIT */
/*
 * An experiment: a policy controls the tenants of a scenario in virtual time. In each period the
 * simulated GPU runs, the counters are read, and the policy decides. Decisions on caps, offers,
 * probations and the capacity of removed vGPUs are applied as in the daemon. The policy gets only
 * the values that it gets in the daemon.
 *
 * The results depend only on scenario, policy, parameters and seed. The demand of a tenant depends
 * on the seed and on the number of the tenant in the order of arrival, but not on the policy.
 */
#ifndef SIM_EXPERIMENT_EXPERIMENT_H
#define SIM_EXPERIMENT_EXPERIMENT_H

#include "base/id.h"
#include "sim/experiment/account.h"
#include "sim/experiment/scenario.h"

/* maximum number of vGPUs in one experiment, including removed vGPUs */
#define EXPERIMENT_VGPUS_MAX SCENARIO_MOVES_MAX

struct experiment;

/* A present or former vGPU. Read only. */
struct experiment_vgpu {
	char id[ID_MAX];
	const struct scenario_tenant *kind;
	struct policy_terms terms;
	int cap_pct;		      /* cap for the next period */
	int sampled_cap_pct;	      /* cap in the last period */
	struct account_sample sample; /* measured values of the last period */
	double came_s;		      /* time of arrival */
	double left_s;		      /* time of departure; NAN: still present */
	bool moved;		      /* true: it left for another host */
};

/* An event of an experiment. The pointers are valid until on_event() returns. */
struct experiment_event {
	double t_s;
	/* kind of a decision, or "sold", "kept", "failed", "closed", "refused", "left" */
	const char *kind;
	const char *vgpu; /* "": none */
	const char *donor;
	const char *why;			/* text */
	const struct policy_decision *decision; /* NULL: the event is not a decision of a policy */
	/* output of the policy, with the moves of the decision */
	const struct policy_out *out;
	/* input of the policy; the moves refer to its vGPUs */
	const struct policy_gpu *gpu;
};

/* Observes an experiment, or replaces parts of its policy. Each function may be NULL. */
struct experiment_hooks {
	void *userdata;
	void (*on_event)(void *userdata, const struct experiment_event *event);
	/* Replaces step() of the policy, which runs in each period. */
	void (*step)(void *userdata, const struct experiment *experiment,
		     const struct policy_params *params, struct policy_gpu *gpu,
		     struct policy_out *out);
	/* Replaces fund() of the policy, which runs for each newcomer. */
	int (*fund)(void *userdata, const struct experiment *experiment,
		    const struct policy_params *params, struct policy_gpu *gpu,
		    const struct policy_terms *terms, struct policy_out *out);
	/* Returns true to make an offer now. Runs after the step() of the policy, in each period
	 * in which an offer is possible. @offers: true if the policy decided to make an offer. */
	bool (*admit)(void *userdata, const struct experiment *experiment, bool offers);
};

struct experiment_summary {
	struct account_summary account;
	int offers, sales, kept, failed, closed, refused, left;
	int cap_moves;
	double cap_moves_per_min;
	double severe_s; /* time of severe overload, seconds */
	/* Median of the times that vGPUs stayed on the GPU. A vGPU that is still present has stayed
	 * until now. 0: no vGPU. */
	double stay_median_s;
};

/*
 * Creates an experiment at time 0, with the tenants that are present from the start. @hooks may be
 * NULL, and is copied. @scenario must outlive the experiment. -EINVAL.
 */
int experiment_new(const struct scenario *scenario, const struct policy *policy, uint64_t seed,
		   const struct experiment_hooks *hooks, struct experiment **ret_experiment,
		   struct err *reterr);
struct experiment *experiment_free(struct experiment *experiment); /* accepts NULL; returns NULL */

/* Runs one period. Returns false at the end of the experiment. */
bool experiment_step(struct experiment *experiment);

/* Summarizes all periods that have run. */
void experiment_summarize(const struct experiment *experiment,
			  struct experiment_summary *ret_summary);

/* Runs the remaining periods, summarizes all periods and frees @experiment. */
void experiment_finish(struct experiment *experiment, struct experiment_summary *ret_summary);

double experiment_now_s(const struct experiment *experiment);
/* Returns the busy fraction of the GPU in the last period. */
double experiment_util(const struct experiment *experiment);

/* Returns vGPU number @index of the last period; NULL past the last vGPU. */
const struct experiment_vgpu *experiment_current_vgpu_at(const struct experiment *experiment,
							 int index);

/*
 * Returns vGPU number @index in the order of arrival, including removed vGPUs; NULL past the last
 * vGPU. *@ret_account: the account of the vGPU; @ret_account may be NULL.
 */
const struct experiment_vgpu *experiment_vgpu_at(const struct experiment *experiment, int index,
						 const struct account_vgpu **ret_account);

#endif
