/* SPDX-License-Identifier: MIT */
/* Policy qos: with constant demands, caps come to rest, and no vGPU gets less than its entitlement.
 * tests/bench/eval/stability measures more of the same kind with the simulated scheduler. */
#include "tests/unit/policy/test-policy.h"

#define REST_S	 5.0 /* after the first readings; at long periods, two periods */
#define RUN_S	 60
#define FPS	 60
#define COUNTING 0.98 /* a demand that is measured by frames is wrong by up to 2 % */

struct demands {
	int n, sum_pct;
	bool equal, frames;
	double period_s;
	enum policy_sharing sharing;
};

static double demand_pct(const struct demands *demands, int index)
{
	static const int parts[] = {3, 1, 2};
	int sum = 0;

	if (demands->equal)
		return (double)demands->sum_pct / demands->n;
	for (int i = 0; i < demands->n; i++)
		sum += parts[i % 3];
	return fmin(95, (double)demands->sum_pct * parts[index % 3] / sum);
}

static int contract_pct(const struct demands *demands, int index)
{
	static const int parts[] = {1, 2, 3, 1};
	int least_pct = (int)ceil(demand_pct(demands, index));
	int pct = demands->equal ? 2 * least_pct : 80 * parts[index % 4] / demands->n;

	return (int)fmin(100, fmax(pct, least_pct));
}

