/* SPDX-License-Identifier: MIT */
/* Tests scenarios made from recorded rows: estimated demand, times of tenants, and the summary. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "sim/model/trace.h"
#include "sim/experiment/recording.h"
#include "tests/unit/unit.h"

#define BEGIN_MS INT64_C(1700000000000)

static struct scenario scenario; /* too large for the stack */
static struct recording *recording;
static struct err err;

static int begin(void)
{
	scenario_default(&scenario);
	recording = recording_new();
	return 0;
}

static int end(void)
{
	recording = recording_free(recording);
	return 0;
}

FIXTURE(begin, end)

/* --- rows --- */

static void add(const char *id, int second, struct recording_row row)
{
	int vgpu = recording_vgpu(recording, id);

	row.at_ms = BEGIN_MS + 1000 * (int64_t)second;
	assert_true(vgpu >= 0);
	assert_int_equal(recording_add(recording, vgpu, &row, &err), 0);
}

/* Returns the row of a second with a contract of 50 %. */
static struct recording_row row_of(int cap_pct, double load_pct)
{
	return (struct recording_row){.dt_s = 1,
				      .cap_pct = cap_pct,
				      .contract_pct = 50,
				      .load_pct = load_pct,
				      .util_pct = 100 * load_pct / cap_pct,
				      .fps = NAN};
}

static void add_seconds(const char *id, int from, int to, struct recording_row row)
{
	for (int i = from; i < to; i++)
		add(id, i, row);
}

static void close_and_make(void)
{
	if (recording_finish(recording, &err) < 0 ||
	    recording_tenants(recording, &scenario, &err) < 0 ||
	    scenario_check(&scenario, &err) < 0)
		fail_msg("%s", err.msg);
}

static const struct trace *trace_of(int tenant)
{
	return scenario.tenants[tenant].workload.playback.trace;
}

/* --- estimated demand --- */

/*
 * A sequence of n seconds with the same readings. n = 0 ends the list. A negative load_pct means
 * that the reading is missing.
 */
struct stretch {
	int n, cap_pct;
	double load_pct, fps; /* negative fps: no frame rate */
};

struct want {
	int point;
	double fps, demand_pct;
};

static const struct demand_case {
	const char *rule;
	double target_fps;
	bool burst;
	struct stretch stretches[5];
	struct want wants[5]; /* from the second element on, point 0 ends the list */
} demand_cases[] = {
	{"below its cap the load is the demand", 0, false,
	 .stretches = {{10, 50, 20, -1}, {5, 30, 12, -1}}, .wants = {{0, 0, 20}, {12, 0, 12}}},
	{"at its contract the load is the demand", 0, false,
	 .stretches = {{10, 50, 50, -1}, {5, 50, 2, -1}}, .wants = {{0, 0, 50}, {12, 0, 2}}},
	{"at a lower cap demand is the median of higher loads, until the work done is reached", 0,
	 false, .stretches = {{10, 50, 40, -1}, {4, 20, 20, -1}, {5, 50, 10, -1}},
	 .wants = {{9, 0, 40}, {10, 0, 40}, {11, 0, 40}, {12, 0, 0}, {14, 0, 10}}},
	{"without higher loads demand is the contract", 0, false,
	 .stretches = {{10, 20, 20, -1}, {5, 50, 10, -1}},
	 .wants = {{0, 0, 50}, {3, 0, 50}, {4, 0, 0}, {10, 0, 10}}},
	{"with burst the contract is the whole GPU", 0, true,
	 .stretches = {{10, 20, 20, -1}, {5, 90, 10, -1}},
	 .wants = {{0, 0, 100}, {1, 0, 100}, {2, 0, 0}, {10, 0, 10}}},
	{"demand keeps its level if the recording ends in a busy period", 0, false,
	 .stretches = {{10, 50, 10, -1}, {5, 20, 20, -1}},
	 .wants = {{0, 0, 10}, {10, 0, 50}, {14, 0, 50}}},
	{"frames: the demand is the cost of the usual frame rate", 60, false,
	 .stretches = {{10, 50, 40, 80}, {5, 10, 10, 20}},
	 .wants = {{0, 80, 40}, {10, 80, 40}, {14, 80, 40}}},
	{"frames: without higher rates, the cost of the target", 60, false,
	 .stretches = {{15, 10, 10, 20}}, .wants = {{0, 60, 30}, {14, 60, 30}}},
	{"frames: above the target, the contract", 10, false, .stretches = {{15, 10, 10, 20}},
	 .wants = {{0, 100, 50}, {14, 100, 50}}},
	{"frames without a rate have the cost of frames before", 60, false,
	 .stretches = {{10, 50, 20, 40}, {5, 50, 30, -1}}, .wants = {{0, 40, 20}, {12, 60, 30}}},
	{"frames without a rate have the cost of frames after", 60, false,
	 .stretches = {{5, 50, 30, -1}, {10, 50, 20, 40}}, .wants = {{0, 60, 30}, {12, 40, 20}}},
	{"work of a second without frames is demand", 60, false,
	 .stretches = {{10, 50, 20, 40}, {5, 50, 30, 0}}, .wants = {{0, 40, 20}, {12, 0, 30}}},
	{"without a reading the last demand continues", 0, false,
	 .stretches = {{5, 50, 20, -1}, {5, 50, -1, -1}, {5, 50, 30, -1}},
	 .wants = {{4, 0, 20}, {9, 0, 20}, {10, 0, 30}}},
};

