/* SPDX-License-Identifier: MIT */
/* policy/policy.h: names, defaults, floors, ceilings, and the division of whole steps. */
#include "tests/unit/policy/test-policy.h"

#include "policy/share.h"

TEST(test_policies_are_found_by_name_and_by_index)
{
	assert_ptr_equal(policy_find("gover"), policy_at(0));
	assert_string_equal(policy_at(0)->name, "gover");
	assert_null(policy_find("nothing"));
	assert_null(policy_at(1000));
	for (size_t i = 0; policy_at(i); i++) {
		assert_ptr_equal(policy_find(policy_at(i)->name), policy_at(i));
		assert_true(policy_at(i)->step && policy_at(i)->fund && policy_at(i)->give_back);
		assert_null(strchr(policy_at(i)->summary, '\n'));
	}
}

TEST(test_every_kind_has_its_own_name)
{
	for (int i = 0; i < POLICY_KINDS; i++)
		for (int j = 0; j < i; j++)
			assert_string_not_equal(policy_kind_name((enum policy_kind)i),
						policy_kind_name((enum policy_kind)j));
	assert_string_equal(policy_kind_name(POLICY_STEAL), "steal");
	assert_string_equal(policy_kind_name(POLICY_RETURN), "return");
}

TEST(test_defaults_are_those_of_the_design)
{
	struct policy_params p;

	policy_params_default(&p);
	assert_true(p.overload_pct == 95 && p.lowload_pct == 60 && p.qos_gpu_bound_pct == 70);
	assert_true(p.overload_periods == 3 && p.quiet_periods == 3 && p.qos_periods == 1);
	assert_true(p.steal_fraction == 0.2 && p.weight_util == 1 && p.weight_qos == 1);
	assert_true(p.cap_floor_pct == 1 && p.fund_fraction == 0.8 && p.min_newcomer_pct == 10);
	assert_int_equal(p.fund_window_periods, 30);
	assert_true(p.use_ignores_met_target && !p.paper_mode);
	assert_true(p.none_vgpus == 3 && p.static_ratio == 2 && p.deadband_pct == 2);
	assert_true(p.predict_periods == 300 && p.predict_warm_periods == 30);
	assert_true(p.predict_sigmas == 5);
	assert_true(p.sale_risk_pct == 1.5);
	assert_true(p.price_per_cap_hour == 1 && p.penalty_per_broken_s == 0.01);
	assert_true(p.demand_periods == 5 && p.demand_probe == 0.25);
}

TEST(test_floor_and_ceiling)
{
	static const struct {
		const char *what;
		int step, backend_floor, cap_floor;
		struct policy_terms terms;
		int floor, ceiling;
	} rows[] = {
		{"default floor", 1, 1, 1, .terms = {.initial_cap_pct = 33}, .floor = 1,
		 .ceiling = 33},
		{"the default floor is cap_floor_pct", 1, 1, 5, .terms = {.initial_cap_pct = 33},
		 .floor = 5, .ceiling = 33},
		{"a contract of two steps and a part", 5, 5, 1, .terms = {.initial_cap_pct = 12},
		 .floor = 5, .ceiling = 10},
		{"a contract's floor replaces the default floor", 1, 1, 5,
		 .terms = {.initial_cap_pct = 33, .min_cap_pct = 2}, .floor = 2, .ceiling = 33},
		{"the backend's floor is the larger", 1, 4, 1, .terms = {.initial_cap_pct = 33},
		 .floor = 4, .ceiling = 33},
		{"floors round up to steps, ceilings down", 5, 5, 1,
		 .terms = {.initial_cap_pct = 33, .min_cap_pct = 6}, .floor = 10, .ceiling = 30},
		{"burst may have the whole GPU", 1, 1, 1,
		 .terms = {.initial_cap_pct = 33, .burst = true}, .floor = 1, .ceiling = 100},
		{"burst in whole steps", 7, 7, 1, .terms = {.initial_cap_pct = 33, .burst = true},
		 .floor = 7, .ceiling = 98},
		{"less than a step is one step", 5, 5, 1, .terms = {.initial_cap_pct = 3},
		 .floor = 5, .ceiling = 5},
		{"no floor above the ceiling", 1, 10, 1, .terms = {.initial_cap_pct = 8},
		 .floor = 8, .ceiling = 8},
		{"a floor of 0 becomes one step", 1, 0, 0, .terms = {.initial_cap_pct = 8},
		 .floor = 1, .ceiling = 8},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct policy_params params;
		struct policy_gpu gpu = {.step_pct = rows[i].step,
					 .floor_pct = rows[i].backend_floor};

		policy_params_default(&params);
		params.cap_floor_pct = rows[i].cap_floor;
		print_message("  %s\n", rows[i].what);
		assert_int_equal(policy_floor_pct(&params, &gpu, &rows[i].terms), rows[i].floor);
		assert_int_equal(policy_ceiling_pct(&gpu, &rows[i].terms), rows[i].ceiling);
	}
}

