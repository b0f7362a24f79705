/* SPDX-License-Identifier: MIT */
/* A vGPU that learns its demand, for the tests of policy/qos/demand.c. */
#ifndef TESTS_UNIT_POLICY_QOS_TEST_POLICY_DEMAND_H
#define TESTS_UNIT_POLICY_QOS_TEST_POLICY_DEMAND_H

#include "tests/unit/policy/test-policy.h"

#include "policy/qos/demand.h"
#include "tests/unit/unit.h"

#define COLD	 15 /* seconds */
#define FADING	 0.998
#define CONTRACT 50

static inline void make(int contract_pct, int cap_pct, double target_fps)
{
	bench_init((const struct given[]){{"a", contract_pct, .cap = cap_pct, .target = target_fps},
					  {.id = NULL}},
		   1);
}

static inline void learn(double load_pct, double fps)
{
	struct policy_vgpu *vgpu = &bench.vgpus[0];

	bench_read(vgpu, load_pct / vgpu->cap_pct, fps);
	vgpu->load = load_pct / 100;
	demand_learn(&bench.gpu, vgpu);
}

/* Learns from periods without frames. */
static inline void learn_load(double load_pct, int periods)
{
	for (int i = 0; i < periods; i++)
		learn(load_pct, NAN);
}

static inline double now_pct(void)
{
	return demand_now_pct(&bench.vgpus[0]);
}

static inline double margin_pct(void)
{
	return (double)bench.tracks[0].demand.margin_pct;
}

#define assert_near(a, b) assert_float_equal(a, b, 1e-4)

#endif