static void add_stretches(const struct demand_case *c)
{
	int second = 0;

	for (const struct stretch *s = c->stretches; s->n > 0; s++) {
		struct recording_row row = row_of(s->cap_pct, s->load_pct);

		row.target_fps = c->target_fps;
		if (s->fps >= 0)
			row.fps = s->fps;
		if (s->load_pct < 0)
			row.load_pct = row.util_pct = NAN;
		/* Seconds in which only vGPU "a" has no reading stay in the recording, because
		 * vGPU "clock" has readings. */
		for (int i = 0; i < s->n; i++, second++) {
			add("clock", second, row_of(10, 1));
			add("a", second, row);
		}
	}
}

static void check_case(const struct demand_case *c)
{
	struct recording_terms terms = {.weight = 1,
					.burst = c->burst,
					.price_per_cap_hour = -1,
					.penalty_per_broken_s = -1};

	assert_int_equal(begin(), 0);
	recording_set_terms(recording, recording_vgpu(recording, "a"), &terms);
	add_stretches(c);
	close_and_make();
	for (int i = 0; i == 0 || (i < 5 && c->wants[i].point > 0); i++) {
		const struct want *want = &c->wants[i];
		int tenant = strcmp(recording_id(recording, 0), "a") == 0 ? 0 : 1;
		struct trace_point got = trace_point_at(trace_of(tenant), (size_t)want->point);

		/* Estimates are histogram bins. The tolerance of 5 % covers the width of a bin. */
		if (fabs(got.demand_pct - want->demand_pct) > 1e-3 + 0.05 * want->demand_pct ||
		    fabs(got.fps_uncapped - want->fps) > 1e-3 + 0.05 * want->fps)
			fail_msg("%s: point %d: %g %% and %g frames, not %g and %g", c->rule,
				 want->point, got.demand_pct, got.fps_uncapped, want->demand_pct,
				 want->fps);
	}
	end();
}

TEST_WITH(demand_is_estimated_from_the_load, NULL, NULL)
{
	for (size_t i = 0; i < ARRAY_SIZE(demand_cases); i++)
		check_case(&demand_cases[i]);
}

TEST(estimated_times_are_counted)
{
	struct recording_row missing = row_of(50, 20);

	missing.load_pct = missing.util_pct = NAN;
	for (int i = 0; i < 20; i++) {
		add("a", i, row_of(50, 20));
		if (i < 5)
			add("b", i, row_of(20, 20));
		add("c", i, i < 4 || i >= 8 ? row_of(50, 20) : missing);
	}
	close_and_make();
	assert_true(fabs(recording_facts(recording).vgpu_s - 45) < 1e-6);
	assert_true(fabs(recording_facts(recording).censored_s - 5) < 1e-6);
	assert_true(fabs(recording_facts(recording).unknown_s - 4) < 1e-6);
	assert_int_equal(recording_facts(recording).vgpus, 3);
}

/* --- tenants --- */

