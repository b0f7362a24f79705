/* SPDX-License-Identifier: MIT */
/* A GPU that follows the scheduler exactly, for the tests of the scheduler. Include cmocka.h
 * first. */
#ifndef TESTS_UNIT_SCHED_TEST_SCHED_RIG_H
#define TESTS_UNIT_SCHED_TEST_SCHED_RIG_H

#include <string.h>

#include "base/clock.h"
#include "kernel/sched/sched.h"
#include "tests/unit/unit.h"

#define TENANTS_MAX 64
#define SLOT	    SCHED_SLOT_NS
#define FOREVER	    UINT64_MAX

/* A tenant whose work arrives in bursts at random times, or a tenant that always has work. */
struct tenant {
	struct sched_vgpu sched;
	uint64_t work_ns;
	uint64_t arrives_ns;   /* time of the next burst */
	uint64_t burst_max_ns; /* largest work of a burst; 0: no bursts */
	uint64_t pause_max_ns;
};

struct rig {
	uint64_t now_ns;
	uint64_t random;
	struct sched sched;
	struct tenant tenants[TENANTS_MAX];
	int n;
};

static struct rig rig;

static inline uint64_t draw(uint64_t below)
{
	rig.random = rig.random * 6364136223846793005u + 1442695040888963407u;
	return (rig.random >> 33) % below;
}

static inline void rig_init_with(const char *discipline, uint64_t seed)
{
	memset(&rig, 0, sizeof(rig));
	rig.random = seed;
	sched_start(&rig.sched, sched_discipline_find(discipline), 0);
}

static inline void rig_init(uint64_t seed)
{
	rig_init_with("cap", seed);
}

/* A test begins with discipline "cap" and without tenants. */
static int rig_begin(void)
{
	rig_init(1);
	return 0;
}

FIXTURE(rig_begin, NULL)

static inline struct tenant *rig_add(unsigned int cap_pct, uint64_t work_ns)
{
	struct tenant *tenant = &rig.tenants[rig.n++];

	*tenant = (struct tenant){.work_ns = work_ns, .arrives_ns = FOREVER};
	sched_add(&rig.sched, &tenant->sched, cap_pct, rig.now_ns);
	sched_set_pending(&rig.sched, &tenant->sched, work_ns > 0);
	return tenant;
}

/* Gives the tenant work without end. */
static inline void rig_wake(struct tenant *tenant)
{
	tenant->work_ns = FOREVER;
	sched_set_pending(&rig.sched, &tenant->sched, true);
}

static inline struct tenant *rig_add_bursty(unsigned int cap_pct)
{
	struct tenant *tenant = rig_add(cap_pct, 0);

	tenant->burst_max_ns = 1 + draw(300 * NS_PER_MS);
	tenant->pause_max_ns = NS_PER_MS + draw(600 * NS_PER_MS);
	tenant->arrives_ns = rig.now_ns + draw(tenant->pause_max_ns);
	return tenant;
}

static inline void deal_with_arrivals(void)
{
	for (int i = 0; i < rig.n; i++) {
		struct tenant *tenant = &rig.tenants[i];

		if (tenant->arrives_ns > rig.now_ns)
			continue;
		tenant->work_ns += 1 + draw(tenant->burst_max_ns);
		sched_set_pending(&rig.sched, &tenant->sched, true);
		tenant->arrives_ns = rig.now_ns + 1 + draw(tenant->pause_max_ns);
	}
}

/*
 * Runs one step of the GPU, to @to_ns at most. Returns the vGPU that ran; NULL: the GPU was idle.
 */
static inline struct tenant *rig_step(uint64_t to_ns)
{
	uint64_t run_ns = FOREVER, until_ns = to_ns;
	struct tenant *ran = (struct tenant *)(void *)sched_pick(&rig.sched, &run_ns);

	if (rig.sched.slot_end_ns < until_ns)
		until_ns = rig.sched.slot_end_ns;
	for (int i = 0; i < rig.n; i++)
		if (rig.tenants[i].arrives_ns < until_ns)
			until_ns = rig.tenants[i].arrives_ns;
	if (ran) {
		if (ran->work_ns < run_ns)
			run_ns = ran->work_ns;
		if (run_ns < until_ns - rig.now_ns)
			until_ns = rig.now_ns + run_ns;
		sched_account(&rig.sched, &ran->sched, until_ns - rig.now_ns);
		if (ran->work_ns != FOREVER)
			ran->work_ns -= until_ns - rig.now_ns;
		sched_set_pending(&rig.sched, &ran->sched, ran->work_ns > 0);
	}
	rig.now_ns = until_ns;
	deal_with_arrivals();
	if (rig.now_ns == rig.sched.slot_end_ns)
		sched_open_slot(&rig.sched, rig.now_ns);
	return ran;
}

static inline void rig_run(uint64_t ns)
{
	uint64_t to_ns = rig.now_ns + ns;

	while (rig.now_ns < to_ns)
		rig_step(to_ns);
}

static inline void assert_near(uint64_t value, uint64_t want, uint64_t tolerance)
{
	assert_in_range(value, want > tolerance ? want - tolerance : 0, want + tolerance);
}

#endif
