/* SPDX-License-Identifier: MIT */
/*
 * The calculations of backend xe: quanta for caps (rounds, errors, what stays, and properties over
 * random caps), and shares of the GPU from ticks.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gpu/xe/pmu.h"
#include "gpu/xe/quanta.h"
#include "tests/unit/unit.h"

#define N_MAX 4

static const struct xe_quanta_limits limits = {.least_ms = 2, .longest_ms = 100, .tolerance_pt = 1};

static const struct {
	const char *rule;
	int caps[N_MAX];
	uint32_t own_ms;
	uint32_t pf_ms, quanta[N_MAX];
	double worst_pt; /* upper bound */
} cases[] = {
	{"time without a cap belongs to the host", {20, 30, 40}, 1, 1, {2, 3, 4}, 0},
	{"the least slice gives the shortest round", {50, 25}, 1, 2, {4, 2}, 0},
	{"the host keeps its slice if all is sold", {20, 30, 50}, 1, 1, {10, 15, 25}, 0.99},
	{"a larger slice of the host needs more time", {20, 30, 50}, 2, 2, {17, 26, 44}, 0.9},
	{"the round of docs/sriov.md for half of the GPU", {25, 25}, 1, 4, {2, 2}, 0},
	{"the round of docs/sriov.md for 180 %", {60, 60, 60}, 1, 1, {11, 11, 11}, 0.99},
	{"a host that needs a fifth of the round", {20, 30, 50}, 20, 20, {15, 23, 39}, 9.8},
	{"caps beyond the GPU become shares of it", {50, 50, 50}, 1, 1, {11, 11, 11}, 0.99},
	{"one vGPU has all but the slice of the host", {100}, 1, 1, {99}, 1},
	{"a cap below the least slice costs an error", {1, 99}, 1, 1, {2, 97}, 2},
	{"a function without a limit keeps its quantum", {10, 0}, 1, 17, {2, 0}, 0.53},
	{"without vGPUs, the host has its slice", {0}, 3, 3, {0}, 0},
};

TEST(a_fresh_round_is_the_shortest_within_the_tolerance)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct xe_slice slices[N_MAX] = {{0}};
		struct xe_round round;

		for (int v = 0; v < N_MAX; v++)
			slices[v].cap_pct = cases[i].caps[v];
		xe_quanta_plan(&limits, cases[i].own_ms, 0, slices, N_MAX, &round);
		for (int v = 0; v < N_MAX; v++)
			if (slices[v].quantum_ms != cases[i].quanta[v])
				fail_msg("%s: slice %d is %u", cases[i].rule, v,
					 slices[v].quantum_ms);
		if (round.pf_ms != cases[i].pf_ms || round.worst_pt > cases[i].worst_pt + 1e-9)
			fail_msg("%s: host %u, error %f", cases[i].rule, round.pf_ms,
				 round.worst_pt);
	}
}

TEST(a_new_cap_changes_one_slice)
{
	struct xe_slice slices[] = {{20, false, 2}, {30, false, 3}, {30, true, 4}};
	struct xe_round round;

	xe_quanta_plan(&limits, 1, 1, slices, 3, &round);
	assert_int_equal(slices[0].quantum_ms, 2);
	assert_int_equal(slices[1].quantum_ms, 3);
	assert_int_equal(slices[2].quantum_ms, 3);
	assert_int_equal(round.pf_ms, 2);
	assert_int_equal(round.total_ms, 10);
	assert_int_equal(round.wait_ms, 8);
}

TEST(a_round_twice_as_long_as_needed_is_replaced)
{
	struct xe_slice slices[] = {{20, false, 20}, {30, false, 30}, {40, true, 20}};
	struct xe_round round;

	xe_quanta_plan(&limits, 1, 30, slices, 3, &round);
	assert_int_equal(round.total_ms, 10);
}

TEST(a_quantum_shows_its_cap)
{
	assert_int_equal(xe_quanta_cap_pct(0, 100), 0);
	assert_int_equal(xe_quanta_cap_pct(10, 51), 20);
	assert_int_equal(xe_quanta_cap_pct(25, 51), 49);
	assert_int_equal(xe_quanta_cap_pct(1, 1000), 1);
	assert_int_equal(xe_quanta_cap_pct(5, 0), 100);
	assert_int_equal(xe_quanta_cap_pct(UINT32_MAX, UINT32_MAX), 100);
}

/* Checks what must be true of each plan. @before: the slices before it. */
static void check_plan(const struct xe_slice *before, const struct xe_slice *slices, int n,
		       uint32_t own_ms, const struct xe_round *round)
{
	struct xe_round measured;
	uint32_t sum_ms = round->pf_ms;

	xe_quanta_measure(round->pf_ms, slices, n, &measured);
	assert_int_equal(measured.total_ms, round->total_ms);
	assert_int_equal(measured.wait_ms, round->wait_ms);
	assert_float_equal(measured.worst_pt, round->worst_pt, 1e-9);
	assert_true(round->pf_ms >= own_ms);
	for (int v = 0; v < n; v++) {
		if (slices[v].cap_pct == 0) {
			assert_int_equal(slices[v].quantum_ms, before[v].quantum_ms);
			continue;
		}
		assert_true(slices[v].quantum_ms >= (uint32_t)limits.least_ms);
		sum_ms += slices[v].quantum_ms;
	}
	assert_int_equal(sum_ms, round->total_ms);
	assert_true(round->total_ms <=
		    (uint32_t)limits.longest_ms + own_ms + (uint32_t)(n * limits.least_ms));
}

