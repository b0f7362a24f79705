/* SPDX-License-Identifier: MIT */
/* Recorded rows made into a scenario: what was wanted, who was there when, and what it came to. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "sim/model/trace.h"
#include "sim/experiment/recording.h"

#define BEGIN_MS INT64_C(1700000000000)

static struct scenario scenario; /* large: not for the stack */
static struct recording *recording;
static struct err err;

static int begin(void **state)
{
	(void)state;
	scenario_default(&scenario);
	return recording_new(&recording);
}

static int end(void **state)
{
	(void)state;
	recording = recording_free(recording);
	return 0;
}

/* --- rows --- */

static void add(const char *id, int second, struct recording_row row)
{
	int vgpu = recording_vgpu(recording, id);

	row.at_ms = BEGIN_MS + 1000 * (int64_t)second;
	assert_true(vgpu >= 0);
	assert_int_equal(recording_add(recording, vgpu, &row, &err), 0);
}

/* A second of @load percent under @cap, of a contract of 50. */
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

/* --- what was wanted --- */

/* @n seconds alike; none: no more. A load below 0: no reading. */
struct stretch {
	int n, cap_pct;
	double load_pct, fps; /* fps below 0: none counted */
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
	struct want wants[5]; /* until one at point 0 after the first */
} demand_cases[] = {
	{"below its cap the load is the demand",
	 0,
	 false,
	 {{10, 50, 20, -1}, {5, 30, 12, -1}},
	 {{0, 0, 20}, {12, 0, 12}}},
	{"at its contract too",
	 0,
	 false,
	 {{10, 50, 50, -1}, {5, 50, 2, -1}},
	 {{0, 0, 50}, {12, 0, 2}}},
	{"a cap that is used up hides what it wants at other times, and what waited is done later",
	 0,
	 false,
	 {{10, 50, 40, -1}, {4, 20, 20, -1}, {5, 50, 10, -1}},
	 {{9, 0, 40}, {10, 0, 40}, {11, 0, 40}, {12, 0, 0}, {14, 0, 10}}},
	{"or its contract, where it was never seen to want more",
	 0,
	 false,
	 {{10, 20, 20, -1}, {5, 50, 10, -1}},
	 {{0, 0, 50}, {3, 0, 50}, {4, 0, 0}, {10, 0, 10}}},
	{"which may be all of the GPU",
	 0,
	 true,
	 {{10, 20, 20, -1}, {5, 90, 10, -1}},
	 {{0, 0, 100}, {1, 0, 100}, {2, 0, 0}, {10, 0, 10}}},
	{"of work whose end was not seen nothing is spared",
	 0,
	 false,
	 {{10, 50, 10, -1}, {5, 20, 20, -1}},
	 {{0, 0, 10}, {10, 0, 50}, {14, 0, 50}}},
	{"frames want what they cost as often as they are drawn at other times",
	 60,
	 false,
	 {{10, 50, 40, 80}, {5, 10, 10, 20}},
	 {{0, 80, 40}, {10, 80, 40}, {14, 80, 40}}},
	{"or were promised", 60, false, {{15, 10, 10, 20}}, {{0, 60, 30}, {14, 60, 30}}},
	{"or fill the contract", 10, false, {{15, 10, 10, 20}}, {{0, 100, 50}, {14, 100, 50}}},
	{"frames nobody counted cost what they did before",
	 60,
	 false,
	 {{10, 50, 20, 40}, {5, 50, 30, -1}},
	 {{0, 40, 20}, {12, 60, 30}}},
	{"or after", 60, false, {{5, 50, 30, -1}, {10, 50, 20, 40}}, {{0, 60, 30}, {12, 40, 20}}},
	{"work without frames among them is work",
	 60,
	 false,
	 {{10, 50, 20, 40}, {5, 50, 30, 0}},
	 {{0, 40, 20}, {12, 0, 30}}},
	{"where there was no reading it went on",
	 0,
	 false,
	 {{5, 50, 20, -1}, {5, 50, -1, -1}, {5, 50, 30, -1}},
	 {{4, 0, 20}, {9, 0, 20}, {10, 0, 30}}},
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
		/* Another vGPU's readings make the time known. */
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

	assert_int_equal(begin(NULL), 0);
	recording_set_terms(recording, recording_vgpu(recording, "a"), &terms);
	add_stretches(c);
	close_and_make();
	for (int i = 0; i == 0 || (i < 5 && c->wants[i].point > 0); i++) {
		const struct want *want = &c->wants[i];
		int tenant = strcmp(recording_id(recording, 0), "a") == 0 ? 0 : 1;
		struct trace_point got = trace_point_at(trace_of(tenant), (size_t)want->point);

		/* A habit is known to a percent of the GPU, and to 5 % of the frames. */
		if (fabs(got.demand_pct - want->demand_pct) > 1e-3 + 0.05 * want->demand_pct ||
		    fabs(got.fps_uncapped - want->fps) > 1e-3 + 0.05 * want->fps)
			fail_msg("%s: point %d wants %g %% and %g frames, not %g and %g", c->rule,
				 want->point, got.demand_pct, got.fps_uncapped, want->demand_pct,
				 want->fps);
	}
	end(NULL);
}

