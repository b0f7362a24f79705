/* SPDX-License-Identifier: MIT */
/* Only a vGPU with a domain can be migrated, so the vGPUs of other programs are left out. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gover-fleet/advise.h"

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

int advise_fill(struct advise *advise, const struct host_state *state, bool published)
{
	struct advice_host *host = &advise->host;

	advise->vgpus = calloc(state->n_vgpus + 1, sizeof(advise->vgpus[0]));
	advise->alerts = calloc(state->n_alerts + 1, sizeof(advise->alerts[0]));
	advise->failed_offers = calloc(state->n_offers + 1, sizeof(advise->failed_offers[0]));
	if (!advise->vgpus || !advise->alerts || !advise->failed_offers)
		return -ENOMEM;
	for (size_t i = 0; i < state->n_vgpus; i++)
		if (state->vgpus[i].sold)
			fill_vgpu(&state->vgpus[i], &advise->vgpus[host->n_vgpus++]);
	for (size_t i = 0; i < state->n_alerts; i++)
		fill_alert(&state->alerts[i], &advise->alerts[host->n_alerts++]);
	for (size_t i = 0; i < state->n_offers; i++) {
		struct advice_failed_offer *failed = &advise->failed_offers[host->n_failed_offers];

		if (!state->offers[i].failed)
			continue;
		memcpy(failed->gpu, state->offers[i].gpu, sizeof(failed->gpu));
		memcpy(failed->vgpu, state->offers[i].vgpu, sizeof(failed->vgpu));
		host->n_failed_offers++;
	}
	host->vgpus = advise->vgpus;
	host->alerts = advise->alerts;
	host->failed_offers = advise->failed_offers;
	host->published = published;
	return 0;
}

void advise_fini(struct advise *advise)
{
	free(advise->vgpus);
	free(advise->alerts);
	free(advise->failed_offers);
	*advise = (struct advise){.vgpus = NULL};
}
