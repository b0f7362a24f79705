/* SPDX-License-Identifier: MIT */
/* Tests the best schedule found: admission by offline search, and caps from known demand. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "sim/experiment/best-schedule.h"
#include "tests/unit/temp-file.h"
#include "tests/unit/unit.h"

#define CLOSE(got, wanted, by) assert_true(fabs((got) - (wanted)) <= (by))

static struct scenario scenario; /* too large for the stack */
static struct experiment *experiment;
static struct best_schedule *found;
static struct err err;

static int end(void)
{
	experiment = experiment_free(experiment);
	found = best_schedule_free(found);
	return 0;
}

FIXTURE(NULL, end)

static void load(const char *text)
{
	temp_file_write(text);
	if (scenario_load(temp_file, &scenario, &err) < 0)
		fail_msg("%s", err.msg);
}

/* Runs the scenario with the best schedule found. */
static struct experiment_summary play_found(enum best_schedule_kind kind,
					    const struct policy *policy)
{
	struct experiment_summary sum;

	assert_int_equal(best_schedule_new(&scenario, kind, policy, 1, &found, &err), 0);
	assert_int_equal(best_schedule_experiment(found, NULL, NULL, &experiment, &err), 0);
	while (experiment_step(experiment))
		;
	experiment_summarize(experiment, &sum);
	return sum;
}

static struct experiment_summary play(const char *text, enum best_schedule_kind kind)
{
	const struct policy *policy = policy_find("gover");
	struct experiment_summary sum;

	end();
	load(text);
	assert_int_equal(best_schedule_new(&scenario, kind, policy, 1, &found, &err), 0);
	assert_int_equal(best_schedule_experiment(found, NULL, NULL, &experiment, &err), 0);
	for (bool more = true; more;) {
		int sum_pct = 0;

		more = experiment_step(experiment);
		for (int i = 0; experiment_current_vgpu_at(experiment, i); i++)
			sum_pct += experiment_current_vgpu_at(experiment, i)->sampled_cap_pct;
		assert_true(sum_pct <= 100);
	}
	experiment_summarize(experiment, &sum);
	assert_true(sum.account.broken_pct <= BEST_SCHEDULE_BROKEN_PCT);
	assert_int_equal(sum.failed, 0);
	return sum;
}

FIXTURE_ONCE(temp_file_make, temp_file_remove)

TEST(profiles_give_the_future_demand)
{
	struct profiles *profiles;

	load("[tenant a]\nworkload = load:pct=30\n"
	     "[tenant b]\nworkload = glxgears\ntarget_fps = 140\n"
	     "[tenant c]\nworkload = busy\ncontract_pct = 20\n"
	     "[tenant d]\nworkload = square:period_s=10,low_pct=5,high_pct=25\n");
	profiles = profiles_new(&scenario, 1);
	CLOSE(profiles_need_pct(profiles, &scenario.tenants[0], 0, 7), 30, 1e-3);
	CLOSE(profiles_need_pct(profiles, &scenario.tenants[1], 1, 7), 7, 0.2);
	CLOSE(profiles_need_pct(profiles, &scenario.tenants[2], 2, 7), 20, 1e-3);
	CLOSE(profiles_need_pct(profiles, &scenario.tenants[3], 3, 4), 25, 1e-3);
	CLOSE(profiles_need_pct(profiles, &scenario.tenants[3], 3, 5), 5, 1e-3);
	CLOSE(profiles_need_pct(profiles, &scenario.tenants[3], 3, 10), 25, 1e-3);
	profiles_free(profiles);
}

TEST(as_many_tenants_as_fit_are_admitted)
{
	static const char text[] = "[offer]\nprobation_s = 5\n[tenant a]\nworkload = load:pct=30\n"
				   "[arrivals]\nstart = 1\n";

	assert_int_equal(play(text, BEST_SCHEDULE_BY_FUTURE).account.vgpus_end, 3);
	assert_int_equal(play(text, BEST_SCHEDULE_BY_POLICY).account.vgpus_end, 3);
}

/*
 * Tenant b fits only in the second half of the run. It arrives slightly earlier, because 1 % of
 * broken time is allowed.
 */
TEST(a_tenant_is_admitted_when_it_fits_until_the_end)
{
	static const char text[] =
		"[offer]\nprobation_s = 5\n"
		"[tenant a]\nworkload = square:period_s=200,low_pct=0,high_pct=90\n"
		"contract_pct = 90\narrive_s = 0\n"
		"[tenant b]\nworkload = load:pct=50\n[arrivals]\ndraw = listed\n";

	assert_int_equal(play(text, BEST_SCHEDULE_BY_FUTURE).sales, 1);
	CLOSE(experiment_vgpu_at(experiment, 1, NULL)->came_s, 98, 3);
	assert_int_equal(play(text, BEST_SCHEDULE_BY_POLICY).sales, 1);
	/* with the caps of a policy, a newcomer gets only capacity that was unused for the last 30
	 * s */
	CLOSE(experiment_vgpu_at(experiment, 1, NULL)->came_s, 130, 5);
}

