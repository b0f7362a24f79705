/* SPDX-License-Identifier: MIT */
/*
 * The rate that is compared with a target: slow units of work are counted over several periods.
 * Also the largest load and the 99th percentile of the last periods (policy/window.h).
 */
#include "policy/rate.h"
#include "policy/window.h"
#include "tests/unit/policy/test-policy.h"

#define PERIODS 400

/* Returns the units that end in period @at of a program that does @per_period, first @phase. */
static double units_in(int at, double per_period, double phase)
{
	return floor((at + 1) * per_period + phase) - floor(at * per_period + phase);
}

static void init(double target, double period_s, bool work)
{
	const struct given given[2] = {{"v", 50, .cap = 20, .target = target, .work = work}};

	bench_init(given, 1);
	bench.gpu.period_s = period_s;
}

/* Reads @units in this period. Returns true if the vGPU is short. */
static bool reads(double units, double util)
{
	bench_read(&bench.vgpus[0], util, units / bench.gpu.period_s);
	bench_step();
	return bench.vgpus[0].short_of_target;
}

static const double rates[] = {0.05, 0.1, 0.3, 0.5, 0.7, 1, 1.3, 2.5, 4, 7.7, 9.9, 10, 33, 74};

TEST(a_promise_that_is_kept_is_never_short)
{
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		for (double phase = 0; phase < 1; phase += 0.13) {
			init(rates[i], 1, true);
			for (int at = 0; at < PERIODS; at++)
				if (reads(units_in(at, rates[i], phase), 1))
					fail_msg("%g units/s is short in period %d", rates[i], at);
		}
	}
}

TEST(two_thirds_of_a_promise_are_short_when_the_window_is_full)
{
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		int full = (int)fmin(ceil(10 / rates[i]), POLICY_RATES_MAX);
		double given = rates[i] * 2 / 3;

		/* Fewer than ten units are promised in the longest window. */
		if (rates[i] * POLICY_RATES_MAX < 10)
			continue;
		init(rates[i], 1, true);
		for (int at = 0; at < PERIODS; at++) {
			bool is_short = reads(units_in(at, given, 0), 1);

			if (at >= full - 1 && !is_short)
				fail_msg("%g of %g units/s is enough in period %d", given, rates[i],
					 at);
		}
	}
}

struct row {
	const char *rule;
	double target, period_s;
	const char *units; /* finished in each period; '?': no valid reading */
	const char *shorts;
	bool frames;
};

static const struct row table[] = {
	{"kernels of 2 s", 0.5, 1, .units = "010101010101", .shorts = "............"},
	{"one kernel late by a period", 0.5, 1, .units = "010100101010", .shorts = "............"},
	{"no kernel at all: short when more than 1.5 units are missing", 0.5, 1, .units = "00000",
	 .shorts = "...!!"},
	{"half of the promise", 0.5, 1, .units = "000100010001000100",
	 .shorts = ".....!!!!!!!!!!!!!"},
	{"a shortage counts as long as the window lasts", 1, 1, .units = "1100111111111",
	 .shorts = "...!!!!!!!!!."},
	{"a missing reading starts a new window", 0.5, 1, .units = "000?000", .shorts = "......."},
	{"ten units in a period: each period alone", 10, 1, .units = "9879", .shorts = ".!!."},
	{"shorter periods: more of them", 9, 0.1, .units = "1111111110000",
	 .shorts = "...........!!"},
	{"3 units/s: less than 1.5 units/s is tolerated", 3, 1, .units = "22222",
	 .shorts = ".!!!!"},
	{"frames have a tolerance of 1.5 in one period", 1.5, 1, .units = "000", .shorts = "...",
	 .frames = true},
	{"frames: each period alone", 4, 1, .units = "2402", .shorts = "!.!!", .frames = true},
};

TEST(short_in_these_periods)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct row *row = &table[i];
		char shorts[32] = "";

		print_message("  %s\n", row->rule);
		init(row->target, row->period_s, !row->frames);
		for (int at = 0; row->units[at]; at++) {
			double units = row->units[at] == '?' ? NAN : row->units[at] - '0';

			shorts[at] = reads(units, 1) ? '!' : '.';
		}
		assert_string_equal(shorts, row->shorts);
	}
}

/* A kernel of 2 s may count as busy time only when it ends. */
TEST(use_and_demand_are_means_of_the_same_periods)
{
	init(0.5, 1, true);
	for (int at = 0; at < 24; at++)
		(void)reads(at % 4 == 3, at % 2 ? 1.5 : 0.3);
	assert_true(bench.vgpus[0].overloaded && bench.vgpus[0].broken);
	assert_true(fabs(bench.vgpus[0].rate - 0.25) < 1e-6);
	assert_true(fabs(bench.vgpus[0].e - 0.5) < 1e-6);
	assert_true(fabs(rate_util(&bench.vgpus[0]) - 0.9) < 1e-6);
	assert_true(fabs(rate_load(&bench.vgpus[0]) - 0.18) < 1e-6);
	/* the next period: GPU-bound with a use of 30 % */
	assert_true(reads(0, 0.3) && bench.vgpus[0].overloaded);
}

TEST(an_invalid_busy_time_counts_in_no_mean)
{
	init(0.5, 1, true);
	for (int at = 0; at < 24; at++)
		(void)reads(at % 2, at % 2 ? NAN : 0.8);
	assert_true(fabs(rate_util(&bench.vgpus[0]) - 0.8) < 1e-6);
	assert_true(fabs(bench.vgpus[0].rate - 0.5) < 1e-6);
}

/* --- the largest load and the 99th percentile of the last periods --- */

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
