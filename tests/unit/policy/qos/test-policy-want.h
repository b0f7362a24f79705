/* SPDX-License-Identifier: MIT */
/* vGPUs with a known demand, for the tests of policy qos. */
#ifndef TESTS_UNIT_POLICY_QOS_TEST_POLICY_WANT_H
#define TESTS_UNIT_POLICY_QOS_TEST_POLICY_WANT_H

#include "tests/unit/policy/test-policy.h"

#include "policy/qos/demand.h"

/* With this target, a vGPU tolerates 98 % of its demand, as without frames. */
#define WANT_FPS 100

/* A vGPU whose demand is @now. In the next period it is @next with probability @chance, and @now
 * otherwise. The demand is measured by frames, so that it is known with any cap. */
struct want {
	const char *id; /* NULL ends the list */
	int contract, cap;
	double now, next, chance;
	int min_cap;
	bool held, burst;
	bool bare; /* no frames: the demand is known only with a cap above it */
	enum policy_demand_source source; /* how @now was measured or estimated */
	double load; /* with an estimated demand: the load in percent; 0: the whole cap */
};

/* Learns from one period with the demand @pct. Returns the level (interval of demands) of @pct. */
static inline int want_see(const struct policy_gpu *gpu, struct policy_vgpu *vgpu, double pct)
{
	vgpu->load = pct / 100;
	vgpu->util = 0.5;
	vgpu->fps = vgpu->terms.target_fps;
	demand_learn(gpu, vgpu);
	return vgpu->track->demand.level;
}

/* Fills the track with the history of @want and a margin of 0. */
static inline void want_learn(const struct policy_gpu *gpu, struct policy_vgpu *vgpu,
			      const struct want *want)
{
	struct policy_demand *demand = &vgpu->track->demand;
	int next = want->chance > 0 ? want_see(gpu, vgpu, want->next) : 0;
	int now = want_see(gpu, vgpu, want->now);

	memset(demand->follows, 0, sizeof(demand->follows));
	demand->follows[now][next] = (float)(1e9 * want->chance);
	demand->follows[now][now] += (float)(1e9 * (1 - want->chance));
	demand->known = true;
	demand->margin_pct = 0;
	demand->source = want->source;
	if (want->source != POLICY_DEMAND_SEEN)
		vgpu->load = (want->load > 0 ? want->load : vgpu->cap_pct) / 100;
}

static inline void want_init(const struct want *wants, int step_pct)
{
	struct given given[BENCH_MAX + 1] = {{0}};

	for (int i = 0; i < BENCH_MAX && wants[i].id; i++)
		given[i] = (struct given){wants[i].id,
					  wants[i].contract,
					  .cap = wants[i].cap,
					  .min_cap = wants[i].min_cap,
					  .held = wants[i].held,
					  .burst = wants[i].burst,
					  .target = wants[i].bare ? 0 : WANT_FPS};
	bench_init(given, step_pct);
	bench.policy = policy_find("qos");
	for (int i = 0; i < bench.gpu.n_vgpus; i++) {
		bench.vgpus[i].fps_valid = !wants[i].bare;
		want_learn(&bench.gpu, &bench.vgpus[i], &wants[i]);
	}
}

#endif
