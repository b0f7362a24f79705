/* SPDX-License-Identifier: MIT */
/*
 * The compute device in virtual time (tests/bench/compute/): order, accounting, bursts and
 * synchronous tenants; and the figures of FairGV and VMCG.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "tests/bench/compute/device.h"
#include "tests/bench/compute/figures.h"
#include "tests/unit/unit.h"

static struct compute_sim sim;

static void start(const char *discipline, uint64_t seed)
{
	compute_start(&sim, &(struct compute_options){.discipline = discipline, .seed = seed});
}

static struct compute_tenant *add(const struct compute_workload *work)
{
	return compute_add(&sim, NULL, work);
}

TEST(a_burst_is_answered_by_its_last_unit)
{
	struct compute_tenant *tenant;

	start("fair", 1);
	tenant = add(&(struct compute_workload){.pattern = COMPUTE_BURSTY,
						.unit_ns = NS_PER_MS,
						.burst = 7,
						.pause_ns = 3 * NS_PER_MS});
	compute_run(&sim, 10 * NS_PER_S);
	assert_in_range(tenant->responses, 950, 1050);
	assert_int_equal(tenant->response_max_ns, 7 * NS_PER_MS);
	assert_int_equal(tenant->response_sum_ns, tenant->responses * 7 * NS_PER_MS);
	assert_in_range(tenant->units, tenant->responses * 7, tenant->responses * 7 + 6);
}

TEST(a_synchronous_tenant_has_one_unit_in_flight)
{
	struct compute_tenant *tenant;

	start("fair", 1);
	tenant = add(&(struct compute_workload){
		.pattern = COMPUTE_INTERACTIVE, .unit_ns = 400000, .pause_ns = 100000});
	compute_run(&sim, NS_PER_S);
	assert_in_range(tenant->units, 1998, 2000);
	assert_int_equal(tenant->response_max_ns, 400000);
	assert_int_equal((int)(compute_busy_pct(&sim) + 0.5), 80);
}

TEST(the_same_seed_gives_the_same_figures)
{
	const struct compute_workload work = {.unit_ns = NS_PER_MS, .spread_pct = 50};
	uint64_t units[3];

	for (int i = 0; i < 3; i++) {
		start("fair", i < 2 ? 5 : 6);
		add(&work);
		add(&work);
		compute_run(&sim, 10 * NS_PER_S);
		units[i] = sim.tenants[0].busy_ns;
	}
	assert_int_equal(units[0], units[1]);
	assert_int_not_equal(units[0], units[2]);
}

/* Every discipline, with all patterns: what was charged is what the device did. */
TEST(the_charges_are_the_device_time)
{
	for (const struct arbiter_discipline *d = arbiter_disciplines; d->name; d++)
		for (uint64_t seed = 1; seed <= 10; seed++) {
			uint64_t busy_ns = 0;

			start(d->name, seed);
			sim.options.hand_over_ns = seed % 2 * COMPUTE_HAND_OVER_NS;
			add(&(struct compute_workload){.unit_ns = 100000 * seed, .spread_pct = 90});
			add(&(struct compute_workload){.pattern = COMPUTE_BURSTY,
						       .unit_ns = 300000,
						       .burst = (unsigned int)seed * 10,
						       .pause_ns = 5 * NS_PER_MS});
			add(&(struct compute_workload){.pattern = COMPUTE_INTERACTIVE,
						       .unit_ns = 50000,
						       .pause_ns = 200000});
			compute_run(&sim, 5 * NS_PER_S);
			for (int i = 0; i < sim.n_tenants; i++) {
				const struct compute_tenant *tenant = &sim.tenants[i];

				assert_int_equal(tenant->busy_ns, tenant->tenant.busy_ns);
				assert_true(tenant->units > 0);
				busy_ns += tenant->busy_ns;
			}
			assert_int_equal(busy_ns, sim.busy_ns);
			assert_int_equal(busy_ns, sim.arbiter.busy_ns);
			assert_true(busy_ns <= 5 * NS_PER_S);
		}
}

/* Without hand-over and idle holders, a work-conserving discipline never lets work wait. */
TEST(the_device_never_idles_while_saturating_tenants_have_work)
{
	for (const struct arbiter_discipline *d = arbiter_disciplines; d->name; d++) {
		start(d->name, 3);
		add(&(struct compute_workload){.unit_ns = 200000, .spread_pct = 50});
		add(&(struct compute_workload){.unit_ns = 9 * NS_PER_MS, .spread_pct = 50});
		compute_run(&sim, 5 * NS_PER_S);
		assert_int_equal(sim.starved_ns, 0);
	}
}

TEST(a_stopped_tenant_submits_nothing_more)
{
	struct compute_tenant *stopped, *other;

	start("fair", 1);
	stopped = add(&(struct compute_workload){.unit_ns = 200000, .stops_at_ns = NS_PER_S});
	other = add(&(struct compute_workload){.unit_ns = 200000});
	compute_run(&sim, 3 * NS_PER_S);
	assert_in_range(stopped->busy_ns, NS_PER_S / 2 - 10 * NS_PER_MS, 520 * NS_PER_MS);
	assert_in_range(other->busy_ns, 2400 * NS_PER_MS, 2520 * NS_PER_MS);
	assert_true(stopped->tenant.revoked <= 1);
}

TEST(figures_can_be_set_to_zero)
{
	start("fair", 1);
	add(&(struct compute_workload){.unit_ns = 200000});
	compute_run(&sim, NS_PER_S);
	compute_forget(&sim);
	assert_int_equal(sim.busy_ns, 0);
	compute_run(&sim, 2 * NS_PER_S);
	assert_int_equal((int)(compute_share_pct(&sim, &sim.tenants[0]) + 0.5), 100);
	assert_true(compute_mmr(&sim) > 0.99);
	assert_true(compute_lambda(&sim) < 0.01);
}

/* --- the figures of FairGV and VMCG, with seeds that no constant was chosen with --- */

/* Virtual time is exact, so that these tests do not depend on the machine. */
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
