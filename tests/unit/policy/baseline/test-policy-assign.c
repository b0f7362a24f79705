/* SPDX-License-Identifier: MIT */
/*
 * Every policy with steady tenants: for any demands and initial caps, the caps stop moving after
 * some periods, and then no vGPU is short while another vGPU has unused cap. The use of a tenant is
 * the smaller of its demand and its cap. GOVER_TEST_SEED=N selects other tenants, GOVER_TEST_PCT=N
 * only that percentage of them. Then tables for the policies that assign shares.
 */

#include "tests/unit/policy/test-policy.h"

#define HOSTS	400 /* number of hosts for each policy */
#define PERIODS 800
#define QUIET	100 /* number of last periods in which no cap may move */

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
		int need =
			(int)ceil(100 * vgpu->sample.load / 0.95 / gpu->step_pct) * gpu->step_pct;

		if (vgpu->held)
			continue;
		if (vgpu->sample.util > 0.999 &&
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
	random_begin(20180601);
	return 0;
}

FIXTURE_ONCE(prepare, NULL)

/* --- policies that assign shares --- */

struct row {
	const char *policy;
	const char *rule;
	int step;
	struct given vgpus[4];
	const char *decision; /* decisions as text from bench_text() */
	const char *numbers;  /* of that decision; NULL: not checked */
	double deadband_pct;  /* 0: the default value */
};

static const struct row rows[] = {
	{"none", "the shared percent are whole steps", 7,
	 .vgpus = {{"a", 63, .cap = 7}, {"b", 63, .cap = 7}, {"c", 63, .cap = 7}},
	 .decision = "share: a 7->35, b 7->35, c 7->28", .numbers = "vgpus=3 shared_pct=98"},
	{"static", "half of each contract, in whole steps", 10,
	 .vgpus = {{"a", 50, .cap = 50}, {"b", 10, .cap = 50}},
	 .decision = "share: a 50->20, b 50->10",
	 .numbers = "vgpus=2 shared_pct=100 static_ratio=2"},
	{"fair", "the demands of two vGPUs that use their whole caps are probed", 5,
	 .vgpus = {{"a", 80, .cap = 20, .util = 1}, {"b", 80, .cap = 80, .util = 1}},
	 .decision = "share a from b: b 80->50, a 20->50",
	 .numbers = "vgpus=2 shared_pct=100 wanting=2 demand_pct=130 spare_pct=0 deadband_pct=2"},
	{"fair", "a demand of 50 and one of 10: the other 40 are lent", 5,
	 .vgpus = {{"a", 80, .cap = 10, .util = 1}, {"b", 80, .cap = 10, .util = 0.5}},
	 .decision = "share: a 10->70, b 10->30",
	 .numbers = "vgpus=2 shared_pct=100 wanting=1 demand_pct=60 spare_pct=40 deadband_pct=2"},
	{"credit", "in proportion to claims of 25 and 20, plus 1 each", 5,
	 .vgpus = {{"a", 90, .cap = 20, .util = 1}, {"b", 90, .cap = 80, .util = 0.2}},
	 .decision = "share a from b: b 80->45, a 20->55",
	 .numbers = "vgpus=2 shared_pct=100 wanting=1 demand_pct=45 spare_pct=0 deadband_pct=2"},
	{"fair", "a raise of exactly one step is made", 5,
	 .vgpus = {{"a", 100, .cap = 45, .util = 1}, {"b", 100, .cap = 55, .util = 1}},
	 .decision = "share a from b: b 55->50, a 45->50"},
	{"fair", "the free pool is used before a cap is cut", 1,
	 .vgpus = {{"a", 50, .cap = 30, .util = 0.3},
		   {"b", 60, .cap = 30, .util = 1},
		   {"c", 21, .cap = 20, .util = 0.5}},
	 .decision = "share b from a: a 30->27, b 30->53"},
	{"fair", "the cuts are as large as the raises", 5,
	 .vgpus = {{"a", 50, .cap = 50, .util = 0.1},
		   {"b", 60, .cap = 30, .util = 1},
		   {"c", 25, .cap = 20, .util = 0.5}},
	 .decision = "share b from a: a 50->30, b 30->50", .deadband_pct = 6},
	{"fair", "caps that exceed 100 % in sum are cut only for a raise", 1,
	 .vgpus = {{"a", 80, .cap = 80, .util = 0.5}, {"b", 60, .cap = 60, .util = 0.5}},
	 .decision = ""},
};

TEST(test_caps_and_numbers_in_whole_steps)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("  %s: %s\n", rows[i].policy, rows[i].rule);
		bench_init(rows[i].vgpus, rows[i].step);
		bench.policy = policy_find(rows[i].policy);
		if (rows[i].deadband_pct > 0)
			bench.params.deadband_pct = rows[i].deadband_pct;
		bench_step();
		assert_string_equal(bench_text(), rows[i].decision);
		bench_check_wants();
		if (rows[i].numbers)
			bench_check_numbers(&bench.out.decisions[0], rows[i].numbers);
	}
}

