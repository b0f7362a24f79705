/* SPDX-License-Identifier: MIT */
/*
 * Every policy with steady tenants: for any demands and initial caps, the caps stop moving after
 * some periods, and then no vGPU is short while another vGPU has unused cap. The use of a tenant is
 * the smaller of its demand and its cap. GOVER_TEST_SEED=N selects other tenants, GOVER_TEST_PCT=N
 * only that percentage of them.
 */
#include <stdlib.h>

#include "tests/unit/policy/test-policy.h"

#define HOSTS	400 /* number of hosts for each policy */
#define PERIODS 800
#define QUIET	100 /* number of last periods in which no cap may move */

static uint64_t random_state;

static int random_int(int low, int high)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return low + (int)((random_state * UINT64_C(2685821657736338717) >> 33) %
			   (uint64_t)(high - low + 1));
}

struct host {
	double demand_pct[BENCH_MAX];
	double jitter_pct; /* random change of each demand per period, in percent */
	int moves;	   /* number of moves in the last period */
	int all_moves;
};

static void make_host(struct host *host, const struct policy *policy)
{
	static const char *const ids[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	static const int steps[] = {1, 1, 1, 2, 5, 7};
	struct given given[BENCH_MAX + 1] = {{0}};
	int n = random_int(1, 8), step = steps[random_int(0, 5)];

	for (int i = 0; i < n; i++)
		given[i] = (struct given){
			.id = ids[i],
			.contract = step * random_int(2, 14),
			.cap = step * random_int(1, 100 / step / n),
			.util = 0.5,
			.target = random_int(0, 2) == 0 ? 60 : 0,
			.weight = random_int(0, 2) == 0 ? random_int(1, 8) : 1,
			.held = random_int(0, 9) == 0,
			.burst = random_int(0, 5) == 0,
		};
	host->jitter_pct = 0;
	host->all_moves = 0;
	bench_init(given, step);
	bench.policy = policy;
	for (int i = 0; i < n; i++) {
		struct policy_vgpu *vgpu = &bench.vgpus[i];
		int ceiling = policy_ceiling_pct(&bench.gpu, &vgpu->terms);

		vgpu->cap_pct = vgpu->cap_pct < ceiling ? vgpu->cap_pct : ceiling;
		vgpu->want_cap_pct = vgpu->cap_pct;
		host->demand_pct[i] = random_int(0, 800) / 10.0;
	}
}

static int sum_pct(const struct policy_gpu *gpu)
{
	int sum = 0;

	for (int i = 0; i < gpu->n_vgpus; i++)
		sum += gpu->vgpus[i].cap_pct;
	return sum;
}

/* The FPS is in proportion to the share of the demand that is served. */
static void run_period(struct host *host)
{
	for (int i = 0; i < bench.gpu.n_vgpus; i++) {
		struct policy_vgpu *vgpu = &bench.vgpus[i];
		double demand_pct = host->demand_pct[i];
		double served_pct;

		demand_pct += demand_pct * host->jitter_pct / 100 * random_int(-100, 100) / 100;
		vgpu->cap_pct = vgpu->want_cap_pct;
		served_pct = fmin(demand_pct, vgpu->cap_pct);
		bench_read(vgpu, served_pct / vgpu->cap_pct,
			   demand_pct > 0 ? 60 * served_pct / demand_pct : 60);
	}
	bench_step();
	host->moves = bench.out.n_moves;
	host->all_moves += host->moves;
}

/* Returns the dead band in whole steps. */
static int band_pct(void)
{
	int step = bench.gpu.step_pct;

	return (int)ceil(bench.params.deadband_pct / step) * step;
}

static bool by_demand(const struct policy *policy)
{
	return policy == policy_find("credit") || policy == policy_find("fair");
}

/* Returns the unused cap of the other vGPUs if a vGPU that can receive uses its whole cap, and
 * otherwise 0. The part of a cap above load / 0.95, rounded up to a whole step, is unused. */
static int wasted_pct(void)
{
	const struct policy_gpu *gpu = &bench.gpu;
	int wasted = 0;
	bool wanting = false;

	for (int i = 0; i < gpu->n_vgpus; i++) {
		const struct policy_vgpu *vgpu = &gpu->vgpus[i];
		int need = (int)ceil(100 * vgpu->load / 0.95 / gpu->step_pct) * gpu->step_pct;

		if (vgpu->held)
			continue;
		if (vgpu->util > 0.999 &&
		    vgpu->cap_pct + band_pct() <= policy_ceiling_pct(gpu, &vgpu->terms))
			wanting = true;
		else if (vgpu->cap_pct > need)
			wasted += vgpu->cap_pct - need;
	}
	return wanting ? wasted + 100 - sum_pct(gpu) : 0;
}

/* Returns the last period in which a cap moved. */
static int run_to_rest(struct host *host)
{
	int last = 0;

	for (int t = 1; t <= PERIODS; t++) {
		run_period(host);
		if (host->moves > 0)
			last = t;
	}
	return last;
}

static void check_rest(const struct policy *policy)
{
	int moves = 0, longest = 0, n = bench_scaled(HOSTS);

	for (int h = 0; h < n; h++) {
		uint64_t seed = random_state;
		struct host host;
		int last;

		make_host(&host, policy);
		last = run_to_rest(&host);
		moves += host.all_moves;
		if (last > PERIODS - QUIET)
			fail_msg("GOVER_TEST_SEED=%llu: %s moved in period %d",
				 (unsigned long long)seed, policy->name, last);
		longest = last > longest ? last : longest;
		if (by_demand(policy))
			assert_in_range(wasted_pct(), 0, band_pct() * bench.gpu.n_vgpus);
	}
	print_message("  %s: %.1f moves a host, at rest after %d periods at most\n", policy->name,
		      (double)moves / n, longest);
}

TEST(test_steady_tenants_reach_steady_caps)
{
	for (size_t p = 0; policy_at(p); p++)
		check_rest(policy_at(p));
}

TEST(test_noisy_tenants_cause_few_moves)
{
	for (size_t p = 0; policy_at(p); p++) {
		double sum = 0, most = 0;
		int n = bench_scaled(HOSTS);

		for (int h = 0; h < n; h++) {
			double a_minute = 0;
			struct host host;

			make_host(&host, policy_at(p));
			host.jitter_pct = 10;
			for (int t = 1; t <= PERIODS; t++) {
				run_period(&host);
				a_minute += host.moves * 60.0 / PERIODS;
			}
			sum += a_minute;
			most = a_minute > most ? a_minute : most;
		}
		print_message("  %s: %.1f moves a minute and host, %.1f at most\n",
			      policy_at(p)->name, sum / n, most);
		assert_true(sum / n < 6);
	}
}

static int prepare(void)
{
	const char *seed = getenv("GOVER_TEST_SEED");

	random_state = seed ? strtoull(seed, NULL, 10) : 20180601;
	return 0;
}

FIXTURE_ONCE(prepare, NULL)
