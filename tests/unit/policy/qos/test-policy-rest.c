/* SPDX-License-Identifier: MIT */
/* Policy qos: with constant demands, caps come to rest, and no vGPU gets less than its entitlement.
 * bench/eval/stability measures more of the same kind with the simulated scheduler. */
#include "tests/unit/policy/test-policy.h"

#define REST_S	 5.0 /* after the first readings; at long periods, two periods */
#define RUN_S	 60
#define FPS	 60
#define COUNTING 0.98 /* a demand that is measured by frames is wrong by up to 2 % */

struct demands {
	int n, sum_pct;
	bool equal, frames;
	double period_s;
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

static void make(struct bench *bench, const struct demands *demands)
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
	bench_init(bench, given, 1);
	bench->policy = policy_find("qos");
	bench->gpu.period_s = demands->period_s;
}

/* A period contains a whole number of frames. Work that was not done waits for the next period. */
static void read_period(struct bench *bench, const struct demands *demands, double *frames,
			double *waiting_pct_s)
{
	for (int i = 0; i < demands->n; i++) {
		struct policy_vgpu *vgpu = &bench->vgpus[i];
		double want_pct = demand_pct(demands, i), period_s = demands->period_s;
		double served_pct = fmin(want_pct, vgpu->cap_pct), before = floor(frames[i]);

		if (!demands->frames) {
			waiting_pct_s[i] += want_pct * period_s;
			served_pct = fmin(waiting_pct_s[i] / period_s, vgpu->cap_pct);
			waiting_pct_s[i] -= served_pct * period_s;
		}
		frames[i] += FPS * served_pct / want_pct * period_s;
		bench_read(vgpu, served_pct / vgpu->cap_pct,
			   demands->frames ? (floor(frames[i]) - before) / period_s : NAN);
	}
}

static void check_entitlements(const struct bench *bench, const struct demands *demands)
{
	int contracts_pct = 0;

	for (int i = 0; i < demands->n; i++)
		contracts_pct += contract_pct(demands, i);
	for (int i = 0; i < demands->n; i++) {
		double share_pct = 100.0 * contract_pct(demands, i) / contracts_pct;
		double least_pct = fmin(0.975 * demand_pct(demands, i), fmax(1, floor(share_pct)));

		if (bench->vgpus[i].cap_pct < COUNTING * least_pct)
			fail_msg("%d vGPUs, %d %%, %s, %s, %g s: %s gets %d of %g %%", demands->n,
				 demands->sum_pct, demands->equal ? "equal" : "unequal",
				 demands->frames ? "frames" : "work", demands->period_s,
				 bench->vgpus[i].id, bench->vgpus[i].cap_pct, least_pct);
	}
}

static void check_rest(const struct demands *demands)
{
	double frames[BENCH_MAX] = {0}, waiting_pct_s[BENCH_MAX] = {0};
	double limit_s = fmax(REST_S, 2 * demands->period_s);
	struct bench bench;
	int late = 0;

	make(&bench, demands);
	for (double t_s = 0; t_s < RUN_S; t_s += demands->period_s) {
		read_period(&bench, demands, frames, waiting_pct_s);
		bench_step(&bench);
		late += t_s > limit_s ? bench.out.n_moves : 0;
		for (int i = 0; i < demands->n; i++)
			bench.vgpus[i].cap_pct = bench.vgpus[i].want_cap_pct;
	}
	if (late > 0)
		fail_msg("%d vGPUs, %d %%, %s, %s, %g s: %d late moves", demands->n,
			 demands->sum_pct, demands->equal ? "equal" : "unequal",
			 demands->frames ? "frames" : "work", demands->period_s, late);
	check_entitlements(&bench, demands);
}

static void test_caps_rest_under_constant_demands(void **state)
{
	static const int numbers[] = {2, 3, 5, 8};
	static const int sums_pct[] = {50, 80, 95, 100, 105, 108, 120, 150, 200};
	static const double periods_s[] = {0.2, 1, 2, 5};

	(void)state;
	for (int n = 0; n < 4; n++)
		for (int s = 0; s < 9; s++)
			for (int p = 0; p < 4; p++)
				for (int kind = 0; kind < 4; kind++) {
					struct demands demands = {numbers[n], sums_pct[s], kind & 1,
								  kind & 2, periods_s[p]};

					check_rest(&demands);
				}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_caps_rest_under_constant_demands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
