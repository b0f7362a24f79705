/* SPDX-License-Identifier: MIT */
/* Tests the control loop: the input of the policy, and the effects of its decisions. */
#include <math.h>

#include "base/clock.h"
#include "sched/sched.h"
#include "sim/model/sim.h"
#include "tests/unit/sim/experiment/test-experiment.h"
#include "sim/experiment/recording.h"
#include "tests/unit/unit.h"

/* --- input of the policy --- */

FIXTURE(begin, end)

FIXTURE_ONCE(temp_file_make, temp_file_remove)

TEST(rates_are_valid_from_the_second_reading)
{
	make(THREE "[arrivals]\nstart = 2\n");
	run_periods(1);
	assert_int_equal(seen.n_vgpus, 2);
	assert_false(seen_vgpus[0].busy_valid);
	assert_false(seen_vgpus[0].fps_valid);
	run_periods(1);
	assert_true(seen_vgpus[0].busy_valid);
	assert_true(seen_vgpus[0].fps_valid);
	assert_true(fabs(seen_vgpus[0].fps - 250) < 3);
	assert_true(fabs(seen_vgpus[0].load - 0.125) < 0.005);
	assert_true(fabs(seen_vgpus[0].util - 0.25) < 0.01);
	assert_int_equal(seen_vgpus[0].cap_pct, 50);
	assert_int_equal((int)seen_vgpus[0].terms.target_fps, 140);
	assert_string_equal(seen_vgpus[0].id, "v1-a");
	assert_false(seen.gap);
	assert_true(seen.selling);
}

TEST(a_program_without_frames_has_no_fps)
{
	make("[tenant a]\nworkload = load:pct=30\n[arrivals]\nstart = 1\n");
	run_periods(3);
	assert_false(seen_vgpus[0].fps_valid);
	assert_true(fabs(seen_vgpus[0].load - 0.3) < 1e-6);
	assert_true(fabs(experiment_current_vgpu_at(experiment, 0)->sample.demand - 0.3) < 1e-6);
}

/*
 * The demand of tenant a is the GPU time that its target frame rate needs. Tenant b has no target:
 * its demand is the load that its program would cause alone on a GPU.
 */
TEST(demand_of_renderers)
{
	make("[tenant a]\nworkload = glxgears\ntarget_fps = 140\ncontract_pct = 5\narrive_s = 0\n"
	     "[tenant b]\nworkload = glxgears\ncontract_pct = 5\narrive_s = 0\n");
	run_periods(10);
	assert_true(fabs(experiment_current_vgpu_at(experiment, 0)->sample.demand - 0.07) < 0.002);
	assert_true(fabs(experiment_current_vgpu_at(experiment, 1)->sample.demand - 0.125) < 0.002);
	assert_true(fabs(experiment_current_vgpu_at(experiment, 1)->sample.load - 0.05) < 0.002);
	assert_true(experiment_current_vgpu_at(experiment, 0)
			    ->sample.broken); /* tenant a gets 5 % and needs 7 % */
	assert_false(
		/* tenant b has no target and gets its contract */
		experiment_current_vgpu_at(experiment, 1)->sample.broken);
}

TEST(initial_caps_fit_into_the_gpu)
{
	static const char text[] = "[tenant a]\nworkload = idle\ncount = 4\narrive_s = 0\n"
				   "[tenant b]\nworkload = idle\ncontract_pct = 20\narrive_s = 0\n";

	make(text);
	run_periods(1);
	assert_int_equal(seen.n_vgpus, 5);
	for (int i = 0; i < 4; i++)
		assert_int_equal(seen_vgpus[i].cap_pct, 22); /* 50 of 220 */
	assert_int_equal(seen_vgpus[4].cap_pct, 9);
}

TEST(the_discipline_makes_caps_limits_or_weights)
{
	static const char text[] = "[host]\ndiscipline = %s\n"
				   "[tenant a]\nworkload = busy\ncontract_pct = 40\narrive_s = 0\n"
				   "[tenant b]\nworkload = busy\ncontract_pct = 20\narrive_s = 0\n";
	char whole[256];

	snprintf(whole, sizeof(whole), text, "cap");
	make(whole);
	run_periods(5);
	assert_true(fabs(seen_vgpus[0].load - 0.4) < 0.01);
	assert_true(fabs(experiment_util(experiment) - 0.6) < 0.01);
	snprintf(whole, sizeof(whole), text, "weight");
	make(whole);
	run_periods(5);
	assert_true(fabs(seen_vgpus[0].load - 0.667) < 0.01);
	assert_true(fabs(experiment_util(experiment) - 1) < 0.01);
}

