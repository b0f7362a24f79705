/* SPDX-License-Identifier: MIT */
/* The experiments. A simulation is too large for the stack: there is one, used in turns. */
#include "tests/bench/compute/figures.h"

#include "base/clock.h"
#include "sim/model/random.h"

#define US	  1000ULL
#define MEASURE_S 20

static struct compute_sim *begin(const char *discipline, uint64_t seed)
{
	static _Thread_local struct compute_sim sim;
	const struct compute_options options = {
		.discipline = discipline,
		.seed = seed,
		.hand_over_ns = COMPUTE_HAND_OVER_NS,
	};

	compute_start(&sim, &options);
	return &sim;
}

static void measure(struct compute_sim *sim)
{
	compute_run(sim, NS_PER_S);
	compute_forget(sim);
	compute_run(sim, (1 + MEASURE_S) * NS_PER_S);
}

struct compute_result compute_figure_mix(const struct compute_mix *mix, uint64_t seed)
{
	struct compute_sim *sim = begin(mix->discipline, seed);
	struct compute_result result = {0};
	unsigned int unit_us = 0;

	for (int i = 0; i < COMPUTE_TENANTS && mix->weights[i] > 0; i++) {
		const struct arbiter_share share = {mix->weights[i], mix->caps[i], 0};

		unit_us = mix->unit_us[i] > 0 ? mix->unit_us[i] : unit_us;
		compute_add(sim, &share,
			    &(struct compute_workload){.pattern = COMPUTE_SATURATING,
						       .unit_ns = unit_us * US,
						       .spread_pct = mix->spread_pct});
	}
	measure(sim);
	result.mmr = compute_mmr(sim);
	result.lambda = compute_lambda(sim);
	result.busy_pct = compute_busy_pct(sim);
	for (int i = 0; i < sim->n_tenants; i++)
		result.share_pct[i] = compute_share_pct(sim, &sim->tenants[i]);
	return result;
}

double compute_figure_utilisation(unsigned int sleep_pct, bool conserving, uint64_t seed)
{
	const struct compute_workload bs = {
		.pattern = COMPUTE_SATURATING,
		.unit_ns = 377 * US, /* FairGV Table 3 */
		.spread_pct = 10,
	};
	const struct compute_workload mm = {
		.pattern = COMPUTE_BURSTY,
		.unit_ns = 207 * US,
		.spread_pct = 10,
		.burst = 10,
		.pause_ns = 10 * 207 * US * sleep_pct / (100 - sleep_pct),
	};
	struct compute_sim *sim = begin("fair", seed);

	if (!conserving) {
		sim->arbiter.options.hold_min_ns = sim->arbiter.options.slice_ns;
		sim->arbiter.options.hold_max_ns = sim->arbiter.options.slice_ns;
	}
	compute_add(sim, NULL, &bs);
	compute_add(sim, NULL, &mm);
	measure(sim);
	return compute_busy_pct(sim);
}

double compute_figure_run_time(enum compute_scheduler scheduler, unsigned int unit_us,
			       unsigned int other_us, uint64_t seed)
{
	struct compute_sim *sim = begin(scheduler == COMPUTE_FAIR ? "fair" : "credit", seed);
	struct compute_tenant *tenant;

	sim->options.blind = scheduler == COMPUTE_CREDIT_BLIND;
	sim->options.depth = sim->options.blind ? 32 : 0;
	tenant = compute_add(sim, NULL,
			     &(struct compute_workload){.unit_ns = unit_us * US, .spread_pct = 5});
	compute_add(sim, NULL,
		    &(struct compute_workload){.unit_ns = other_us * US, .spread_pct = 5});
	measure(sim);
	return 100 / compute_share_pct(sim, tenant);
}

void compute_figure_response(const char *discipline, uint64_t seed, double *ret_mean_ms,
			     double *ret_max_ms)
{
	struct compute_sim *sim = begin(discipline, seed);
	const struct compute_workload heavy = {.unit_ns = 1 * NS_PER_MS, .spread_pct = 20};
	const struct compute_workload light = {
		.pattern = COMPUTE_INTERACTIVE,
		.unit_ns = 400 * US,
		.spread_pct = 10,
		.pause_ns = 100 * US,
	};
	const struct compute_tenant *tenant = compute_add(sim, NULL, &light);

	compute_add(sim, NULL, &heavy);
	compute_add(sim, NULL, &heavy);
	measure(sim);
	*ret_mean_ms = (double)tenant->response_sum_ns / (double)tenant->responses / 1e6;
	*ret_max_ms = (double)tenant->response_max_ns / 1e6;
}

double compute_figure_stopped(const char *discipline, uint64_t seed)
{
	struct compute_sim *sim = begin(discipline, seed);
	const uint64_t stops_ns = NS_PER_S + random_mix(seed) % (20 * NS_PER_MS);
	const struct compute_workload work = {.unit_ns = 200 * US, .spread_pct = 10};
	struct arbiter_tenant *holder;

	for (int i = 0; i < 3; i++)
		compute_add(sim, NULL, &work);
	compute_run(sim, stops_ns);
	holder = sim->arbiter.turn.tenant;
	if (!holder)
		return 0;
	for (int i = 0; i < 3; i++)
		if (&sim->tenants[i].tenant == holder)
			sim->tenants[i].work.stops_at_ns = stops_ns;
	while (sim->arbiter.turn.tenant == holder && sim->now_ns < stops_ns + NS_PER_S)
		compute_run(sim, sim->now_ns + NS_PER_MS / 10);
	return (double)(sim->now_ns - stops_ns) / 1e6;
}
