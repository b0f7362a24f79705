/* SPDX-License-Identifier: MIT */
/* Tests the upper bound: no run that keeps the limit sells more, and simple cases are exact. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/bench/eval/bound.h"
#include "sim/experiment/best-schedule.h"
#include "tests/unit/temp-file.h"
#include "tests/unit/unit.h"

#define CLOSE(got, wanted) assert_true(fabs((got) - (wanted)) < 1e-6)

static struct scenario scenario; /* too large for the stack */
static struct err err;

static struct bound bound_of(const char *text)
{
	struct bound bound;

	temp_file_write(text);
	scenario_fini(&scenario);
	if (scenario_load(temp_file, &scenario, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(bound_compute(&scenario, 1, BEST_SCHEDULE_BROKEN_PCT, &bound, &err), 0);
	return bound;
}

static struct experiment_summary best_found(void)
{
	struct experiment *experiment;
	struct experiment_summary sum;
	struct best_schedule *found;

	assert_int_equal(
		best_schedule_new(&scenario, BEST_SCHEDULE_BY_FUTURE, NULL, 1, &found, &err), 0);
	assert_int_equal(best_schedule_experiment(found, NULL, NULL, &experiment, &err), 0);
	while (experiment_step(experiment))
		;
	experiment_summarize(experiment, &sum);
	experiment_free(experiment);
	best_schedule_free(found);
	return sum;
}

/* The sales of idle tenants are limited only by the probations and by max_vgpus. */
FIXTURE_ONCE(temp_file_make, temp_file_remove)

TEST(idle_tenants_reach_the_bound)
{
	static const char *const texts[] = {
		"[scenario]\nseconds = 100\n[offer]\nprobation_s = 20\n"
		"[tenant a]\nworkload = idle\n[arrivals]\nstart = 1\n",
		"[scenario]\nseconds = 100\n[offer]\nprobation_s = 20\nmax_vgpus = 3\n"
		"[tenant a]\nworkload = idle\n",
		"[scenario]\nseconds = 100\nperiod_ms = 500\n[offer]\nprobation_s = 20\n"
		"[tenant a]\nworkload = idle\ncount = 2\n[arrivals]\ndraw = listed\n",
		"[scenario]\nseconds = 100\n[offer]\nprobation_s = 20\n"
		"[tenant a]\nworkload = idle\ncount = 2\n"
		"[tenant b]\nworkload = idle\narrive_s = 10\nstay_s = 30\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct bound bound = bound_of(texts[i]);
		double sold_pct_s = best_found().account.sold_cap_pct_s;

		assert_true(bound.by_demand);
		CLOSE(bound.sold_pct_s, bound.places_pct_s);
		/* A probation that would end after the run is not begun. A tenant with an arrival
		 * time counts for one more period. */
		if (bound.sold_pct_s < sold_pct_s - 1e-6 ||
		    bound.sold_pct_s > sold_pct_s + 50 * 20 + 50)
			fail_msg("%zu: %g sold, bound %g", i, sold_pct_s, bound.sold_pct_s);
	}
}

/*
 * Two tenants with 70 % each do not fit together. The relaxation serves 1 / 0.98 - 0.7 of the
 * second one.
 */
TEST(demand_lowers_the_bound)
{
	struct bound bound = bound_of("[scenario]\nseconds = 400\n[offer]\nflavor_cap_pct = 80\n"
				      "[tenant a]\nworkload = load:pct=70\n"
				      "[arrivals]\nstart = 1\n");
	double alone_pct_s = 400 * 80;

	assert_true(bound.sold_pct_s >= alone_pct_s);
	assert_true(bound.sold_pct_s < 1.5 * alone_pct_s);
	assert_true(bound.places_pct_s > 5 * alone_pct_s);
}

TEST(no_schedule_exceeds_the_bound)
{
	static const char *const tenants[] = {
		"[tenant a]\nworkload = square:period_s=60,low_pct=5,high_pct=45\n",
		"[tenant a]\nworkload = load:pct=20\n[tenant b]\nworkload = load:pct=45\n",
		"[tenant a]\nworkload = burst:on_s=5,off_s=20,pct=40\n",
		"[tenant a]\nworkload = load:pct=9\n[tenant b]\n"
		"workload = square:period_s=100,low_pct=0,high_pct=50,phase_s=60\narrive_s = 5\n",
		"[tenant a]\nworkload = square:period_s=90,low_pct=5,high_pct=45\n"
		"shared_clock = on\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(tenants); i++) {
		struct experiment_summary sum;
		struct bound bound;
		char text[512];

		snprintf(text, sizeof(text),
			 "[scenario]\nseconds = 300\n[offer]\nprobation_s = 10\n%s"
			 "[arrivals]\nstart = 1\n",
			 tenants[i]);
		bound = bound_of(text);
		sum = best_found();
		assert_true(bound.by_demand);
		assert_true(sum.account.broken_pct <= BEST_SCHEDULE_BROKEN_PCT);
		if (sum.account.sold_cap_pct_s > bound.sold_pct_s)
			fail_msg("%zu: %g sold, bound %g", i, sum.account.sold_cap_pct_s,
				 bound.sold_pct_s);
	}
}

TEST(some_scenarios_have_only_the_bound_by_places)
{
	static const char *const texts[] = {
		"[scenario]\nmigrate = on\n[tenant a]\nworkload = busy\n",
		"[tenant a]\nworkload = busy\nstay_s = 100\n",
		"[scenario]\nseconds = 4001\n[tenant a]\nworkload = busy\n",
	};
	struct bound bound;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		bound = bound_of(texts[i]);
		assert_false(bound.by_demand);
		CLOSE(bound.sold_pct_s, bound.places_pct_s);
	}
	/* the demand of frames is not used */
	bound = bound_of("[tenant a]\nworkload = plot3d\ntarget_fps = 30\n");
	CLOSE(bound.sold_pct_s, bound.places_pct_s);
}
