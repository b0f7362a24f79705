/* SPDX-License-Identifier: MIT */
/*
 * A policy on experiment: a scenario played in virtual time. Each period the GPU runs on, the
 * counters are read, the policy decides upon what the daemon would see, and its decisions are
 * carried out as the daemon does: caps, offers, sales on probation, leavers' shares. Same scenario,
 * policy, parameters and seed: same experiment, to the last bit. What tenants do hangs on the seed
 * and on who came as the how-manieth, never on the policy.
 *
 * Must never let a policy see what a daemon could not.
 */
#ifndef SIM_EXPERIMENT_EXPERIMENT_H
#define SIM_EXPERIMENT_EXPERIMENT_H

#include "base/id.h"
#include "sim/experiment/account.h"
#include "sim/experiment/scenario.h"

#define EXPERIMENT_VGPUS_MAX 1024 /* in one experiment, one after the other */

struct experiment;

/* A vGPU that is or was there; read only. */
struct experiment_vgpu {
	char id[ID_MAX];
	const struct scenario_tenant *kind;
	struct policy_terms terms;
	int cap_pct;		      /* from now on */
	int sampled_cap_pct;	      /* of the period that was counted last */
	struct account_sample sample; /* of that period */
	double came_s, left_s;	      /* left_s NAN: it is there */
};

/* What happened; everything lives until told() returns. */
struct experiment_event {
	double t_s;
	const char *kind; /* of a decision, or sold, kept, failed, closed, refused, left */
	const char *vgpu; /* "" : nobody's */
	const char *donor;
	const char *why;			/* a sentence */
	const struct policy_decision *decision; /* NULL: none of a policy's */
	const struct policy_out *out;		/* its moves, of the vGPUs in: */
	const struct policy_gpu *gpu;
};

/* Who looks on, and who takes a part of the decisions into its own hands. All may be NULL. */
struct experiment_hooks {
	void *userdata;
	void (*on_event)(void *userdata, const struct experiment_event *event);
	/* In place of policy->step. */
	void (*step)(void *userdata, const struct experiment *experiment,
		     const struct policy_params *params, struct policy_gpu *gpu,
		     struct policy_out *out);
	/* In place of policy->fund. */
	int (*fund)(void *userdata, const struct experiment *experiment,
		    const struct policy_params *params, struct policy_gpu *gpu,
		    const struct policy_terms *terms, struct policy_out *out);
	/* Whether to offer one more now. Asked in each period in which an offer can be made, after
	 * the step, which has @offers: the policy itself would. */
	bool (*admit)(void *userdata, const struct experiment *experiment, bool offers);
};

struct experiment_summary {
	struct account_summary account;
	int offers, sales, kept, failed, closed, refused, left;
	int cap_moves;
	double cap_moves_per_min;
	double severe_s; /* in severe overload */
};

/*
 * An experiment of @policy at time 0, with those there who are there from the start. @params NULL:
 * the scenario's. @scenario must outlive it; @hooks are copied, NULL: none. -ENOMEM, -EINVAL.
 */
int experiment_new(const struct scenario *scenario, const struct policy *policy,
		   const struct policy_params *params, uint64_t seed,
		   const struct experiment_hooks *hooks, struct experiment **ret_experiment,
		   struct err *reterr);
struct experiment *experiment_free(struct experiment *experiment); /* NULL is fine; returns NULL */

/* One period. True as long as there is another. */
bool experiment_step(struct experiment *experiment);

/* What it came to so far. */
void experiment_summarize(const struct experiment *experiment,
			  struct experiment_summary *ret_summary);

double experiment_now_s(const struct experiment *experiment);
double experiment_util(
	const struct experiment *experiment); /* of the last period, fraction of the GPU */

/* Who was there in the last period; NULL past the end. */
const struct experiment_vgpu *experiment_current_vgpu_at(const struct experiment *experiment,
							 int index);

/* All there ever were, in the order they came, with what they come to; NULL past the end. */
const struct experiment_vgpu *experiment_vgpu_at(const struct experiment *experiment, int index,
						 const struct account_vgpu **ret_account);

/* What the policy saw and said in the last period. */
const struct policy_gpu *experiment_gpu(const struct experiment *experiment);

#endif