TEST(tenants_arrive_and_leave_as_recorded)
{
	for (int i = 0; i < 60; i++) {
		add("a", i, row_of(40, 20));
		if (i >= 10 && i < 30)
			add("b", i, row_of(30, 10));
	}
	close_and_make();
	assert_int_equal(scenario.n_tenants, 2);
	assert_int_equal(scenario.seconds, 60);
	assert_int_equal(scenario.period_ms, 1000);
	assert_true(scenario.tenants[0].arrive_s <= 0 && scenario.tenants[0].stay_s <= 0);
	assert_int_equal(scenario.tenants[0].start_cap_pct, 40);
	assert_true(fabs(scenario.tenants[1].arrive_s - 10) < 1e-6);
	assert_true(fabs(scenario.tenants[1].stay_s - 20) < 1e-6);
	assert_int_equal(scenario.tenants[1].start_cap_pct, 0);
	assert_string_equal(recording_id(recording, 1), "b");
}

TEST(an_experiment_starts_with_the_recorded_caps)
{
	struct experiment *experiment;

	add_seconds("a", 0, 20, row_of(37, 20));
	close_and_make();
	assert_int_equal(
		experiment_new(&scenario, policy_find("gover"), 1, NULL, &experiment, &err), 0);
	assert_int_equal(experiment_vgpu_at(experiment, 0, NULL)->cap_pct, 37);
	experiment_free(experiment);
}

TEST(a_long_absence_makes_a_new_tenant)
{
	for (int i = 0; i < 60; i++) {
		add("a", i, row_of(40, 20));
		if (i < 10 || (i >= 13 && i < 20) || i >= 40)
			add("b", i, row_of(30, 10));
	}
	close_and_make();
	assert_int_equal(scenario.n_tenants, 3);
	assert_true(fabs(scenario.tenants[1].stay_s - 20) < 1e-6);
	assert_true(fabs(scenario.tenants[2].arrive_s - 40) < 1e-6);
	assert_int_equal(recording_facts(recording).vgpus, 2);
	assert_int_equal(recording_facts(recording).spans, 3);
}

TEST(a_changed_contract_makes_a_new_tenant)
{
	for (int i = 0; i < 40; i++) {
		struct recording_row row = row_of(20, 10);

		row.contract_pct = i < 20 ? 50 : 25;
		add("a", i, row);
	}
	close_and_make();
	assert_int_equal(scenario.n_tenants, 2);
	assert_int_equal(scenario.tenants[0].contract_pct, 50);
	assert_int_equal(scenario.tenants[1].contract_pct, 25);
	assert_true(fabs(scenario.tenants[1].arrive_s - 20) < 1e-6);
}

TEST(times_without_data_are_cut_out)
{
	struct recording_row first = row_of(40, 0);

	first.dt_s = 0; /* first period after a start of the daemon */
	first.load_pct = first.util_pct = NAN;
	add("a", 0, first);
	add_seconds("a", 1, 21, row_of(40, 20));
	add("a", 321, first);
	add_seconds("a", 322, 342, row_of(40, 30));
	close_and_make();
	assert_int_equal(scenario.n_tenants, 1);
	assert_int_equal(scenario.seconds, 40);
	assert_int_equal(recording_facts(recording).gaps, 1);
	assert_true(fabs(recording_facts(recording).gap_s - 301) < 1e-6);
	assert_true(fabs(trace_point_at(trace_of(0), 19).demand_pct - 20) < 1e-3);
	assert_true(fabs(trace_point_at(trace_of(0), 20).demand_pct - 30) < 1e-3);
}

TEST(a_short_recording_is_an_error)
{
	int vgpu = recording_vgpu(recording, "a");
	struct recording_row row = row_of(40, 20);

	add_seconds("a", 0, 9, row);
	row.at_ms = BEGIN_MS;
	assert_int_equal(recording_add(recording, vgpu, &row, &err), -EINVAL);
	row.at_ms = BEGIN_MS + 10000;
	row.contract_pct = 0;
	assert_int_equal(recording_add(recording, vgpu, &row, &err), -EINVAL);
	assert_int_equal(recording_finish(recording, &err), -ENODATA);
	assert_non_null(strstr(err.msg, "9 seconds"));
}