static void demand_is_told_from_what_was_seen(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(demand_cases); i++)
		check_case(&demand_cases[i]);
}

static void what_was_estimated_is_counted(void **state)
{
	struct recording_row missing = row_of(50, 20);

	(void)state;
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

/* --- who was there --- */

static void who_comes_and_goes_does_so_again(void **state)
{
	(void)state;
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

static void an_experiment_begins_with_the_caps_there_were(void **state)
{
	struct experiment *experiment;

	(void)state;
	add_seconds("a", 0, 20, row_of(37, 20));
	close_and_make();
	assert_int_equal(
		experiment_new(&scenario, policy_find("gover"), NULL, 1, NULL, &experiment, &err),
		0);
	assert_int_equal(experiment_vgpu_at(experiment, 0, NULL)->cap_pct, 37);
	experiment_free(experiment);
}

static void who_is_away_for_long_is_another_when_it_returns(void **state)
{
	(void)state;
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

static void a_changed_contract_is_a_tenant_of_its_own(void **state)
{
	(void)state;
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

static void a_time_nothing_is_known_of_is_cut_out(void **state)
{
	struct recording_row first = row_of(40, 0);

	(void)state;
	first.dt_s = 0; /* of a daemon that has just begun: nothing to compare with */
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
	assert_true(fabs(trace_demand_pct(trace_of(0), 19.5) - 20) < 1e-3);
	assert_true(fabs(trace_demand_pct(trace_of(0), 20.5) - 30) < 1e-3);
}

static void too_little_is_refused(void **state)
{
	int vgpu = recording_vgpu(recording, "a");
	struct recording_row row = row_of(40, 20);

	(void)state;
	add_seconds("a", 0, 9, row);
	row.at_ms = BEGIN_MS;
	assert_int_equal(recording_add(recording, vgpu, &row, &err), -EINVAL);
	row.at_ms = BEGIN_MS + 10000;
	row.contract_pct = 0;
	assert_int_equal(recording_add(recording, vgpu, &row, &err), -EINVAL);
	assert_int_equal(recording_finish(recording, &err), -ENODATA);
	assert_non_null(strstr(err.msg, "9 seconds"));
}

static void more_than_a_scenario_holds_are_refused(void **state)
{
	(void)state;
	for (int i = 0; i < RECORDING_SPANS_MAX + 1; i++) {
		char id[16];

		snprintf(id, sizeof(id), "v%d", i);
		add_seconds(id, 2 * i, 2 * i + 2, row_of(40, 20));
	}
	assert_int_equal(recording_finish(recording, &err), -E2BIG);
	assert_non_null(strstr(err.msg, "choose a shorter range"));
}

/* --- what it came to --- */

static struct experiment_summary play(void)
{
	struct experiment_summary summary;
	struct experiment *experiment;

	if (experiment_new(&scenario, policy_find("gover"), NULL, 1, NULL, &experiment, &err) < 0)
		fail_msg("%s", err.msg);
	while (experiment_step(experiment))
		;
	experiment_summarize(experiment, &summary);
	experiment_free(experiment);
	return summary;
}

static void what_really_happened_is_measured_as_an_experiment_is(void **state)
{
	struct experiment_summary was;

	(void)state;
	for (int i = 0; i < 100; i++) {
		struct recording_row short_of = row_of(20, 20);

		short_of.fps = i < 25 ? 20 : 60;
		short_of.target_fps = 60;
		short_of.broken = i < 25;
		add("a", i, row_of(50, 20));
		add("b", i, short_of);
	}
	close_and_make();
	assert_int_equal(recording_summarize(recording, &scenario, &was), 0);
	assert_true(fabs(was.account.broken_s - 25) < 1e-6);
	assert_true(fabs(recording_facts(recording).broken_s - 25) < 1e-6);
	assert_true(fabs(was.account.vgpu_s - 200) < 1e-6);
	assert_true(fabs(was.account.util_avg_pct - 40) < 1e-3);
	assert_true(fabs(was.account.sold_cap_pct_s - 10000) < 1e-3);
	assert_true(fabs(was.account.revenue - 100. / 3600) < 1e-6);
	assert_true(fabs(was.account.penalty - 0.25) < 1e-6);
}

static void prices_are_those_of_each(void **state)
{
	struct recording_terms terms = {
		.weight = 1, .price_per_cap_hour = 72, .penalty_per_broken_s = 1};
	struct experiment_summary was, model;

	(void)state;
	recording_set_terms(recording, recording_vgpu(recording, "a"), &terms);
	for (int i = 0; i < 100; i++) {
		add("a", i, row_of(50, 20));
		add("b", i, row_of(50, 20));
	}
	close_and_make();
	scenario.params.price_per_cap_hour = 36;
	assert_int_equal(recording_summarize(recording, &scenario, &was), 0);
	assert_true(fabs(was.account.revenue - 1.5) < 1e-6);
	model = play();
	assert_true(fabs(model.account.revenue - 1.5) < 1e-6);
}

static void played_again_it_comes_to_the_same(void **state)
{
	struct experiment_summary was, model;

	(void)state;
	for (int i = 0; i < 600; i++) {
		struct recording_row draws = row_of(50, 30);

		draws.fps = draws.target_fps = 60;
		add("a", i, row_of(50, i % 20 < 10 ? 40 : 5));
		add("b", i, draws);
	}
	close_and_make();
	assert_int_equal(recording_summarize(recording, &scenario, &was), 0);
	model = play();
	assert_true(fabs(was.account.util_avg_pct - 52.5) < 1e-3);
	assert_true(fabs(model.account.util_avg_pct - was.account.util_avg_pct) < 0.5);
	assert_true(was.account.broken_s <= 0 && model.account.broken_s <= 0);
	assert_true(fabs(model.account.sold_cap_pct_s - was.account.sold_cap_pct_s) < 1e-3);
}

static void who_finds_no_room_waits_for_it(void **state)
{
	struct recording_row busy = row_of(90, 90);
	struct experiment_summary model;

	(void)state;
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
	/* 30 periods without use are seen before it is given away. */
	assert_in_range(model.account.vgpu_s, 200 + 200 - 120, 200 + 200 - 60);
}

/* --- who could come --- */

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

/* Newcomers are sold more than there is, and each fails. */
static struct experiment_summary fail_sales(int remove_s)
{
	const struct experiment_hooks hooks = {.admit = always, .fund = fund_little};
	struct recording_newcomers *newcomers;
	struct experiment_summary summary;
	struct experiment *experiment;

	assert_int_equal(begin(NULL), 0);
	add_seconds("a", 0, 400, row_of(90, 50)); /* at its contract: so is each newcomer */
	close_and_make();
	scenario.remove_s = remove_s;
	scenario.tenants[0].start_cap_pct = 90;
	assert_int_equal(recording_newcomers_new(recording, 1, &newcomers, &err), 0);
	assert_int_equal(recording_newcomers_add(newcomers, &scenario, &err), 0);
	assert_int_equal(scenario_check(&scenario, &err), 0);
	assert_int_equal(
		experiment_new(&scenario, policy_find("none"), NULL, 1, &hooks, &experiment, &err),
		0);
	while (experiment_step(experiment))
		;
	experiment_summarize(experiment, &summary);
	experiment_free(experiment);
	recording_newcomers_free(newcomers);
	end(NULL);
	return summary;
}

static void somebody_ends_a_sale_that_failed(void **state)
{
	struct experiment_summary nobody = fail_sales(0), somebody = fail_sales(50);

	(void)state;
	assert_int_equal(nobody.failed, 1);
	assert_int_equal(nobody.left, 0);
	assert_true(somebody.failed > 2);
	assert_in_range(somebody.left, somebody.failed - 1, somebody.failed);
}

static void newcomers_are_drawn_from_what_was_recorded(void **state)
{
	struct recording_newcomers *newcomers, *again;
	const struct trace *trace;

	(void)state;
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
		/* Frames cost what they cost; other work is a part of what was sold. */
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(demand_is_told_from_what_was_seen),
		TEST(what_was_estimated_is_counted),
		TEST(who_comes_and_goes_does_so_again),
		TEST(an_experiment_begins_with_the_caps_there_were),
		TEST(who_is_away_for_long_is_another_when_it_returns),
		TEST(a_changed_contract_is_a_tenant_of_its_own),
		TEST(a_time_nothing_is_known_of_is_cut_out),
		TEST(too_little_is_refused),
		TEST(more_than_a_scenario_holds_are_refused),
		TEST(what_really_happened_is_measured_as_an_experiment_is),
		TEST(prices_are_those_of_each),
		TEST(played_again_it_comes_to_the_same),
		TEST(who_finds_no_room_waits_for_it),
		cmocka_unit_test(somebody_ends_a_sale_that_failed),
		TEST(newcomers_are_drawn_from_what_was_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