TEST(with_guarantees_a_vgpu_uses_idle_time_up_to_its_contract)
{
	static const char text[] =
		"[host]\nsharing = guarantee\n"
		"[tenant a]\nworkload = busy\ncontract_pct = 60\narrive_s = 0\n"
		"[tenant b]\nworkload = idle\ncontract_pct = 90\narrive_s = 0\n"
		"[tenant c]\nworkload = load:pct=10\ncontract_pct = 50\narrive_s = 0\n";

	make(text);
	run_periods(3);
	assert_int_equal(seen.sharing, POLICY_SHARING_GUARANTEE);
	assert_int_equal(seen_vgpus[0].cap_pct, 30);
	assert_true(fabs(seen_vgpus[0].load - 0.6) < 0.001);
	assert_true(fabs(seen_vgpus[0].util - 2) < 0.01);
	assert_true(fabs(seen_vgpus[2].load - 0.1) < 0.01);
	make("[host]\nsharing = guarantee\n"
	     "[tenant a]\nworkload = busy\ncontract_pct = 60\nburst = on\narrive_s = 0\n");
	run_periods(3);
	assert_true(fabs(seen_vgpus[0].load - 1) < 0.001);
}

TEST(a_discipline_can_be_changed_while_a_vgpu_runs)
{
	struct workload workload;
	struct sim_vgpu *vgpu;
	struct sim *sim = sim_new();

	assert_int_equal(sim_add(sim, "a", 50, &vgpu), 0);
	assert_int_equal(workload_parse("busy", &workload, NULL), 0);
	sim_set_workload(sim, vgpu, &workload);
	sim_advance(sim, NS_PER_S);
	assert_int_equal(sim_vgpu_busy_ns(vgpu), NS_PER_S / 2);
	sim_set_discipline(sim, sched_discipline_find("weight"));
	sim_advance(sim, 2 * NS_PER_S);
	assert_int_equal(sim_vgpu_busy_ns(vgpu), NS_PER_S / 2 + NS_PER_S);
	sim_set_discipline(sim, NULL);
	assert_string_equal(sim_discipline(sim)->name, "cap");
	sim_advance(sim, 3 * NS_PER_S);
	assert_int_equal(sim_vgpu_busy_ns(vgpu), 2 * NS_PER_S);
	sim_free(sim);
}

/* --- arrival and departure --- */

TEST(tenants_arrive_and_leave_on_time)
{
	double at_s = 0;

	make("[tenant a]\nworkload = idle\narrive_s = 0\n"
	     "[tenant b]\nworkload = idle\narrive_s = 5\nstay_s = 10\n");
	run_periods(6);
	assert_int_equal(seen.n_vgpus, 2);
	assert_int_equal(summary().sales, 0);
	run_periods(9);
	assert_int_equal(count_events("left", &at_s), 1);
	assert_int_equal((int)at_s, 15);
	assert_int_equal(seen.n_vgpus, 2); /* tenant b leaves after this period */
	run_periods(1);
	assert_int_equal(seen.n_vgpus, 1);
	assert_int_equal(summary().left, 1);
	assert_true(isnan(experiment_vgpu_at(experiment, 0, NULL)->left_s));
	assert_int_equal((int)experiment_vgpu_at(experiment, 1, NULL)->left_s, 15);
}

TEST(capacity_of_a_removed_tenant_goes_to_the_others)
{
	make("[tenant a]\nworkload = idle\narrive_s = 0\ncount = 2\n"
	     "[tenant b]\nworkload = idle\narrive_s = 0\nstay_s = 3\n");
	run_periods(3);
	assert_int_equal(seen_vgpus[0].cap_pct, 33);
	run_periods(1);
	assert_int_equal(seen.n_vgpus, 2);
	assert_int_equal(seen_vgpus[0].cap_pct, 50);
	assert_int_equal(seen_vgpus[1].cap_pct, 50);
}

TEST(a_tenant_that_does_not_fit_is_refused)
{
	double at_s = 0;

	fund_pct = -ENOSPC;
	make("[tenant a]\nworkload = idle\narrive_s = 0\n[tenant b]\nworkload = idle\narrive_s = "
	     "2\n");
	run_periods(4);
	assert_int_equal(count_events("refused", &at_s), 1);
	assert_int_equal(summary().refused, 1);
	assert_int_equal(seen.n_vgpus, 1);
}