static const struct {
	const char *policy;
	const char *rule;
	int step;
	struct given vgpus[3];
	struct policy_terms newcomer;
	int result;
	const char *decision, *numbers;
} fund_rows[] = {
	{"none", "an equal share in whole steps: the odd steps stay with older vGPUs", 5,
	 .vgpus = {{"a", 50, .cap = 50}, {"b", 50, .cap = 50}}, .newcomer = {.initial_cap_pct = 50},
	 .result = 30, .decision = "fund: a 50->35, b 50->35",
	 .numbers = "contract_pct=50 funded_pct=30 free_pct=0 given_pct=30 givers=2 "
		    "min_newcomer_pct=10"},
	{"none", "the cuts and the free pool are as large as the cap of the newcomer", 5,
	 .vgpus = {{"a", 90, .cap = 80}, {"b", 90, .cap = 10}}, .newcomer = {.initial_cap_pct = 50},
	 .result = 30, .decision = "fund from a: a 80->60",
	 .numbers = "contract_pct=50 funded_pct=30 free_pct=10 given_pct=20 givers=1 "
		    "min_newcomer_pct=10"},
	{"none", "exactly the newcomer's floor is enough", 1,
	 .vgpus = {{"a", 60, .cap = 60, .min_cap = 60}},
	 .newcomer = {.initial_cap_pct = 50, .min_cap_pct = 40}, .result = 40, .decision = "fund"},
	{"none", "exactly min_newcomer_pct is enough", 1,
	 .vgpus = {{"a", 90, .cap = 90, .held = true}}, .newcomer = {.initial_cap_pct = 50},
	 .result = 10, .decision = "fund"},
};

TEST(test_newcomers_are_funded_in_whole_steps)
{
	for (size_t i = 0; i < sizeof(fund_rows) / sizeof(fund_rows[0]); i++) {
		print_message("  %s: %s\n", fund_rows[i].policy, fund_rows[i].rule);
		bench_init(fund_rows[i].vgpus, fund_rows[i].step);
		bench.policy = policy_find(fund_rows[i].policy);
		bench.gpu.free_pct = 100 - fund_rows[i].vgpus[0].cap - fund_rows[i].vgpus[1].cap;
		assert_int_equal(bench.policy->fund(&bench.params, &bench.gpu,
						    &fund_rows[i].newcomer, &bench.out),
				 fund_rows[i].result);
		assert_string_equal(bench_text(), fund_rows[i].decision);
		if (fund_rows[i].numbers)
			bench_check_numbers(&bench.out.decisions[0], fund_rows[i].numbers);
	}
}

/* Load 0.152 needs a cap of 16 %: with this cap, the vGPU uses less than 95 % of it. */
static const struct {
	const char *rule;
	int step, cap;
	double util;
	int claim, claim_after;
} claims[] = {
	{"while the whole cap is used, the claim grows by a quarter", 1, 40, 1, 40, 50},
	{"a smaller claim grows from the cap", 1, 40, 1, 10, 50},
	{"a claim never exceeds the contract", 1, 80, 1, 80, 90},
	{"a small claim grows by the dead band", 1, 4, 1, 4, 6},
	{"growth is rounded up to whole steps", 5, 30, 1, 30, 40},
	{"small growth is one step", 5, 5, 1, 5, 10},
	{"at twice the dead band above the need, the claim does not change", 1, 20, 0.152 / 0.20,
	 30, 30},
	{"one percent more, and the claim shrinks to (need + dead band) / cap", 1, 21, 0.152 / 0.21,
	 30, 25},
	{"a step is the smallest dead band: 30 % is twice the dead band above 20 %", 5, 30,
	 0.152 / 0.30, 40, 40},
	{"one step more, and the claim shrinks by 25/35", 5, 35, 0.152 / 0.35, 40, 28},
	{"a claim is at least the need", 1, 20, 0.152 / 0.20, 5, 16},
	{"a claim is at least the need, in whole steps", 5, 30, 0.152 / 0.30, 5, 20},
};

TEST(test_claims_follow_the_use)
{
	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
		struct given given[2] = {{"a", 90, .cap = claims[i].cap, .util = claims[i].util,
					  .claim = claims[i].claim}};

		print_message("  %s\n", claims[i].rule);
		bench_init(given, claims[i].step);
		bench.policy = policy_find("credit");
		bench_step();
		assert_int_equal(bench.tracks[0].claim_pct, claims[i].claim_after);
	}
}

/* A vGPU that needs help prevents an offer, even if no cap can change: vGPU b is held. */
TEST(test_no_offer_while_a_vgpu_is_overloaded)
{
	static const char *const names[] = {"fair", "credit"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (int over_run = 0; over_run < 3; over_run++) {
			const struct given given[] = {
				{"a", 60, .cap = 40, .util = 1, .over_run = over_run},
				{"b", 60, .cap = 60, .held = true},
				{.id = NULL}};

			bench_init(given, 1);
			bench.policy = policy_find(names[i]);
			bench.gpu.selling = true;
			bench.gpu.flavors[0] =
				(struct policy_terms){.initial_cap_pct = 50, .weight = 1};
			bench.gpu.calm_run = 2;
			bench_step();
			assert_string_equal(bench_text(), over_run < 2 ? "offer" : "");
		}
	}
}
