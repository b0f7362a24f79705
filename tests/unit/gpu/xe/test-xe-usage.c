/* SPDX-License-Identifier: MIT */
/* Shares of the GPU from ticks. */
#include "gpu/xe/usage.h"
#include "tests/unit/unit.h"

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