TEST(a_gpu_has_at_most_256_vgpus)
{
	make("[tenant a]\nworkload = idle\narrive_s = 0\ncount = 255\ncontract_pct = 1\n"
	     "[tenant b]\nworkload = idle\narrive_s = 1\ncount = 3\ncontract_pct = 1\n");
	run_periods(3);
	assert_int_equal(seen.n_vgpus, POLICY_VGPUS_MAX);
	assert_int_equal(summary().refused, 2);
}

TEST(starting_more_tenants_than_exist_is_an_error)
{
	struct experiment *none = NULL;

	make(THREE);
	scenario.start = 3;
	scenario.draw = SCENARIO_LISTED;
	assert_int_equal(experiment_new(&scenario, &stub, 1, NULL, &none, &err), -EINVAL);
	assert_null(none);
	assert_string_equal(err.msg, "[arrivals] start = 3: not enough tenants");
}

/* --- hooks --- */

static int admit_calls;

static bool admit_third(void *userdata, const struct experiment *of, bool offers)
{
	(void)of;
	(void)offers;
	assert_ptr_equal(userdata, &admit_calls);
	return ++admit_calls % 3 == 0;
}

/* Tenants a share the clock of the run, tenant b has its own. All arrive in the middle of a pause.
 */
TEST(tenants_can_share_the_clock_of_the_run)
{
	double demand[4];

	offering = true;
	make("[scenario]\nseconds = 60\n[offer]\nprobation_s = 5\n"
	     "[tenant a]\nworkload = square:period_s=20,low_pct=0,high_pct=20\nshared_clock = on\n"
	     "arrive_s = 0\n"
	     "[tenant b]\nworkload = square:period_s=20,low_pct=0,high_pct=20\n"
	     "shared_clock = on\narrive_s = 15\n"
	     "[tenant c]\nworkload = square:period_s=20,low_pct=0,high_pct=20\narrive_s = 15\n");
	run_periods(18);
	for (int i = 0; i < 3; i++)
		demand[i] = experiment_current_vgpu_at(experiment, i)->sample.demand;
	assert_true(demand[0] < 0.01 && demand[1] < 0.01 && demand[2] > 0.19);
	run_periods(10);
	for (int i = 0; i < 3; i++)
		demand[i] = experiment_current_vgpu_at(experiment, i)->sample.demand;
	assert_true(demand[0] > 0.19 && demand[1] > 0.19 && demand[2] < 0.01);
}

/*
 * A demand of 80 % meets a cap of 50 % for 10 s. The backlog of 3 s is then served within 6 s
 * without new demand, but the shortfall of the first 10 s remains.
 */
TEST(work_served_later_remains_a_shortfall)
{
	const struct account_vgpu *account;

	make("[tenant a]\nworkload = square:period_s=20,low_pct=0,high_pct=80\n"
	     "contract_pct = 100\narrive_s = 0\n"
	     "[tenant b]\nworkload = idle\ncontract_pct = 100\narrive_s = 0\n");
	run_periods(20);
	(void)experiment_vgpu_at(experiment, 0, &account);
	assert_true(fabs(account->promised_s - 10) < 1e-9);
	assert_true(fabs(account->served_s - 8) < 0.15);
	assert_true(fabs(account->shortfall_s - 10 * (1 - 50 / 80.0)) < 0.2);
	assert_true(fabs(summary().account.worst_shortfall_pct - 37.5) < 2);
}

TEST(a_hook_can_replace_admission)
{
	static const struct experiment_hooks hooks = {.userdata = &admit_calls,
						      .admit = admit_third};

	admit_calls = 0;
	offering = true; /* the policy would offer at once, but the hook admit() decides */
	make_with(THREE "[arrivals]\nstart = 1\n[offer]\nprobation_s = 2\n", &stub, 1, &hooks);
	run_periods(2);
	assert_int_equal(summary().sales, 0);
	run_periods(1);
	assert_int_equal(summary().sales, 1);
	run_periods(2);
	assert_int_equal(admit_calls, 3); /* not called during the probation */
	run_periods(4);
	assert_int_equal(summary().sales, 2);
}

static void step_to_40(void *userdata, const struct experiment *of,
		       const struct policy_params *params, struct policy_gpu *gpu,
		       struct policy_out *out)
{
	int cap_pct = gpu->vgpus[0].cap_pct;