TEST(test_whole_steps_are_divided_in_proportion)
{
	static const struct {
		const char *what;
		int total;
		struct share shares[4];
		int divided, steps[4];
	} rows[] = {
		{"exact", 6,
		 .shares = {{"a", .weight = 1, .limit = 9}, {"b", .weight = 2, .limit = 9}},
		 .divided = 6, .steps = {2, 4}},
		{"odd step to the largest remainder", 5,
		 .shares = {{"a", .weight = 1, .limit = 9}, {"b", .weight = 2, .limit = 9}},
		 .divided = 5, .steps = {2, 3}},
		{"ties to the lowest id in natural order", 1,
		 .shares = {{"v10", .weight = 5, .limit = 5}, {"v2", .weight = 5, .limit = 5}},
		 .divided = 1, .steps = {0, 1}},
		{"no share above its limit: the rest goes to the others", 9,
		 .shares = {{"a", .weight = 8, .limit = 1},
			    {"b", .weight = 1, .limit = 9},
			    {"c", .weight = 1, .limit = 9}},
		 .divided = 9, .steps = {1, 4, 4}},
		{"a share at its limit leaves more for the next", 10,
		 .shares = {{"a", .weight = 9, .limit = 1},
			    {"b", .weight = 4, .limit = 3},
			    {"c", .weight = 1, .limit = 9}},
		 .divided = 10, .steps = {1, 3, 6}},
		{"no more than all limits", 50,
		 .shares = {{"a", .weight = 1, .limit = 3}, {"b", .weight = 9, .limit = 4}},
		 .divided = 7, .steps = {3, 4}},
		{"nothing to divide", 0, .shares = {{"a", .weight = 1, .limit = 3}}},
		{"a negative total", -4, .shares = {{"a", .weight = 1, .limit = 3}}},
		{"no shares", 4, .divided = 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct share shares[4];
		int n = 0;

		memcpy(shares, rows[i].shares, sizeof(shares));
		while (n < 4 && shares[n].id)
			shares[n++].steps = -1; /* from an earlier division */
		print_message("  %s\n", rows[i].what);
		assert_int_equal(share_divide(shares, n, rows[i].total), rows[i].divided);
		for (int j = 0; j < n; j++)
			assert_int_equal(shares[j].steps, rows[i].steps[j]);
	}
}

/* The floors of POLICY_VGPUS_MAX vGPUs exceed the GPU, so no cap can change. */
TEST(test_the_largest_number_of_vgpus)
{
	static struct policy_track tracks[POLICY_VGPUS_MAX];
	static struct policy_vgpu vgpus[POLICY_VGPUS_MAX];
	static char ids[POLICY_VGPUS_MAX][8];
	static struct policy_out out;
	const struct policy *policy;

	for (size_t p = 0; (policy = policy_at(p)); p++) {
		struct policy_terms terms = {.initial_cap_pct = 50, .weight = 1};
		struct policy_gpu gpu = {.name = "gpu0",
					 .step_pct = 1,
					 .period_s = 1,
					 .selling = true,
					 .flavors = {terms},
					 .n_flavors = 1,
					 .vgpus = vgpus,
					 .n_vgpus = POLICY_VGPUS_MAX};
		struct policy_params params;
		int largest_pct;

		policy_params_default(&params);
		memset(tracks, 0, sizeof(tracks));
		for (int i = 0; i < POLICY_VGPUS_MAX; i++) {
			snprintf(ids[i], sizeof(ids[i]), "v%d", i);
			vgpus[i] = (struct policy_vgpu){.id = ids[i],
							.terms = terms,
							.track = &tracks[i],
							.cap_pct = 1,
							.sample.busy_valid = true,
							.sample.util = i % 2,
							.sample.load = (i % 2) / 100.0};
		}
		for (int t = 0; t < 5; t++) {
			policy->step(&params, &gpu, &out);
			assert_int_equal(out.n_moves, 0);
		}
		policy->give_back(&params, &gpu, &out);
		assert_int_equal(out.n_moves, 0);
		assert_true(policy->fund(&params, &gpu, &terms, &out) < 0);
		assert_true(policy_fit(&params, &gpu, &out) < 0);
		assert_true(policy_hold(&params, &gpu, 0, 2, &out, &largest_pct) < 0);
		for (int i = 0; i < POLICY_VGPUS_MAX; i++)
			assert_int_equal(vgpus[i].want_cap_pct, 1);
	}
}
