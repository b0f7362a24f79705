/* SPDX-License-Identifier: MIT */
/* Tests the account of a run: broken time, shortfall, fair shares, revenue and penalty. */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "sim/experiment/account.h"
#include "tests/unit/unit.h"

#define CLOSE(got, wanted) assert_true(fabs((got) - (wanted)) < 1e-6)

static struct account account;
static struct account_vgpu vgpus[4];
static struct account_vgpu *const all[4] = {&vgpus[0], &vgpus[1], &vgpus[2], &vgpus[3]};

static void begin(double seconds)
{
	account_init(&account, seconds);
	memset(vgpus, 0, sizeof(vgpus));
}

static struct account_summary sum(int n)
{
	struct account_summary summary;

	account_summarize(&account, vgpus, n, &summary);
	return summary;
}

/* --- broken --- */

static const struct {
	const char *rule;
	struct account_sample sample;
	bool broken;
	double shortfall;
} judgements[] = {
	{"a target that is reached is not broken",
	 .sample = {.target_fps = 60, .makes_frames = true, .fps = 60, .util = 1}, false, 0},
	{"1.5 frames per second below the target is not broken",
	 .sample = {.target_fps = 60, .makes_frames = true, .fps = 58.5, .util = 1}, false, 0.025},
	{"more than 1.5 frames below is broken",
	 .sample = {.target_fps = 60, .makes_frames = true, .fps = 57, .util = 1}, true, 0.05},
	{"2 percent below the target is not broken",
	 .sample = {.target_fps = 200, .makes_frames = true, .fps = 196, .util = 1}, false, 0.02},
	{"more than 2 percent below is broken",
	 .sample = {.target_fps = 200, .makes_frames = true, .fps = 180, .util = 1}, true, 0.1},
	{"a slow guest that is not GPU-bound is not broken",
	 .sample = {.target_fps = 60, .makes_frames = true, .fps = 20, .util = 0.69}, false, 0},
	{"GPU-bound starts at 70 %",
	 .sample = {.target_fps = 60, .makes_frames = true, .fps = 30, .util = 0.7}, true, 0.5},
	/* the GPU of these samples is idle for the rest of the time */
	{"with guarantees, a vGPU below its ceiling is not GPU-bound on an idle GPU",
	 .sample = {.ceiling_pct = 50,
		    .target_fps = 60,
		    .makes_frames = true,
		    .fps = 30,
		    .load = 0.34,
		    .util = 2},
	 false, 0},
	{"with guarantees, a vGPU with 70 % of its ceiling is GPU-bound",
	 .sample = {.ceiling_pct = 50,
		    .target_fps = 60,
		    .makes_frames = true,
		    .fps = 30,
		    .load = 0.35,
		    .util = 2},
	 true, 0.5},
	{"without any frame the shortfall is 1",
	 .sample = {.target_fps = 60, .makes_frames = true, .fps = 0, .util = 1}, true, 1},
	{"98 % of the demand served is not broken",
	 .sample = {.contract_pct = 50, .demand = 0.4, .load = 0.392, .util = 1}, false, 0.02},
	{"less than 98 % is broken",
	 .sample = {.contract_pct = 50, .demand = 0.4, .load = 0.39, .util = 1}, true, 0.025},
	{"demand above the contract is not owed",
	 .sample = {.contract_pct = 50, .demand = 0.9, .load = 0.49, .util = 1}, false, 0.02},
	{"the contract is owed",
	 .sample = {.contract_pct = 50, .demand = 0.9, .load = 0.25, .util = 1}, true, 0.5},
	{"no demand is not broken",
	 .sample = {.contract_pct = 50, .demand = 0, .load = 0, .util = 0}, false, 0},
	{"queued work is not demand of this second",
	 .sample = {.contract_pct = 50, .demand = 0.1, .load = 0.3, .util = 1}, false, 0},
	{"a target without frames is judged by the demand",
	 .sample = {.target_fps = 60, .contract_pct = 50, .demand = 0.4, .load = 0.2, .util = 1},
	 true, 0.5},
};