	(void)userdata;
	(void)of;
	(void)params;
	out->n_decisions = 0;
	if (cap_pct == 40)
		return;
	out->n_decisions = out->n_moves = 1;
	out->decisions[0] =
		(struct policy_decision){.kind = POLICY_SET, .vgpu = 0, .donor = -1, .n_moves = 1};
	out->moves[0] = (struct policy_move){.from_pct = cap_pct, .to_pct = 40};
}

TEST(a_hook_can_replace_the_step)
{
	static const struct experiment_hooks hooks = {.step = step_to_40};

	make_with(THREE "[arrivals]\nstart = 2\n", &stub, 1, &hooks);
	run_periods(2);
	assert_int_equal(experiment_current_vgpu_at(experiment, 0)->sampled_cap_pct, 40);
	assert_int_equal(experiment_current_vgpu_at(experiment, 1)->sampled_cap_pct, 50);
	assert_int_equal(summary().cap_moves, 1);
}

/* --- whole runs --- */

static void play(const char *text, uint64_t seed, struct experiment_summary *ret_sum)
{
	make_with(text, policy_find("gover"), seed, NULL);
	while (experiment_step(experiment))
		;
	memset(ret_sum, 0, sizeof(*ret_sum)); /* assert_memory_equal() also compares padding */
	experiment_summarize(experiment, ret_sum);
}

TEST(the_seed_determines_the_run)
{
	static const char text[] =
		"[offer]\nprobation_s = 10\n[tenant a]\nworkload = glxgears\ntarget_fps = 140\n"
		"[tenant b]\nworkload = glmark2:scale=0.3\ntarget_fps = 160\n"
		"[tenant c]\nworkload = plot3d:scale=0.2\n[arrivals]\nstart = 2\n";
	struct experiment_summary first, again, other;

	play(text, 4, &first);
	play(text, 4, &again);
	play(text, 5, &other);
	assert_true(first.sales > 0);
	assert_memory_equal(&first, &again, sizeof(first));
	assert_true(fabs(first.account.util_avg_pct - other.account.util_avg_pct) > 0);
}

TEST(the_sum_of_caps_never_exceeds_the_gpu)
{
	static const char text[] =
		"[scenario]\nmigrate = on\nmigrate_s = 3\n[offer]\nprobation_s = 5\nflavor_cap_pct "
		"= 25\n"
		"[tenant a]\nworkload = glmark2:scale=0.5\ntarget_fps = 160\nstay_s = 40\n"
		"[tenant b]\nworkload = load:pct=20\n[tenant c]\nworkload = busy\nstay_s = 20\n"
		"[tenant d]\nworkload = busy\narrive_s = 30\nstay_s = 30\n[arrivals]\nstart = 3\n";
	static const struct experiment_hooks hooks = {.on_event = record_event};

	for (uint64_t seed = 1; seed < 20; seed++) {
		bool more = true;

		n_events = 0;
		make_with(text, policy_find("gover"), seed, &hooks);
		while (more) {
			int sum_pct = 0;

			more = experiment_step(experiment);
			for (int i = 0; experiment_current_vgpu_at(experiment, i); i++)
				sum_pct +=
					experiment_current_vgpu_at(experiment, i)->sampled_cap_pct;
			assert_true(sum_pct <= 100);
		}
		assert_true(summary().left > 0);
	}
}

/* --- guarantees --- */

static void add(struct recording *recording, const char *id, int second, int cap_pct,
		double load_pct)
{
	struct recording_row row = {
		.at_ms = 1000000 + 1000 * (int64_t)second,
		.dt_s = 1,
		.cap_pct = cap_pct,
		.contract_pct = 50,
		.load_pct = load_pct,
		.util_pct = 100 * load_pct / cap_pct,
		.fps = NAN,
	};
	assert_int_equal(recording_add(recording, recording_vgpu(recording, id), &row, &err), 0);
}

TEST(a_load_above_the_cap_is_the_demand_unless_the_gpu_is_full)
{
	struct recording *recording;

	recording = recording_new();
	for (int i = 0; i < 30; i++) {
		add(recording, "a", i, 10, 40);
		add(recording, "b", i, 50, i < 20 ? 10 : 58); /* full for 10 s */
	}
	assert_int_equal(recording_finish(recording, &err), 0);
	assert_true(fabs(recording_facts(recording).censored_s - 10) < 1e-6);
	recording_free(recording);
}