/* 20,000 sequences of changes of one cap. */
TEST(plans_keep_their_rules)
{
	int changed_others = 0, changes = 0;

	srand(1);
	for (int run = 0; run < 1000; run++) {
		struct xe_slice slices[8] = {{0}}, before[8];
		uint32_t own_ms = 1 + (uint32_t)(rand() % 3), pf_ms = 0;
		int n = 1 + rand() % 8;
		struct xe_round round;

		for (int v = 0; v < n; v++)
			slices[v].cap_pct = 100 / n;
		for (int step = 0; step < 20; step++) {
			int v = rand() % n;

			slices[v].cap_pct = rand() % (200 / n + 1);
			if (slices[v].cap_pct > 100)
				slices[v].cap_pct = 100;
			slices[v].changed = true;
			memcpy(before, slices, sizeof(before));
			xe_quanta_plan(&limits, own_ms, pf_ms, slices, n, &round);
			check_plan(before, slices, n, own_ms, &round);
			slices[v].changed = false;
			pf_ms = round.pf_ms;
			for (int o = 0; o < n && step > 0; o++)
				changed_others +=
					o != v && slices[o].quantum_ms != before[o].quantum_ms;
			changes += step > 0 ? n - 1 : 0;
		}
	}
	/* most changes of a cap leave the slices of the others alone */
	assert_true(2 * changed_others < changes);
}

/* --- shares of the GPU from ticks --- */

static struct xe_usage usage[3];
static struct xe_usage *const usages[] = {&usage[0], &usage[1], &usage[2]};
static struct xe_counts counts[3];
static struct xe_rate rate;

/* Two engines; the second is idle except for function 1. */
static int reset(void)
{
	rate = (struct xe_rate){.known = false};
	for (int i = 0; i < 3; i++) {
		usage[i] = (struct xe_usage){.known = false};
		counts[i] = (struct xe_counts){.n_engines = 2};
	}
	xe_usage_advance(usages, counts, 3, 0, &rate);
	return 0;
}

FIXTURE(reset, NULL)

static void grow(int i, uint64_t active, uint64_t total)
{
	counts[i].active[0] += active;
	for (int e = 0; e < 2; e++)
		counts[i].total[e] += total;
}

static void expect(int i, double busy_ns, double sched_ns)
{
	assert_true(usage[i].valid);
	assert_float_equal(usage[i].busy_ns, busy_ns, 1e-6);
	assert_float_equal(usage[i].sched_ns, sched_ns, 1e-6);
}

TEST(a_share_is_a_part_of_the_ticks_of_all_functions)
{
	grow(0, 0, 50);
	grow(1, 30, 25); /* more than its own part: spare time */
	grow(2, 10, 25);
	xe_usage_advance(usages, counts, 3, 1000, &rate);
	expect(0, 0, 500);
	expect(1, 300, 250);
	expect(2, 100, 250);
}

TEST(the_busiest_engine_counts)
{
	grow(0, 0, 50);
	grow(1, 10, 50);
	grow(2, 0, 0);
	counts[1].active[1] += 40;
	xe_usage_advance(usages, counts, 3, 1000, &rate);
	expect(1, 400, 500);
}

TEST(a_new_function_does_not_enlarge_the_others)
{
	grow(0, 0, 50);
	grow(1, 20, 50);
	xe_usage_advance(usages, counts, 3, 1000, &rate);
	usage[2].known = false; /* it was enabled meanwhile */
	grow(0, 0, 30);
	grow(1, 20, 30);
	grow(2, 5, 40);
	xe_usage_advance(usages, counts, 3, 1000, &rate);
	assert_false(usage[2].valid);
	expect(1, 400, 800); /* 20 of 100 ticks again, by the rate of the first period */
}

TEST(a_counter_that_was_reset_adds_nothing)
{
	grow(0, 0, 50);
	grow(1, 20, 50);
	xe_usage_advance(usages, counts, 3, 1000, &rate);
	counts[1].active[0] = 1;
	grow(0, 0, 50);
	grow(1, 0, 50);
	xe_usage_advance(usages, counts, 3, 1000, &rate);
	expect(1, 200, 1000);
}

TEST(a_function_that_cannot_be_read_is_not_valid)
{
	grow(0, 0, 50);
	grow(2, 5, 50);
	counts[1].n_engines = 0;
	xe_usage_advance(usages, counts, 3, 1000, &rate);
	assert_false(usage[1].valid);
	counts[1].n_engines = 2;
	xe_usage_advance(usages, counts, 3, 1000, &rate);
	assert_false(usage[1].valid); /* its ticks of this time are not known */
	xe_usage_advance(usages, counts, 3, 1000, &rate);
	assert_true(usage[1].valid);
}