TEST(too_many_spans_are_an_error)
{
	for (int i = 0; i < RECORDING_SPANS_MAX + 1; i++) {
		char id[16];

		snprintf(id, sizeof(id), "v%d", i);
		add_seconds(id, 2 * i, 2 * i + 2, row_of(40, 20));
	}
	assert_int_equal(recording_finish(recording, &err), -E2BIG);
	assert_non_null(strstr(err.msg, "choose a shorter range"));
}

/* --- summaries --- */

static struct experiment_summary play(void)
{
	struct experiment_summary summary;
	struct experiment *experiment;

	if (experiment_new(&scenario, policy_find("gover"), 1, NULL, &experiment, &err) < 0)
		fail_msg("%s", err.msg);
	experiment_finish(experiment, &summary);
	return summary;
}

TEST(a_recording_is_summarized_like_an_experiment)
{
	struct experiment_summary was;

	for (int i = 0; i < 100; i++) {
		struct recording_row short_of = row_of(20, 20);

		short_of.fps = i < 25 ? 20 : 60;
		short_of.target_fps = 60;
		short_of.broken = i < 25;
		add("a", i, row_of(50, 20));
		add("b", i, short_of);
	}
	close_and_make();
	recording_summarize(recording, &scenario, &was);
	assert_true(fabs(was.account.broken_s - 25) < 1e-6);
	assert_true(fabs(recording_facts(recording).broken_s - 25) < 1e-6);
	assert_true(fabs(was.account.vgpu_s - 200) < 1e-6);
	assert_true(fabs(was.account.util_avg_pct - 40) < 1e-3);
	assert_true(fabs(was.account.sold_cap_pct_s - 10000) < 1e-3);
	assert_true(fabs(was.account.revenue - 100. / 3600) < 1e-6);
	assert_true(fabs(was.account.penalty - 0.25) < 1e-6);
}

TEST(each_vgpu_keeps_its_prices)
{
	struct recording_terms terms = {
		.weight = 1, .price_per_cap_hour = 72, .penalty_per_broken_s = 1};
	struct experiment_summary was, model;

	recording_set_terms(recording, recording_vgpu(recording, "a"), &terms);
	for (int i = 0; i < 100; i++) {
		add("a", i, row_of(50, 20));
		add("b", i, row_of(50, 20));
	}
	close_and_make();
	scenario.params.price_per_cap_hour = 36;
	recording_summarize(recording, &scenario, &was);
	assert_true(fabs(was.account.revenue - 1.5) < 1e-6);
	model = play();
	assert_true(fabs(model.account.revenue - 1.5) < 1e-6);
}

TEST(a_replay_gives_the_recorded_summary)
{
	struct experiment_summary was, model;

	for (int i = 0; i < 600; i++) {
		struct recording_row draws = row_of(50, 30);

		draws.fps = draws.target_fps = 60;
		add("a", i, row_of(50, i % 20 < 10 ? 40 : 5));
		add("b", i, draws);
	}
	close_and_make();
	recording_summarize(recording, &scenario, &was);
	model = play();
	assert_true(fabs(was.account.util_avg_pct - 52.5) < 1e-3);
	assert_true(fabs(model.account.util_avg_pct - was.account.util_avg_pct) < 0.5);
	assert_true(was.account.broken_s <= 0 && model.account.broken_s <= 0);
	assert_true(fabs(model.account.sold_cap_pct_s - was.account.sold_cap_pct_s) < 1e-3);
}

TEST(a_tenant_that_does_not_fit_waits)
{
	struct recording_row busy = row_of(90, 90);
	struct experiment_summary model;

	busy.contract_pct = 95;
	for (int i = 0; i < 200; i++) {
		struct recording_row row = i < 60 ? busy : row_of(90, 10);

		row.contract_pct = 95;
		add("a", i, row);
		if (i >= 20)
			add("b", i, row_of(10, 5)); /* contract 50 */
		if (i >= 20 && i < 40)
			add("c", i, row_of(10, 5));
	}
	close_and_make();
	model = play();
	assert_int_equal(model.refused, 2);
	assert_int_equal(model.account.vgpus_end, 2);
	/* Tenant b can be admitted only after the load of tenant a falls at 60 s. */
	assert_in_range(model.account.vgpu_s, 200 + 200 - 120, 200 + 200 - 60);
}

