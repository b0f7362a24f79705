/* SPDX-License-Identifier: MIT */
/*
 * Demand profiles. To measure the profile of a tenant, the tenant runs alone on a GPU. This happens
 * when the profile is first needed.
 */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "sim/experiment/profiles.h"

/* The demand of one tenant for each period after its arrival. */
struct profile {
	uint64_t draw;
	float *need_pct; /* percent of the GPU per period */
};

struct profiles {
	const struct scenario *scenario;
	uint64_t seed;
	uint64_t periods; /* number of periods of the scenario */
	struct profile entries[EXPERIMENT_VGPUS_MAX];
	int n;
};

struct profiles *profiles_new(const struct scenario *scenario, uint64_t seed)
{
	struct profiles *profiles = xcalloc(1, sizeof(*profiles));

	profiles->scenario = scenario;
	profiles->seed = seed;
	profiles->periods = (uint64_t)scenario->seconds * 1000 / (uint64_t)scenario->period_ms + 2;
	return profiles;
}

struct profiles *profiles_free(struct profiles *profiles)
{
	if (!profiles)
		return NULL;
	for (int i = 0; i < profiles->n; i++)
		free(profiles->entries[i].need_pct);
	free(profiles);
	return NULL;
}

/* Returns the percentage of the GPU that a tenant needed between two readings of its counters. */
static double need_of(const struct policy_terms *terms, const struct sim_counters *from,
		      const struct sim_counters *to, double wanted_s, double dt_s)
{
	double frames = (double)(to->frames - from->frames);
	double frame_s = frames > 0 ? (double)(to->busy_ns - from->busy_ns) / 1e9 / frames : 0;
	double need = wanted_s / dt_s;

	if (to->makes_frames && terms->target_fps > 0 && terms->target_fps * frame_s < need)
		need = terms->target_fps * frame_s;
	return fmin(100 * need, terms->initial_cap_pct);
}

static void play(const struct profiles *profiles, const struct policy_terms *terms, struct sim *sim,
		 struct sim_vgpu *vgpu, float *need_pct)
{
	uint64_t period_ns = (uint64_t)profiles->scenario->period_ms * NS_PER_MS;
	double dt_s = (double)period_ns / 1e9;
	struct sim_counters last = {.busy_ns = 0};
	uint64_t last_wanted_ns = 0;

	for (uint64_t i = 0; i < profiles->periods; i++) {
		struct sim_counters now;
		uint64_t wanted_ns;

		sim_advance(sim, (i + 1) * period_ns);
		sim_read(sim, vgpu, &now);
		wanted_ns = sim_vgpu_demand_ns(sim, vgpu);
		need_pct[i] = (float)need_of(terms, &last, &now,
					     (double)(wanted_ns - last_wanted_ns) / 1e9, dt_s);
		last = now;
		last_wanted_ns = wanted_ns;
	}
}

static float *measure(const struct profiles *profiles, const struct scenario_tenant *kind,
		      uint64_t draw)
{
	struct policy_terms terms = scenario_terms(profiles->scenario, kind);
	struct workload workload = tenants_workload(kind, profiles->seed, draw);
	float *need_pct = xcalloc(profiles->periods, sizeof(*need_pct));
	struct sim *sim = sim_new();
	struct sim_vgpu *vgpu;

	(void)sim_add(sim, "alone", 0, &vgpu);
	sim_set_workload(sim, vgpu, &workload);
	play(profiles, &terms, sim, vgpu, need_pct);
	sim_free(sim);
	return need_pct;
}

double profiles_need_pct(struct profiles *profiles, const struct scenario_tenant *kind,
			 uint64_t draw, uint64_t period)
{
	struct profile *profile = profiles->entries;
	const struct profile *end = profile + profiles->n;

	while (profile < end && profile->draw != draw)
		profile++;
	if (profile == end && profiles->n < EXPERIMENT_VGPUS_MAX) {
		*profile =
			(struct profile){.draw = draw, .need_pct = measure(profiles, kind, draw)};
		profiles->n++;
		end++;
	}
	if (profile == end || period >= profiles->periods)
		return scenario_terms(profiles->scenario, kind).initial_cap_pct;
	return (double)profile->need_pct[period];
}
