/* SPDX-License-Identifier: MIT */
/* The control loop of an experiment: sample, decide, apply, account. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "sched/sched.h"
#include "sim/experiment/tenants.h"

/* --- reading --- */

/* Returns the demand of @tenant since the last call, in GPU seconds. */
static double wanted_s(struct experiment *experiment, struct tenant *tenant)
{
	uint64_t wanted_ns;

	if (tenant->alone) {
		sim_advance(tenant->alone,
			    experiment->now_ns - (uint64_t)llround(tenant->vgpu.came_s * 1e9));
		wanted_ns = sim_vgpu_busy_ns(tenant->alone_vgpu);
	} else {
		wanted_ns = sim_vgpu_demand_ns(experiment->sim, tenant->sim);
	}
	wanted_ns -= tenant->last_wanted_ns;
	tenant->last_wanted_ns += wanted_ns;
	return (double)wanted_ns / 1e9;
}

/*
 * Returns the demand of @tenant in the last period, as a fraction of the GPU. For a renderer, this
 * is the cost of its target frame rate or, without a target, the load of the same program alone on
 * a GPU. The work that a starved renderer prepares would be less. For a trace, this is the recorded
 * demand, but at most the cost of the target frame rate (if any).
 */
static double demand_of(struct experiment *experiment, struct tenant *tenant, double load,
			double dt_s)
{
	const struct workload *workload = &tenant->vgpu.kind->workload;
	double target_fps = tenant->vgpu.terms.target_fps;
	double wanted = wanted_s(experiment, tenant) / dt_s;
	double promised = tenant->frame_s > 0 ? target_fps * tenant->frame_s : load;

	if (workload->kind != WORKLOAD_FRAMES || !(target_fps > 0))
		return wanted;
	return workload->playback.trace && wanted < promised ? wanted : promised;
}

/*
 * Reads the counters of @tenant. For the policy, rates are valid from the second reading on, as in
 * gover-d. For the account, they are valid from the first reading on, because all counters start at
 * 0.
 */
static void sample_tenant(struct experiment *experiment, struct tenant *tenant, double dt_s)
{
	struct experiment_vgpu *vgpu = &tenant->vgpu;
	struct sim_counters now;
	double busy_s, sched_s, frames;

	sim_read(experiment->sim, tenant->sim, &now);
	busy_s = (double)(now.busy_ns - tenant->last.busy_ns) / 1e9;
	sched_s = (double)(now.sched_ns - tenant->last.sched_ns) / 1e9;
	frames = (double)(now.frames - tenant->last.frames);
	if (frames > 0)
		tenant->frame_s = busy_s / frames;
	vgpu->sample.makes_frames = now.makes_frames;
	vgpu->sample.fps = frames / dt_s;
	vgpu->sample.load = busy_s / dt_s;
	vgpu->sample.util = sched_s > 0 ? busy_s / sched_s : 0;
	vgpu->sample.demand = demand_of(experiment, tenant, vgpu->sample.load, dt_s);
	vgpu->sampled_cap_pct = vgpu->cap_pct;
	tenant->busy_valid = tenant->primed;
	tenant->fps_valid = tenant->primed && now.makes_frames && tenant->last.makes_frames;
	tenant->primed = true;
	tenant->last = now;
}

static void sample(struct experiment *experiment)
{
	double dt_s = (double)experiment->period_ns / 1e9;
	uint64_t busy_ns = sim_busy_ns(experiment->sim);

	experiment->util = (double)(busy_ns - experiment->last_busy_ns) / 1e9 / dt_s;
	experiment->last_busy_ns = busy_ns;
	for (int i = 0; i < experiment->n_present; i++) {
		struct tenant *tenant = experiment->present[i];

		sample_tenant(experiment, tenant, dt_s);
		experiment->samples[i] = tenant->vgpu.sample;
		experiment->accounted[i] = &experiment->accounts[tenant->number];
		experiment->sampled[i] = tenant;
	}
	experiment->n_sampled = experiment->n_present;
	account_period(&experiment->account, dt_s, experiment->util, experiment->samples,
		       experiment->accounted, experiment->n_present);
	for (int i = 0; i < experiment->n_present; i++)
		experiment->present[i]->vgpu.sample = experiment->samples[i];
}

/* --- deciding --- */

/* Moves the vGPUs that severe decisions name to other hosts. */
static void move_named(struct experiment *experiment)
{
	for (int i = 0; i < experiment->out.n_decisions; i++) {
		const struct policy_decision *pd = &experiment->out.decisions[i];

		if (pd->kind == POLICY_SEVERE && pd->vgpu >= 0)
			tenants_move(experiment, experiment->present[pd->vgpu]);
	}
}

static bool offers_one(const struct experiment *experiment)
{
	for (int i = 0; i < experiment->out.n_decisions; i++)
		if (experiment->out.decisions[i].kind == POLICY_OFFER)
			return true;
	return false;
}

static bool may_offer(const struct experiment *experiment)
{
	return experiment->gpu.selling && !experiment->gpu.offered;
}