TEST(broken_seconds_and_their_shortfall)
{
	for (size_t i = 0; i < ARRAY_SIZE(judgements); i++) {
		struct account_sample sample = judgements[i].sample;

		begin(10);
		account_period(&account, 1, 0, &sample, all, 1);
		if (sample.broken != judgements[i].broken ||
		    fabs(sample.shortfall - judgements[i].shortfall) > 1e-9)
			fail_msg("%s: broken %d, shortfall %g", judgements[i].rule, sample.broken,
				 sample.shortfall);
	}
}

TEST(broken_seconds_are_counted_by_depth)
{
	static const double loads[] = {0.39, 0.37, 0.34, 0.21, 0.1, 0.4};
	static const double seconds[ACCOUNT_DEPTHS] = {2, 2, 2, 2, 2};
	struct account_summary summary;

	begin(12);
	for (size_t i = 0; i < ARRAY_SIZE(loads); i++) {
		struct account_sample sample = {
			.contract_pct = 50, .demand = 0.4, .load = loads[i], .util = 1};

		account_period(&account, 2, 0, &sample, all, 1);
	}
	summary = sum(1);
	for (int i = 0; i < ACCOUNT_DEPTHS; i++)
		CLOSE(summary.depth_s[i], seconds[i]);
	CLOSE(summary.broken_s, 10);
	CLOSE(summary.vgpu_s, 12);
	CLOSE(summary.broken_pct, 1000 / 12.0);
	CLOSE(vgpus[0].broken_s, 10);
}

TEST(the_worst_vgpu_is_reported)
{
	struct account_sample samples[2] = {
		{.contract_pct = 50, .demand = 0.4, .load = 0.4},
		{.contract_pct = 50, .demand = 0.4, .load = 0.2},
	};

	begin(2);
	account_period(&account, 1, 0, samples, all, 2);
	samples[1].load = 0.4;
	account_period(&account, 1, 0, samples, all, 2);
	CLOSE(sum(2).broken_pct, 25);
	CLOSE(sum(2).worst_broken_pct, 50);
}

TEST(the_shortfall_is_weighted_by_depth_over_the_promised_time)
{
	struct account_sample samples[3] = {
		{.target_fps = 60, .makes_frames = true, .fps = 45, .util = 1},
		{.target_fps = 60, .makes_frames = true, .fps = 3, .util = 1},
		{.contract_pct = 50, .demand = 0, .load = 0.2}, /* drains a queue */
	};

	begin(4);
	account_period(&account, 2, 0, samples, all, 3);
	CLOSE(sum(3).promised_s, 4);
	CLOSE(sum(3).shortfall_s, 2 * 0.25 + 2 * 0.95);
	CLOSE(sum(3).shortfall_pct, 60);
	CLOSE(sum(3).worst_shortfall_pct, 95);
	CLOSE(sum(3).broken_pct, 200 / 3.0);

	samples[2].demand = 0.4;
	samples[2].load = 0.2;
	account_period(&account, 2, 0, samples, all, 3);
	samples[2].demand = 0;
	account_period(&account, 2, 0, &samples[2], (struct account_vgpu *[]){all[2]}, 1);
	CLOSE(vgpus[2].promised_s, 2);
	CLOSE(vgpus[2].shortfall_s, 1);
}

/* --- the host --- */

TEST(averages_of_the_run_and_of_its_last_tenth)
{
	struct account_sample samples[3] = {
		{.contract_pct = 50}, {.contract_pct = 50}, {.contract_pct = 20}};
	struct account_summary summary;

	begin(20);
	for (int t = 0; t < 18; t++)
		account_period(&account, 1, 0.5, samples, all, 2);
	account_period(&account, 1, 1, samples, all, 3);
	account_period(&account, 1, 0.9, samples, all, 3);
	summary = sum(3);
	CLOSE(summary.util_avg_pct, (18 * 50 + 190) / 20.0);
	CLOSE(summary.util_final_pct, 95);
	CLOSE(summary.vgpus_avg, (18 * 2 + 2 * 3) / 20.0);
	CLOSE(summary.sold_cap_pct_s, 18 * 100 + 2 * 120);
	CLOSE(summary.overbooking_avg, 1.02);
	CLOSE(summary.overbooking_final, 1.2);
	assert_int_equal(summary.vgpus_start, 2);
	assert_int_equal(summary.vgpus_end, 3);
	assert_int_equal(summary.vgpus_most, 3);
}

