/* SPDX-License-Identifier: MIT */
/* The simulated compute device: order, accounting, bursts, synchronous tenants. */
#include <string.h>

#include "base/clock.h"
#include "tests/bench/compute/device.h"
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
