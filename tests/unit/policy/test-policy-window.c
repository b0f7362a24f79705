/* SPDX-License-Identifier: MIT */
/* policy/window.h: the largest load and the 99th percentile of the last periods. */
#include "tests/unit/policy/test-policy.h"

#include "policy/window.h"

/* Adds the loads 0.001, 0.002, ... 0.001 * @n. */
static void add_rising(struct policy_track *track, int n)
{
	for (int i = 1; i <= n; i++)
		window_add(track, 0.001 * i);
}

static void check(double load, double thousandths)
{
	assert_float_equal(load, 0.001 * thousandths, 1e-6);
}

TEST(test_without_a_period_the_load_is_1)
{
	static const struct policy_track none;

	assert_true(window_max(&none, 30) == 1);
	assert_true(window_p99(&none, 30) == 1);
}

TEST(test_the_last_periods_count)
{
	static const struct {
		int added, periods;
		double max, p99;
	} rows[] = {
		{1, 1, 1, 1},		{1, 30, 1, 1},	      {50, 30, 50, 50},
		{99, 300, 99, 99},	{100, 300, 100, 99},  {199, 300, 199, 198},
		{200, 300, 200, 198},	{300, 300, 300, 297}, {400, 100, 400, 399},
		{1000, 300, 1000, 997},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct policy_track track = {0};

		add_rising(&track, rows[i].added);
		check(window_max(&track, rows[i].periods), rows[i].max);
		check(window_p99(&track, rows[i].periods), rows[i].p99);
		check(window_at(&track, 1), rows[i].added);
	}
}

/* A falling load has its largest values at the end of the window. */
TEST(test_the_oldest_period_of_the_window_counts)
{
	for (int n = 1; n <= POLICY_WINDOW_MAX; n++) {
		struct policy_track track = {0};

		window_add(&track, 1);
		for (int i = n; i >= 1; i--)
			window_add(&track, 0.001 * i);
		check(window_max(&track, n), n);
		check(window_p99(&track, n), n - n / 100);
		check(window_at(&track, n), n);
	}
}

TEST(test_idle_periods_have_a_load_of_0)
{
	struct policy_track track = {0};

	for (int i = 0; i < 100; i++)
		window_add(&track, 0);
	assert_true(window_max(&track, 300) == 0);
	assert_true(window_p99(&track, 300) == 0);
}