TEST(revenue_and_penalty)
{
	struct account_sample samples[2] = {
		{.contract_pct = 50,
		 .demand = 0.4,
		 .load = 0.2,
		 .price_per_cap_hour = 3,
		 .penalty_per_broken_s = 0.02},
		{.contract_pct = 25, .price_per_cap_hour = 4, .penalty_per_broken_s = 1},
	};
	struct account_summary summary;

	begin(3600);
	for (int t = 0; t < 1800; t++)
		account_period(&account, 2, 0.5, samples, all, 2);
	summary = sum(2);
	CLOSE(summary.revenue, 1.5 + 1);
	CLOSE(summary.penalty, 72);
	CLOSE(summary.profit, 2.5 - 72);
	CLOSE(vgpus[0].penalty, 72);
	CLOSE(vgpus[1].revenue, 1);
}

TEST(a_broken_second_costs_its_shortfall)
{
	struct account_sample samples[3] = {
		{.contract_pct = 50, .demand = 0.4, .load = 0.3, .penalty_per_broken_s = 0.01},
		/* not broken: within the tolerance */
		{.contract_pct = 50, .demand = 0.4, .load = 0.395, .penalty_per_broken_s = 0.01},
		{.contract_pct = 50, .demand = 0.4, .load = 0, .penalty_per_broken_s = 2},
	};

	begin(200);
	account_period(&account, 100, 0, samples, all, 3);
	CLOSE(vgpus[0].shortfall_penalty, 0.25);
	CLOSE(vgpus[1].shortfall_penalty, 0);
	CLOSE(sum(3).shortfall_penalty, 200.25);
	CLOSE(sum(3).penalty, 201);
	CLOSE(sum(3).net_income, -200.25);
}

TEST(a_move_adds_a_blackout_and_a_cost)
{
	struct account_sample sample = {
		.contract_pct = 50, .demand = 0.4, .load = 0.4, .price_per_cap_hour = 1};
	struct account_summary summary;

	begin(100);
	account_period(&account, 96, 0, &sample, all, 1);
	account_move(&account, 4, 0.01, 0.6, &vgpus[0]);
	summary = sum(1);
	assert_int_equal(summary.moves, 1);
	CLOSE(summary.blackout_s, 4);
	CLOSE(summary.broken_pct, 4);
	CLOSE(summary.worst_broken_pct, 4);
	CLOSE(summary.shortfall_s, 4);
	CLOSE(summary.shortfall_pct, 4);
	CLOSE(summary.worst_shortfall_pct, 4);
	CLOSE(summary.depth_s[ACCOUNT_DEPTHS - 1], 4);
	CLOSE(summary.vgpus_avg, 1); /* the vGPU is not on this GPU in its blackout */
	CLOSE(summary.sold_cap_pct_s, 96 * 50);
	CLOSE(summary.penalty, 0.04);
	CLOSE(summary.move_cost, 0.6);
	CLOSE(summary.net_income, 96 * 0.5 / 3600 - 0.04 - 0.6);
	CLOSE(vgpus[0].penalty, 0.04);
	CLOSE(vgpus[0].shortfall_penalty, 0.04);
	CLOSE(vgpus[0].move_cost, 0.6);
	CLOSE(vgpus[0].shortfall_s, 4);
}

/* --- fairness --- */