static void decide(struct experiment *experiment)
{
	const struct experiment_hooks *hooks = &experiment->hooks;
	bool offers;

	experiment_build_view(experiment);
	if (hooks->step)
		hooks->step(hooks->userdata, experiment, &experiment->params, &experiment->gpu,
			    &experiment->out);
	else
		experiment->policy->step(&experiment->params, &experiment->gpu, &experiment->out);
	experiment_apply(experiment);
	if (experiment->gpu.conditions & POLICY_SEVERE_OVERLOAD)
		experiment->counts.severe_s += (double)experiment->period_ns / 1e9;
	move_named(experiment);
	offers = offers_one(experiment);
	if (may_offer(experiment) && hooks->admit)
		offers = hooks->admit(hooks->userdata, experiment, offers);
	if (offers && may_offer(experiment))
		sale_open(experiment);
}

static const struct sched_discipline *discipline_of(const struct scenario *scenario)
{
	if (scenario->sharing == POLICY_SHARING_GUARANTEE)
		return sched_sharing_find(policy_sharing_name(scenario->sharing));
	return sched_discipline_find(scenario->discipline);
}

/* --- public interface --- */

bool experiment_step(struct experiment *experiment)
{
	if (experiment->now_ns >= experiment->end_ns)
		return false;
	experiment->now_ns += experiment->period_ns;
	sim_advance(experiment->sim, experiment->now_ns);
	sample(experiment);
	decide(experiment);
	sale_update(experiment);
	tenants_update(experiment);
	return experiment->now_ns < experiment->end_ns;
}

int experiment_new(const struct scenario *scenario, const struct policy *policy, uint64_t seed,
		   const struct experiment_hooks *hooks, struct experiment **ret_experiment,
		   struct err *reterr)
{
	struct experiment *experiment = xcalloc(1, sizeof(*experiment));
	int r;

	experiment->scenario = scenario;
	experiment->policy = policy;
	experiment->params = scenario_params(scenario);
	experiment->seed = seed;
	experiment->sale.life.state = OFFER_CLOSED;
	if (hooks)
		experiment->hooks = *hooks;
	experiment->period_ns = (uint64_t)scenario->period_ms * NS_PER_MS;
	experiment->end_ns = (uint64_t)scenario->seconds * NS_PER_S;
	account_init(&experiment->account, scenario->seconds);
	experiment->sim = sim_new();
	sim_set_discipline(experiment->sim, discipline_of(scenario));
	tenants_init(experiment);
	r = tenants_start(experiment, reterr);
	if (r < 0) {
		experiment_free(experiment);
		return r;
	}
	*ret_experiment = experiment;
	return 0;
}

struct experiment *experiment_free(struct experiment *experiment)
{
	if (!experiment)
		return NULL;
	tenants_fini(experiment);
	sim_free(experiment->sim);
	free(experiment);
	return NULL;
}

static int compare_stays(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double stay_median_s(const struct experiment *experiment)
{
	double stays_s[EXPERIMENT_VGPUS_MAX];
	int n = experiment->n_tenants;

	for (int i = 0; i < n; i++) {
		const struct experiment_vgpu *vgpu = &experiment->tenants[i].vgpu;
		double until_s = isnan(vgpu->left_s) ? experiment_now_s(experiment) : vgpu->left_s;

		stays_s[i] = until_s - vgpu->came_s;
	}
	if (n == 0)
		return 0;
	qsort(stays_s, (size_t)n, sizeof(stays_s[0]), compare_stays);
	return (stays_s[n / 2] + stays_s[(n - 1) / 2]) / 2;
}

void experiment_summarize(const struct experiment *experiment,
			  struct experiment_summary *ret_summary)
{
	double minutes = experiment_now_s(experiment) / 60;

	*ret_summary = experiment->counts;
	ret_summary->cap_moves_per_min = minutes > 0 ? experiment->counts.cap_moves / minutes : 0;
	ret_summary->stay_median_s = stay_median_s(experiment);
	account_summarize(&experiment->account, experiment->accounts, experiment->n_tenants,
			  &ret_summary->account);
}

void experiment_finish(struct experiment *experiment, struct experiment_summary *ret_summary)
{
	while (experiment_step(experiment))
		;
	experiment_summarize(experiment, ret_summary);
	experiment_free(experiment);
}

double experiment_util(const struct experiment *experiment)
{
	return experiment->util;
}

const struct experiment_vgpu *experiment_current_vgpu_at(const struct experiment *experiment,
							 int index)
{
	return index < experiment->n_sampled ? &experiment->sampled[index]->vgpu : NULL;
}

const struct experiment_vgpu *experiment_vgpu_at(const struct experiment *experiment, int index,
						 const struct account_vgpu **ret_account)
{
	if (index >= experiment->n_tenants)
		return NULL;
	if (ret_account)
		*ret_account = &experiment->accounts[index];
	return &experiment->tenants[index].vgpu;
}
