/* SPDX-License-Identifier: MIT */
/*
 * Fills the input of the policy from the state of an experiment, and applies the decisions of the
 * policy.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "sim/experiment/experiment-state.h"

double experiment_now_s(const struct experiment *experiment)
{
	return (double)experiment->now_ns / 1e9;
}

bool experiment_has_tenants(const struct experiment *experiment)
{
	if (experiment->n_tenants == EXPERIMENT_VGPUS_MAX || experiment->n_bag == 0)
		return false;
	return experiment->scenario->draw == SCENARIO_INDEPENDENT ||
	       experiment->n_drawn < experiment->n_bag;
}

void experiment_build_view(struct experiment *experiment)
{
	const struct scenario *scenario = experiment->scenario;

	for (int i = 0; i < experiment->n_present; i++) {
		struct tenant *tenant = experiment->present[i];

		experiment->views[i] = (struct policy_vgpu){
			.id = tenant->vgpu.id,
			.terms = tenant->vgpu.terms,
			.newcomer = experiment->sale.life.state == OFFER_PROBATION &&
				    experiment->sale.newcomer == tenant,
			.track = &tenant->track,
			.cap_pct = tenant->vgpu.cap_pct,
			.busy_valid = tenant->busy_valid,
			.load = tenant->busy_valid ? tenant->vgpu.sample.load : 0,
			.util = tenant->busy_valid ? tenant->vgpu.sample.util : 0,
			.fps_valid = tenant->fps_valid,
			.fps = tenant->fps_valid ? tenant->vgpu.sample.fps : 0,
			.want_cap_pct = tenant->vgpu.cap_pct,
		};
	}
	experiment->gpu.name = "gpu0";
	experiment->gpu.step_pct = scenario->step_pct;
	experiment->gpu.floor_pct = scenario->floor_pct;
	experiment->gpu.sharing = scenario->sharing;
	experiment->gpu.period_s = (double)experiment->period_ns / 1e9;
	experiment->gpu.migrates = scenario->migrate;
	experiment->gpu.selling =
		experiment->n_present < scenario->max_vgpus && experiment_has_tenants(experiment);
	experiment->gpu.offered = offer_is_live(&experiment->sale.life);
	experiment->gpu.n_flavors = 1;
	experiment->gpu.flavors[0] = (struct policy_terms){
		.initial_cap_pct = scenario->flavor_cap_pct,
		.target_fps = scenario->flavor_target_fps,
		.weight = 1,
	};
	experiment->gpu.vgpus = experiment->views;
	experiment->gpu.n_vgpus = experiment->n_present;
}

int experiment_sum_cap_pct(const struct experiment *experiment)
{
	int sum_pct = 0;

	for (int i = 0; i < experiment->n_present; i++)
		sum_pct += experiment->present[i]->vgpu.cap_pct;
	return sum_pct;
}

static void emit_decision(struct experiment *experiment, const struct policy_decision *pd)
{
	struct experiment_event event = {
		.t_s = experiment_now_s(experiment),
		.kind = policy_kind_name(pd->kind),
		.vgpu = pd->vgpu >= 0 ? experiment->views[pd->vgpu].id : "",
		.donor = pd->donor >= 0 ? experiment->views[pd->donor].id : "",
		.why = pd->why,
		.decision = pd,
		.out = &experiment->out,
		.gpu = &experiment->gpu,
	};

	if (experiment->hooks.on_event)
		experiment->hooks.on_event(experiment->hooks.userdata, &event);
}

void experiment_emit(struct experiment *experiment, const char *kind, const char *vgpu,
		     const char *format, ...)
{
	char why[POLICY_WHY_MAX];
	struct experiment_event event = {.t_s = experiment_now_s(experiment),
					 .kind = kind,
					 .vgpu = vgpu,
					 .donor = "",
					 .why = why};
	va_list ap;

	if (!experiment->hooks.on_event)
		return;
	va_start(ap, format);
	vsnprintf(why, sizeof(why), format, ap);
	va_end(ap);
	experiment->hooks.on_event(experiment->hooks.userdata, &event);
}

/* Each decision lists decreases first, so the sum of caps never exceeds the GPU. */
void experiment_apply(struct experiment *experiment)
{
	for (int i = 0; i < experiment->out.n_decisions; i++) {
		const struct policy_decision *pd = &experiment->out.decisions[i];

		for (int k = 0; k < pd->n_moves; k++) {
			const struct policy_move *move = &experiment->out.moves[pd->first_move + k];
			struct tenant *tenant = experiment->present[move->vgpu];

			tenant->vgpu.cap_pct += move->to_pct - move->from_pct;
			(void)sim_set_cap(experiment->sim, tenant->sim, tenant->vgpu.cap_pct);
			experiment->counts.cap_moves++;
		}
		emit_decision(experiment, pd);
	}
}

int experiment_fund(struct experiment *experiment, const struct policy_params *params,
		    const struct policy_terms *terms)
{
	const struct experiment_hooks *hooks = &experiment->hooks;

	if (experiment->n_present == POLICY_VGPUS_MAX ||
	    experiment->n_tenants == EXPERIMENT_VGPUS_MAX)
		return -ENOSPC;
	experiment_build_view(experiment);
	if (hooks->fund)
		return hooks->fund(hooks->userdata, experiment, params, &experiment->gpu, terms,
				   &experiment->out);
	return experiment->policy->fund(params, &experiment->gpu, terms, &experiment->out);
}