TEST(the_ideal_is_the_weighted_max_min_share)
{
	static const struct {
		const char *rule;
		double demand[3];
		int contract_pct[3];
		double weight[3], ideal[3];
	} rows[] = {
		{"a small demand is served, the others share the rest", .demand = {0.1, 1, 1},
		 .contract_pct = {50, 50, 50}, .weight = {1, 1, 1}, .ideal = {0.1, 0.45, 0.45}},
		{"no share exceeds the contract", .demand = {0.1, 1, 1},
		 .contract_pct = {50, 20, 50}, .weight = {1, 1, 1}, .ideal = {0.1, 0.2, 0.5}},
		{"shares are proportional to contract and weight", .demand = {1, 1, 1},
		 .contract_pct = {60, 60, 60}, .weight = {1, 1, 2}, .ideal = {0.25, 0.25, 0.5}},
		{"the rest of a round is divided again", .demand = {0.3, 0.34, 1},
		 .contract_pct = {50, 50, 50}, .weight = {1, 1, 1}, .ideal = {0.3, 0.34, 0.36}},
		{"no demand, no share", {0, 0, 0}, {50, 50, 50}, {1, 1, 1}, {0, 0, 0}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct account_sample samples[3];

		begin(1);
		for (int k = 0; k < 3; k++)
			samples[k] =
				(struct account_sample){.contract_pct = rows[i].contract_pct[k],
							.weight = rows[i].weight[k],
							.demand = rows[i].demand[k]};
		account_period(&account, 1, 0, samples, all, 3);
		for (int k = 0; k < 3; k++)
			if (fabs(samples[k].ideal - rows[i].ideal[k]) > 1e-9)
				fail_msg("%s: %d has %g", rows[i].rule, k, samples[k].ideal);
	}
}

static struct account_summary serve(const double *loads, const double *demands, int n)
{
	struct account_sample samples[4];

	begin(1);
	for (int i = 0; i < n; i++)
		samples[i] = (struct account_sample){.contract_pct = 100,
						     .weight = 1,
						     .demand = demands[i],
						     .load = loads[i],
						     .makes_frames = true};
	account_period(&account, 1, 0, samples, all, n);
	return sum(n);
}

/*
 * VMCG section 6.3: lambda is 0.09 for three equal vGPUs with 199, 227 and 248 frames per second,
 * and 0.01 for 240.6, 237.1 and 237.0.
 */
TEST(lambda_is_defined_as_in_vmcg)
{
	static const double busy[] = {1, 1, 1};
	static const double gvirt[] = {0.199, 0.227, 0.248}, vmcg[] = {0.2406, 0.2371, 0.2370};

	/* the paper prints 0.09, because it rounds an intermediate value */
	assert_true(fabs(serve(gvirt, busy, 3).lambda - 0.076) < 0.001);
	assert_true(fabs(serve(vmcg, busy, 3).lambda - 0.007) < 0.001); /* the paper: 0.01 */
}

TEST(mmr_is_defined_as_in_fairgv)
{
	static const double busy[] = {1, 1}, little[] = {0.1, 1};
	static const double even[] = {0.5, 0.5}, odd[] = {0.2, 0.8}, light[] = {0.1, 0.9};
	static const double beyond[] = {0.3, 0.7};

	CLOSE(serve(even, busy, 2).mmr, 1);
	CLOSE(serve(odd, busy, 2).mmr, 0.25);
	CLOSE(serve(light, little, 2).mmr, 1);
	CLOSE(serve(light, little, 2).lambda, 0);
	CLOSE(serve(beyond, little, 2).mmr, 7 / 9.0); /* frames above the target do not count */
}

TEST(a_vgpu_without_demand_does_not_affect_fairness)
{
	static const double loads[] = {0, 0.5}, demands[] = {0, 0.5};

	CLOSE(serve(loads, demands, 2).mmr, 1);
	CLOSE(serve(loads, loads, 1).mmr, 1);
	CLOSE(serve(loads, loads, 1).lambda, 0);
}

TEST(an_empty_run_is_all_zero)
{
	struct account_summary summary;

	begin(10);
	summary = sum(0);
	CLOSE(summary.broken_pct, 0);
	CLOSE(summary.util_avg_pct, 0);
	CLOSE(summary.util_final_pct, 0);
	assert_int_equal(summary.vgpus_start, 0);
}
