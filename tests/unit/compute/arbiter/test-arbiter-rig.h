/* SPDX-License-Identifier: MIT */
/*
 * A device and its tenants for the tests of the arbiter: a tenant always has work or none, its
 * units have one length, and one unit is in flight at a time. Include cmocka.h first.
 */
#ifndef TESTS_UNIT_COMPUTE_ARBITER_TEST_ARBITER_RIG_H
#define TESTS_UNIT_COMPUTE_ARBITER_TEST_ARBITER_RIG_H

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "compute/arbiter/arbiter.h"
#include "tests/unit/unit.h"

#define RIG_TENANTS 8
#define US	    1000ULL
#define UNIT	    (200 * US)
#define SLICE	    (6 * NS_PER_MS)
#define LEASE	    (80 * NS_PER_MS)

struct rig {
	uint64_t now_ns;
	struct arbiter arbiter;
	struct arbiter_tenant tenants[RIG_TENANTS];
	uint64_t unit_ns[RIG_TENANTS];
	int n;
	uint64_t idle_ns; /* time without a turn */
};

static struct rig rig;

static inline void rig_start(const char *discipline)
{
	memset(&rig, 0, sizeof(rig));
	rig.now_ns = 1000 * NS_PER_S;
	arbiter_start(&rig.arbiter, arbiter_discipline_find(discipline), NULL, rig.now_ns);
}

static inline struct arbiter_tenant *rig_add(struct arbiter_share share, uint64_t unit_ns)
{
	struct arbiter_tenant *tenant = &rig.tenants[rig.n];

	rig.unit_ns[rig.n++] = unit_ns;
	arbiter_add(&rig.arbiter, tenant, &share, rig.now_ns);
	if (unit_ns > 0)
		arbiter_want(&rig.arbiter, tenant, 0, rig.now_ns);
	return tenant;
}

/* Returns the turn, after a turn that drains has ended. */
static inline struct arbiter_turn rig_turn(void)
{
	struct arbiter_turn turn;

	arbiter_pick(&rig.arbiter, rig.now_ns, &turn);
	if (turn.state == ARBITER_DRAIN) {
		arbiter_end_turn(&rig.arbiter, rig.now_ns);
		arbiter_pick(&rig.arbiter, rig.now_ns, &turn);
		assert_int_not_equal(turn.state, ARBITER_DRAIN);
	}
	return turn;
}

/* Starts @n tenants of equal weight that always have work. Returns the one that has the turn. */
static inline struct arbiter_tenant *rig_begin(const char *discipline, int n)
{
	rig_start(discipline);
	while (n-- > 0)
		rig_add((struct arbiter_share){.weight = 1}, UNIT);
	return rig_turn().tenant;
}

/* Runs one unit, or until the next event. Returns the tenant that ran; NULL: the device idled. */
static inline struct arbiter_tenant *rig_step(uint64_t to_ns)
{
	struct arbiter_turn turn = rig_turn();
	uint64_t next_ns = arbiter_next_event_ns(&rig.arbiter);

	if (turn.state == ARBITER_RUN && turn.tenant->wants) {
		uint64_t unit_ns = rig.unit_ns[turn.tenant - rig.tenants];

		arbiter_want(&rig.arbiter, turn.tenant, unit_ns, rig.now_ns);
		rig.now_ns += unit_ns;
		arbiter_charge(&rig.arbiter, turn.tenant, unit_ns, 1, rig.now_ns);
		arbiter_want(&rig.arbiter, turn.tenant, 0, rig.now_ns);
		return turn.tenant;
	}
	next_ns = next_ns < to_ns ? next_ns : to_ns;
	assert_true(next_ns > rig.now_ns);
	rig.idle_ns += next_ns - rig.now_ns;
	rig.now_ns = next_ns;
	return NULL;
}

static inline void rig_run(uint64_t ns)
{
	uint64_t to_ns = rig.now_ns + ns;

	while (rig.now_ns < to_ns)
		rig_step(to_ns);
}

static inline struct arbiter_tenant *other_of(const struct arbiter_tenant *tenant)
{
	return &rig.tenants[tenant == &rig.tenants[0]];
}

static inline struct arbiter_turn pick_after(uint64_t ns)
{
	struct arbiter_turn turn;

	rig.now_ns += ns;
	arbiter_pick(&rig.arbiter, rig.now_ns, &turn);
	return turn;
}

static inline void rig_stop(struct arbiter_tenant *tenant)
{
	arbiter_idle(&rig.arbiter, tenant, rig.now_ns);
}

static inline void rig_wake(struct arbiter_tenant *tenant)
{
	arbiter_want(&rig.arbiter, tenant, 0, rig.now_ns);
}

static inline void assert_near(uint64_t value, uint64_t want, uint64_t tolerance)
{
	assert_in_range(value, want > tolerance ? want - tolerance : 0, want + tolerance);
}

#endif
