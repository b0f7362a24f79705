/* SPDX-License-Identifier: MIT */
/* Only a vGPU with a domain can be migrated, so the vGPUs of other programs are left out. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gover-fleet/migration-input.h"

static void fill_vgpu(const struct state_vgpu *from, struct advice_vgpu *vgpu)
{
	*vgpu = (struct advice_vgpu){
		.initial_cap_pct = from->initial_cap_pct,
		.min_cap_pct = from->min_cap_pct,
		.held = from->held,
		.overloaded = from->overloaded,
		.broken = from->broken,
		.arrived_ms = from->migrated ? from->created_ms : 0,
	};
	memcpy(vgpu->id, from->id, sizeof(vgpu->id));
	memcpy(vgpu->gpu, from->gpu, sizeof(vgpu->gpu));
	snprintf(vgpu->vm, sizeof(vgpu->vm), "%s", from->domain[0] ? from->domain : from->vm);
}

static void fill_alert(const struct state_alert *from, struct advice_alert *alert)
{
	*alert = (struct advice_alert){
		.alarm = advice_find_alarm(from->name),
		.silenced = from->silenced,
	};
	memcpy(alert->gpu, from->gpu, sizeof(alert->gpu));
	memcpy(alert->vgpu, from->vgpu, sizeof(alert->vgpu));
	snprintf(alert->cause, sizeof(alert->cause), "%.*s", ADVICE_CAUSE_MAX - 1, from->cause);
}

int migration_input_fill(struct migration_input *input, const struct host_state *state,
			 bool published)
{
	struct advice_host *host = &input->host;

	input->vgpus = calloc(state->n_vgpus + 1, sizeof(input->vgpus[0]));
	input->alerts = calloc(state->n_alerts + 1, sizeof(input->alerts[0]));
	input->failed_offers = calloc(state->n_offers + 1, sizeof(input->failed_offers[0]));
	if (!input->vgpus || !input->alerts || !input->failed_offers)
		return -ENOMEM;
	for (size_t i = 0; i < state->n_vgpus; i++)
		if (state->vgpus[i].sold)
			fill_vgpu(&state->vgpus[i], &input->vgpus[host->n_vgpus++]);
	for (size_t i = 0; i < state->n_alerts; i++)
		fill_alert(&state->alerts[i], &input->alerts[host->n_alerts++]);
	for (size_t i = 0; i < state->n_offers; i++) {
		struct advice_failed_offer *failed = &input->failed_offers[host->n_failed_offers];

		if (!state->offers[i].failed)
			continue;
		memcpy(failed->gpu, state->offers[i].gpu, sizeof(failed->gpu));
		memcpy(failed->vgpu, state->offers[i].vgpu, sizeof(failed->vgpu));
		host->n_failed_offers++;
	}
	host->vgpus = input->vgpus;
	host->alerts = input->alerts;
	host->failed_offers = input->failed_offers;
	host->published = published;
	return 0;
}

void migration_input_fini(struct migration_input *input)
{
	free(input->vgpus);
	free(input->alerts);
	free(input->failed_offers);
	*input = (struct migration_input){.vgpus = NULL};
}