static void make(const struct demands *demands)
{
	static const char *const ids[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	struct given given[BENCH_MAX + 1] = {{0}};
	int contracts_pct = 0;

	for (int i = 0; i < demands->n; i++)
		contracts_pct += contract_pct(demands, i);
	for (int i = 0; i < demands->n; i++) {
		int pct = contract_pct(demands, i);

		given[i] = (struct given){ids[i], pct,
					  .cap = (int)fmin(pct, floor(100.0 * pct / contracts_pct)),
					  .target = demands->frames ? FPS : 0};
	}
	bench_init(given, 1);
	bench.policy = policy_find("qos");
	bench.gpu.period_s = demands->period_s;
	bench.gpu.sharing = demands->sharing;
}

/*
 * Computes what the GPU serves if vGPU i wants @want_pct[i]: up to its cap and, with guarantees,
 * spare time in proportion to the caps, up to its contract.
 */
static void serve(const struct demands *demands, const double *want_pct, double *ret_pct)
{
	double left_pct = 100;

	for (int i = 0; i < demands->n; i++) {
		ret_pct[i] = fmin(want_pct[i], bench.vgpus[i].cap_pct);
		left_pct -= ret_pct[i];
	}
	while (demands->sharing == POLICY_SHARING_GUARANTEE && left_pct > 1e-9) {
		double caps_pct = 0, given_pct = 0;

		for (int i = 0; i < demands->n; i++)
			if (ret_pct[i] < fmin(want_pct[i], contract_pct(demands, i)))
				caps_pct += bench.vgpus[i].cap_pct;
		for (int i = 0; i < demands->n && caps_pct > 0; i++) {
			double most_pct = fmin(want_pct[i], contract_pct(demands, i)) - ret_pct[i];
			double part_pct = left_pct * bench.vgpus[i].cap_pct / caps_pct;

			part_pct = fmax(0, fmin(part_pct, most_pct));
			ret_pct[i] += part_pct;
			given_pct += part_pct;
		}
		if (given_pct < 1e-9)
			break;
		left_pct -= given_pct;
	}
}

/* A period contains a whole number of frames. Work that was not done waits for the next period. */
static void read_period(const struct demands *demands, double *frames, double *waiting_pct_s)
{
	double want_pct[BENCH_MAX], served_pct[BENCH_MAX], period_s = demands->period_s;

	for (int i = 0; i < demands->n; i++) {
		waiting_pct_s[i] += demand_pct(demands, i) * period_s;
		want_pct[i] =
			demands->frames ? demand_pct(demands, i) : waiting_pct_s[i] / period_s;
	}
	serve(demands, want_pct, served_pct);
	for (int i = 0; i < demands->n; i++) {
		struct policy_vgpu *vgpu = &bench.vgpus[i];
		double before = floor(frames[i]);

		waiting_pct_s[i] -= served_pct[i] * period_s;
		frames[i] += FPS * served_pct[i] / demand_pct(demands, i) * period_s;
		bench_read(vgpu, served_pct[i] / vgpu->cap_pct,
			   demands->frames ? (floor(frames[i]) - before) / period_s : NAN);
	}
}

static const char *name(const struct demands *demands)
{
	static char text[128];

	snprintf(text, sizeof(text), "%s, %d vGPUs, %d %%, %s, %s, %g s",
		 policy_sharing_name(demands->sharing), demands->n, demands->sum_pct,
		 demands->equal ? "equal" : "unequal", demands->frames ? "frames" : "work",
		 demands->period_s);
	return text;
}

static void check_entitlements(const struct demands *demands)
{
	int contracts_pct = 0;

	for (int i = 0; i < demands->n; i++)
		contracts_pct += contract_pct(demands, i);
	for (int i = 0; i < demands->n; i++) {
		double share_pct = 100.0 * contract_pct(demands, i) / contracts_pct;
		double least_pct = fmin(0.975 * demand_pct(demands, i), fmax(1, floor(share_pct)));

		if (bench.vgpus[i].cap_pct < COUNTING * least_pct)
			fail_msg("%s: %s gets %d of %g %%", name(demands), bench.vgpus[i].id,
				 bench.vgpus[i].cap_pct, least_pct);
	}
}

static void check_rest(const struct demands *demands)
{
	double frames[BENCH_MAX] = {0}, waiting_pct_s[BENCH_MAX] = {0};
	double limit_s = fmax(REST_S, 2 * demands->period_s);
	int late = 0;

	make(demands);
	for (double t_s = 0; t_s < RUN_S; t_s += demands->period_s) {
		read_period(demands, frames, waiting_pct_s);
		bench_step();
		late += t_s > limit_s ? bench.out.n_moves : 0;
		for (int i = 0; i < demands->n; i++)
			bench.vgpus[i].cap_pct = bench.vgpus[i].want_cap_pct;
	}
	if (late > 0)
		fail_msg("%s: %d late moves", name(demands), late);
	check_entitlements(demands);
}

static void check_all(enum policy_sharing sharing)
{
	static const int numbers[] = {2, 3, 5, 8};
	static const int sums_pct[] = {50, 80, 95, 100, 105, 108, 120, 150, 200};
	static const double periods_s[] = {0.2, 1, 2, 5};

	for (int n = 0; n < 4; n++)
		for (int s = 0; s < 9; s++)
			for (int p = 0; p < 4; p++)
				for (int kind = 0; kind < 4; kind++) {
					struct demands demands = {numbers[n],	sums_pct[s],
								  kind & 1,	kind & 2,
								  periods_s[p], sharing};

					check_rest(&demands);
				}
}

TEST(test_caps_rest_under_constant_demands)
{
	check_all(POLICY_SHARING_HARD);
}

TEST(test_guarantees_rest_under_constant_demands)
{
	check_all(POLICY_SHARING_GUARANTEE);
}

/* a and b want 30 % of the GPU, c 48 % for 60 FPS, and the contracts are equal: a and b are served,
 * and c gets the rest. Before, the cap of c swung between 36 and 2 % every second. */
TEST(test_three_that_want_108_percent_rest)
{
	static const double want_pct[] = {30, 30, 48};
	int late = 0;

	bench_init((const struct given[]){{"a", 50, .cap = 45},
					  {"b", 50, .cap = 45},
					  {"c", 50, .cap = 10, .target = FPS},
					  {.id = NULL}},
		   1);
	bench.policy = policy_find("qos");
	for (int t = 0; t < RUN_S; t++) {
		for (int i = 0; i < 3; i++) {
			double served_pct = fmin(want_pct[i], bench.vgpus[i].cap_pct);

			bench_read(&bench.vgpus[i], served_pct / bench.vgpus[i].cap_pct,
				   i == 2 ? floor(FPS * served_pct / want_pct[i]) : NAN);
		}
		bench_step();
		late += t > REST_S ? bench.out.n_moves : 0;
		for (int i = 0; i < 3; i++)
			bench.vgpus[i].cap_pct = bench.vgpus[i].want_cap_pct;
	}
	assert_int_equal(late, 0);
	assert_in_range(bench.vgpus[0].cap_pct, 30, 32);
	assert_in_range(bench.vgpus[1].cap_pct, 30, 32);
	assert_in_range(bench.vgpus[2].cap_pct, 36, 40);
}