/* Tenants a and b have high demand in turn. Caps from known demand move before each change. */
TEST(known_demand_moves_caps_in_time)
{
	static const char text[] =
		"[tenant a]\nworkload = square:period_s=20,low_pct=10,high_pct=70\n"
		"contract_pct = 80\narrive_s = 0\n"
		"[tenant b]\nworkload = square:period_s=20,low_pct=10,high_pct=70,phase_s=10\n"
		"contract_pct = 80\narrive_s = 0\n";

	/* The first second may be broken, because the first decision is made at its end. */
	assert_true(play(text, BEST_SCHEDULE_BY_FUTURE).account.broken_s < 1.5);
}

static int refuse_funding(const struct policy_params *params, struct policy_gpu *gpu,
			  const struct policy_terms *terms, struct policy_out *out)
{
	(void)params;
	(void)gpu;
	(void)terms;
	out->n_decisions = out->n_moves = 0;
	return -ENOSPC;
}

TEST(a_policy_cannot_prevent_admission)
{
	struct policy miser = *policy_find("gover");
	struct experiment_summary sum;

	miser.fund = refuse_funding;
	load("[offer]\nprobation_s = 5\n[tenant a]\nworkload = load:pct=30\n"
	     "[arrivals]\nstart = 1\n");
	sum = play_found(BEST_SCHEDULE_BY_POLICY, &miser);
	assert_int_equal(sum.account.vgpus_end, 3);
}

/* Tenant b causes overload and is removed by migration. Tenants c can then be sold. */
TEST(a_failed_sale_is_allowed_with_migration)
{
	static const char text[] = "[scenario]\nseconds = 600\nmigrate = on\nmigrate_s = 2\n"
				   "[offer]\nprobation_s = 5\nprobation_broken_pct = 5\n"
				   "[tenant a]\nworkload = load:pct=20\narrive_s = 0\ncount = 2\n"
				   "[tenant b]\nworkload = busy\n"
				   "[tenant c]\nworkload = load:pct=5\ncount = 2\n"
				   "[arrivals]\ndraw = listed\n";
	struct experiment_summary sum;

	load(text);
	sum = play_found(BEST_SCHEDULE_BY_POLICY, policy_find("gover"));
	assert_int_equal(sum.left, 1);
	assert_int_equal(sum.account.vgpus_end, 4);
	assert_true(sum.account.broken_pct <= BEST_SCHEDULE_BROKEN_PCT);
}

TEST(a_run_that_cannot_keep_the_limit_is_reported)
{
	static const struct {
		const char *text;
		bool start_keeps, keeps;
	} rows[] = {
		{"[tenant a]\nworkload = load:pct=20\n[arrivals]\nstart = 2\n", true, true},
		{"[tenant a]\nworkload = busy\n[arrivals]\nstart = 3\n", false, false},
		/* idle tenants that are sold make the broken share small enough */
		{"[offer]\nprobation_s = 5\nmax_vgpus = 256\n"
		 "[tenant a]\nworkload = square:period_s=1000,phase_s=497,low_pct=0,high_pct=50\n"
		 "arrive_s = 0\ncount = 3\n[tenant b]\nworkload = idle\n",
		 false, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct experiment_summary sum;
		bool start_keeps, keeps;

		end();
		load(rows[i].text);
		sum = play_found(BEST_SCHEDULE_BY_FUTURE, NULL);
		start_keeps = best_schedule_start_keeps_limit(found);
		keeps = sum.account.broken_pct <= BEST_SCHEDULE_BROKEN_PCT;
		if (start_keeps != rows[i].start_keeps || keeps != rows[i].keeps)
			fail_msg("%zu: %d %d", i, start_keeps, keeps);
		assert_true(keeps || sum.sales == 0);
	}
}

TEST(the_search_is_reproducible)
{
	static const char text[] =
		"[scenario]\nseconds = 100\n[offer]\nprobation_s = 5\n"
		"[tenant a]\nworkload = glmark2:scale=0.3\ntarget_fps = 160\n"
		"[tenant b]\nworkload = burst:on_s=5,off_s=9,pct=30\n[arrivals]\nstart = 2\n";
	struct experiment_summary first = play(text, BEST_SCHEDULE_BY_FUTURE),
				  again = play(text, BEST_SCHEDULE_BY_FUTURE);

	assert_int_equal(first.sales, again.sales);
	CLOSE(first.account.util_avg_pct, again.account.util_avg_pct, 0);
	CLOSE(first.account.broken_s, again.account.broken_s, 0);
}