/* --- newcomers --- */

static bool always(void *userdata, const struct experiment *experiment, bool offers)
{
	(void)userdata;
	(void)experiment;
	(void)offers;
	return true;
}

static int fund_little(void *userdata, const struct experiment *experiment,
		       const struct policy_params *params, struct policy_gpu *gpu,
		       const struct policy_terms *terms, struct policy_out *out)
{
	(void)userdata;
	(void)experiment;
	(void)params;
	(void)gpu;
	(void)terms;
	out->n_decisions = out->n_moves = 0;
	return 10;
}

/* Runs a scenario in which the GPU is so much oversold that every sale fails. */
static struct experiment_summary fail_sales(int remove_s)
{
	const struct experiment_hooks hooks = {.admit = always, .fund = fund_little};
	struct recording_newcomers *newcomers;
	struct experiment_summary summary;
	struct experiment *experiment;

	assert_int_equal(begin(), 0);
	add_seconds("a", 0, 400, row_of(90, 50)); /* vGPU a always uses its whole contract */
	close_and_make();
	scenario.remove_s = remove_s;
	scenario.tenants[0].start_cap_pct = 90;
	assert_int_equal(recording_newcomers_new(recording, 1, &newcomers, &err), 0);
	assert_int_equal(recording_newcomers_add(newcomers, &scenario, &err), 0);
	assert_int_equal(scenario_check(&scenario, &err), 0);
	assert_int_equal(
		experiment_new(&scenario, policy_find("none"), 1, &hooks, &experiment, &err), 0);
	experiment_finish(experiment, &summary);
	recording_newcomers_free(newcomers);
	end();
	return summary;
}

TEST_WITH(remove_s_ends_failed_sales, NULL, NULL)
{
	struct experiment_summary kept = fail_sales(0), removed = fail_sales(50);

	assert_int_equal(kept.failed, 1);
	assert_int_equal(kept.left, 0);
	assert_true(removed.failed > 2);
	assert_in_range(removed.left, removed.failed - 1, removed.failed);
}

TEST(newcomers_are_recorded_vgpus)
{
	struct recording_newcomers *newcomers, *again;
	const struct trace *trace;

	for (int i = 0; i < 100; i++) {
		struct recording_row draws = row_of(50, 30);

		draws.fps = 60;
		add("a", i, row_of(50, 0.2 * i));
		add("b", i, draws);
	}
	close_and_make();
	scenario.flavor_cap_pct = 25;
	assert_int_equal(recording_newcomers_new(recording, 7, &newcomers, &err), 0);
	assert_int_equal(recording_newcomers_add(newcomers, &scenario, &err), 0);
	assert_int_equal(scenario_check(&scenario, &err), 0);
	assert_int_equal(scenario.n_tenants, 2 + RECORDING_NEWCOMERS);
	for (int i = 2; i < scenario.n_tenants; i++) {
		const struct workload *workload = &scenario.tenants[i].workload;

		assert_true(scenario.drawn[i] && !scenario.drawn[i % 2]);
		assert_null(recording_id(recording, i));
		trace = workload->playback.trace;
		assert_int_equal(trace_count(trace), 100);
		assert_true(fabs(trace_end_s(trace) - 100) < 1e-6);
		assert_true(workload->playback.loop);
		/* Demand with frames is not scaled to the offered contract. */
		assert_true(fabs(workload->playback.scale - (trace_has_frames(trace) ? 1 : 0.5)) <
			    1e-9);
		assert_int_equal(scenario_terms(&scenario, &scenario.tenants[i]).initial_cap_pct,
				 25);
	}
	assert_int_equal(recording_newcomers_new(recording, 7, &again, &err), 0);
	scenario.n_tenants = 0;
	assert_int_equal(recording_newcomers_add(again, &scenario, &err), 0);
	trace = scenario.tenants[0].workload.playback.trace;
	scenario.n_tenants = 0;
	assert_int_equal(recording_newcomers_add(newcomers, &scenario, &err), 0);
	for (size_t i = 0; i < 100; i++)
		assert_true(trace_point_at(trace, i).demand_pct ==
			    trace_point_at(trace_of(0), i).demand_pct);
	recording_newcomers_free(newcomers);
	recording_newcomers_free(again);
}
