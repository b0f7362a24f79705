/* SPDX-License-Identifier: MIT */
/*
 * The figures of FairGV and VMCG in virtual time, with seeds that no constant was chosen with.
 * Virtual time is exact, so that these tests do not depend on the machine.
 */
#include <string.h>

#include "base/cleanup.h"
#include "tests/bench/compute/figures.h"
#include "tests/unit/unit.h"

#define SEEDS 3

static void assert_between(double value, double least, double most, const char *what)
{
	if (!(value >= least && value <= most))
		fail_msg("%s: %.4f is not in %.4f..%.4f", what, value, least, most);
}

/* Fig. 8 and 9: MMR, and what all tenants get of the device together. */
TEST(weights_give_the_shares_of_the_discipline)
{
	static const struct {
		struct compute_mix mix;
		double least, most, busy_pct;
	} rows[] = {
		{{"fair", {1, 2, 3}, {0}, {200}, 10}, 0.99, 1, 99.5},
		{{"fair", {1, 2, 2, 3, 3, 4}, {0}, {200}, 10}, 0.99, 1, 99.5},
		{{"guarantee", {1, 2, 3}, {0}, {200}, 10}, 0.99, 1, 99.5},
		{{"credit", {1, 2, 3}, {0}, {200}, 10}, 0.98, 1, 99.5},
		{{"rr", {1, 2, 3}, {0}, {200}, 10}, 0.98, 1, 99.5},
		{{"vmcg", {1, 2, 3}, {0}, {200}, 10}, 0.95, 1, 99.5},
		{{"fcfs", {1, 2, 3}, {0}, {200}, 10}, 0.32, 0.34, 88},
		/* Units of very different lengths. */
		{{"fair", {1, 1, 1}, {0}, {200, 1000, 10000}, 10}, 0.99, 1, 99.5},
		{{"credit", {1, 1, 1}, {0}, {200, 1000, 10000}, 10}, 0.98, 1, 99.5},
		{{"rr", {1, 1, 1}, {0}, {200, 1000, 10000}, 10}, 0.55, 0.65, 99.5},
		{{"fcfs", {1, 1, 1}, {0}, {200, 1000, 10000}, 10}, 0, 0.1, 99},
		/* A lone tenant loses nothing. */
		{{"fair", {1}, {0}, {200}, 10}, 1, 1, 99.99},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (uint64_t seed = 0; seed < SEEDS; seed++) {
			struct compute_result result =
				compute_figure_mix(&rows[i].mix, COMPUTE_SEED_REPORT + seed);

			assert_between(result.mmr, rows[i].least, rows[i].most,
				       rows[i].mix.discipline);
			/* A unit counts at its end, also if it began before the measurement. */
			assert_between(result.busy_pct, rows[i].busy_pct, 100.05,
				       rows[i].mix.discipline);
		}
}

TEST(caps_are_met_within_a_point)
{
	static const struct compute_mix rows[] = {
		{"cap", {1, 1}, {30, 70}, {200}, 10},
		{"cap", {1, 1}, {10, 90}, {200}, 10},
		{"fair", {1, 1}, {30, 70}, {200}, 10},
		{"fair", {1, 1}, {10, 90}, {200}, 10},
		{"fair", {1, 9}, {90, 10}, {200}, 10},
		{"cap", {1, 1}, {10, 90}, {10000, 1000}, 10},
		{"fair", {1, 1}, {10, 90}, {10000, 1000}, 10},
		{"fair", {1, 1}, {1, 20}, {1000, 300}, 10},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct compute_result result = compute_figure_mix(&rows[i], COMPUTE_SEED_REPORT);

		for (int j = 0; j < 2; j++)
			assert_between(result.share_pct[j], rows[i].caps[j] - 1.0,
				       rows[i].caps[j] + 0.1, rows[i].discipline);
	}
}

TEST(fig_10_work_conservation_fills_the_device)
{
	for (unsigned int pct = 50; pct <= 80; pct += 10) {
		double with = compute_figure_utilisation(pct, true, COMPUTE_SEED_REPORT);
		double without = compute_figure_utilisation(pct, false, COMPUTE_SEED_REPORT);

		assert_between(with, 98.5, 100, "with");
		assert_between(without, 60, 80, "without");
	}
}

TEST(fig_11_the_other_units_do_not_matter_with_accounting)
{
	static const unsigned int units_us[] = {207, 133}, others_us[] = {21, 207, 1605};
	static const double blind[][3] = {{1, 2, 9}, {1.2, 2.8, 13}};

	for (size_t i = 0; i < ARRAY_SIZE(units_us); i++)
		for (size_t j = 0; j < ARRAY_SIZE(others_us); j++) {
			assert_between(compute_figure_run_time(COMPUTE_FAIR, units_us[i],
							       others_us[j], COMPUTE_SEED_REPORT),
				       1.98, 2.04, "fair");
			assert_between(compute_figure_run_time(COMPUTE_CREDIT, units_us[i],
							       others_us[j], COMPUTE_SEED_REPORT),
				       1.96, 2.06, "credit");
			assert_between(compute_figure_run_time(COMPUTE_CREDIT_BLIND, units_us[i],
							       others_us[j], COMPUTE_SEED_REPORT),
				       blind[i][j] * 0.9, blind[i][j] * 1.15, "blind");
		}
}

TEST(lambda_is_as_in_vmcg)
{
	static const struct {
		struct compute_mix mix;
		double least, most;
	} rows[] = {
		/* The same program everywhere: the paper has 0.01 for OpenGL. */
		{{"vmcg", {1, 1, 1}, {0}, {1000}, 20}, 0, 0.01},
		{{"fcfs", {1, 1, 1}, {0}, {1000}, 20}, 0, 0.01},
		/* Mixed programs, 1:1:1 and 4:2:1; fcfs in place of gVirt. */
		{{"vmcg", {1, 1, 1}, {0}, {300, 1000, 2000}, 30}, 0, 0.12},
		{{"fcfs", {1, 1, 1}, {0}, {300, 1000, 2000}, 30}, 0.5, 0.6},
		{{"fair", {1, 1, 1}, {0}, {300, 1000, 2000}, 30}, 0, 0.005},
		{{"vmcg", {4, 2, 1}, {0}, {300, 1000, 2000}, 30}, 0, 0.12},
		{{"fcfs", {4, 2, 1}, {0}, {300, 1000, 2000}, 30}, 0.9, 1},
		{{"fair", {4, 2, 1}, {0}, {300, 1000, 2000}, 30}, 0, 0.005},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_between(compute_figure_mix(&rows[i].mix, COMPUTE_SEED_REPORT).lambda,
			       rows[i].least, rows[i].most, rows[i].mix.discipline);
}

TEST(the_others_run_again_within_a_slice_and_100_ms)
{
	for (const struct arbiter_discipline *d = arbiter_disciplines; d->name; d++)
		for (uint64_t seed = 0; seed < 60; seed++)
			assert_between(compute_figure_stopped(d->name, COMPUTE_SEED_REPORT + seed),
				       0.05, (strcmp(d->name, "vmcg") == 0 ? 16 : 6) + 100,
				       d->name);
}

TEST(a_synchronous_tenant_is_not_starved)
{
	for (const struct arbiter_discipline *d = arbiter_disciplines; d->name; d++) {
		double mean_ms, max_ms;

		compute_figure_response(d->name, COMPUTE_SEED_REPORT, &mean_ms, &max_ms);
		assert_between(mean_ms, 0.4, 5, d->name);
		assert_between(max_ms, 0.4, 70, d->name);
	}
}
