/* SPDX-License-Identifier: MIT */
/*
 * Tests the control loop with an experiment from a text: the input of the policy, the effects of
 * its decisions, and the life of an offer. The stub policy records its input, and makes the
 * decisions that the test sets.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/sched/sched.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/recording.h"
#include "sim/model/sim.h"
#include "tests/unit/temp-file.h"
#include "tests/unit/unit.h"

#define EVENTS_MAX 512
#define THREE	   "[scenario]\nseconds = 60\n[tenant a]\nworkload = glxgears\ntarget_fps = 140\n"

static struct scenario scenario; /* too large for the stack */
static struct experiment *experiment;
static struct err err;

/* All reported events. */
static struct {
	double t_s;
	char kind[16], vgpu[ID_MAX];
} events[EVENTS_MAX];
static int n_events;

/* The last input of the stub policy. The stub policy never moves a cap. */
static struct policy_gpu seen;
static struct policy_vgpu seen_vgpus[POLICY_VGPUS_MAX];
static bool offering, severe;
static int fund_pct;

static void stub_step(const struct policy_params *params, struct policy_gpu *gpu,
		      struct policy_out *out)
{
	(void)params;
	seen = *gpu;
	memcpy(seen_vgpus, gpu->vgpus, (size_t)gpu->n_vgpus * sizeof(seen_vgpus[0]));
	out->n_decisions = out->n_moves = 0;
	gpu->conditions = severe ? POLICY_SEVERE_OVERLOAD : 0;
	for (int i = 0; i < gpu->n_vgpus; i++)
		gpu->vgpus[i].broken = false;
	if (severe)
		out->decisions[out->n_decisions++] =
			(struct policy_decision){.kind = POLICY_SEVERE, .vgpu = 0, .donor = -1};
	if (offering)
		out->decisions[out->n_decisions++] =
			(struct policy_decision){.kind = POLICY_OFFER, .vgpu = -1, .donor = -1};
}

static int stub_fund(const struct policy_params *params, struct policy_gpu *gpu,
		     const struct policy_terms *terms, struct policy_out *out)
{
	(void)params;
	(void)gpu;
	(void)terms;
	out->n_decisions = out->n_moves = 0;
	return fund_pct;
}

static const struct policy stub = {
	.name = "stub", .step = stub_step, .fund = stub_fund, .give_back = policy_return};

static void record_event(void *userdata, const struct experiment_event *event)
{
	(void)userdata;
	assert_true(n_events < EVENTS_MAX);
	events[n_events].t_s = event->t_s;
	snprintf(events[n_events].kind, sizeof(events[0].kind), "%s", event->kind);
	snprintf(events[n_events++].vgpu, sizeof(events[0].vgpu), "%s", event->vgpu);
}

/* Returns the number of events of @kind. *@ret_first_s: time of the first of these events. */
static int count_events(const char *kind, double *ret_first_s)
{
	int n = 0;

	for (int i = n_events; i-- > 0;)
		if (strcmp(events[i].kind, kind) == 0) {
			*ret_first_s = events[i].t_s;
			n++;
		}
	return n;
}

static int begin(void)
{
	offering = severe = false;
	fund_pct = 10;
	n_events = 0;
	return 0;
}

static int end(void)
{
	experiment = experiment_free(experiment);
	scenario_fini(&scenario);
	return 0;
}

static void make_with(const char *text, const struct policy *policy, uint64_t seed,
		      const struct experiment_hooks *hooks)
{
	temp_file_write(text);
	experiment = experiment_free(experiment);
	scenario_fini(&scenario);
	if (scenario_load(temp_file, &scenario, &err) < 0)
		fail_msg("%s", err.msg);
	if (experiment_new(&scenario, policy, seed, hooks, &experiment, &err) < 0)
		fail_msg("%s", err.msg);
}

static void make(const char *text)
{
	static const struct experiment_hooks hooks = {.on_event = record_event};

	make_with(text, &stub, 1, &hooks);
}

static void run_periods(int periods)
{
	while (periods-- > 0)
		(void)experiment_step(experiment);
}

static struct experiment_summary summary(void)
{
	struct experiment_summary sum;

	experiment_summarize(experiment, &sum);
	return sum;
}

/* --- input of the policy --- */

FIXTURE(begin, end)

FIXTURE_ONCE(temp_file_make, temp_file_remove)

TEST(rates_are_valid_from_the_second_reading)
{
	make(THREE "[arrivals]\nstart = 2\n");
	run_periods(1);
	assert_int_equal(seen.n_vgpus, 2);
	assert_false(seen_vgpus[0].sample.busy_valid);
	assert_false(seen_vgpus[0].sample.fps_valid);
	run_periods(1);
	assert_true(seen_vgpus[0].sample.busy_valid);
	assert_true(seen_vgpus[0].sample.fps_valid);
	assert_true(fabs(seen_vgpus[0].sample.fps - 250) < 3);
	assert_true(fabs(seen_vgpus[0].sample.load - 0.125) < 0.005);
	assert_true(fabs(seen_vgpus[0].sample.util - 0.25) < 0.01);
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
	assert_false(seen_vgpus[0].sample.fps_valid);
	assert_true(fabs(seen_vgpus[0].sample.load - 0.3) < 1e-6);
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
	assert_true(fabs(seen_vgpus[0].sample.load - 0.4) < 0.01);
	assert_true(fabs(experiment_util(experiment) - 0.6) < 0.01);
	snprintf(whole, sizeof(whole), text, "weight");
	make(whole);
	run_periods(5);
	assert_true(fabs(seen_vgpus[0].sample.load - 0.667) < 0.01);
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
	assert_true(fabs(seen_vgpus[0].sample.load - 0.6) < 0.001);
	assert_true(fabs(seen_vgpus[0].sample.util - 2) < 0.01);
	assert_true(fabs(seen_vgpus[2].sample.load - 0.1) < 0.01);
	make("[host]\nsharing = guarantee\n"
	     "[tenant a]\nworkload = busy\ncontract_pct = 60\nburst = on\narrive_s = 0\n");
	run_periods(3);
	assert_true(fabs(seen_vgpus[0].sample.load - 1) < 0.001);
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

/* --- the life of an offer --- */

#define CLOSE(got, wanted) assert_true(fabs((got) - (wanted)) < 1e-6)

TEST(an_offer_is_claimed_and_kept)
{
	double at_s = 0;

	offering = true;
	make(THREE "[offer]\nprobation_s = 10\n[arrivals]\nstart = 2\n");
	run_periods(1);
	assert_int_equal(count_events("sold", &at_s), 3);
	assert_int_equal(summary().sales, 1);
	run_periods(1);
	assert_int_equal(seen.n_vgpus, 3);
	assert_true(seen.offered);
	assert_int_equal(seen_vgpus[2].cap_pct, 10);
	run_periods(8);
	assert_int_equal(count_events("kept", &at_s), 0);
	run_periods(1);
	assert_int_equal(count_events("kept", &at_s), 1);
	assert_int_equal((int)at_s, 11);
	assert_int_equal(summary().kept, 1);
	assert_int_equal(summary().sales, 1); /* the next offer is made in the next period */
	run_periods(1);
	assert_int_equal(summary().sales, 2);
}

TEST(an_offer_is_claimed_after_customer_s)
{
	double at_s = 0;

	offering = true;
	make(THREE "[offer]\ncustomer_s = 3\n[arrivals]\nstart = 1\n");
	run_periods(3);
	assert_int_equal(count_events("sold", &at_s), 1);
	assert_true(seen.offered);
	run_periods(1);
	assert_int_equal(count_events("sold", &at_s), 2);
	assert_int_equal((int)events[n_events - 1].t_s, 4);
}

TEST(an_open_offer_closes_when_it_cannot_be_funded)
{
	double at_s = 0;

	offering = true;
	make(THREE "[offer]\ncustomer_s = 5\n[arrivals]\nstart = 1\n");
	run_periods(1);
	fund_pct = -ENOSPC;
	offering = false;
	run_periods(2);
	assert_int_equal(count_events("closed", &at_s), 1);
	assert_false(seen.offered);
	assert_int_equal(summary().sales, 0);
}

TEST(sales_stop_at_max_vgpus)
{
	offering = true;
	make(THREE "[offer]\nmax_vgpus = 3\nprobation_s = 1\n[arrivals]\nstart = 2\n");
	run_periods(30);
	assert_int_equal(seen.n_vgpus, 3);
	assert_false(seen.selling);
	assert_int_equal(summary().offers, 1);
}

TEST(listed_tenants_arrive_once_and_in_order)
{
	offering = true;
	make("[offer]\nprobation_s = 1\n[tenant x]\nworkload = idle\n"
	     "[tenant y]\nworkload = idle\ncount = 2\n[arrivals]\ndraw = listed\n");
	run_periods(30);
	assert_int_equal(seen.n_vgpus, 3);
	assert_string_equal(seen_vgpus[0].id, "v1-x");
	assert_string_equal(seen_vgpus[1].id, "v2-y");
	assert_string_equal(seen_vgpus[2].id, "v3-y");
	assert_false(seen.selling);
}

TEST(severe_overload_fails_a_sale)
{
	double at_s = 0;

	offering = severe = true;
	make(THREE "[arrivals]\nstart = 1\n");
	run_periods(30);
	assert_int_equal(count_events("failed", &at_s), 1);
	assert_int_equal((int)at_s, 4);
	assert_true(seen.offered); /* the failed sale stays open until the newcomer leaves */
	assert_int_equal(seen.n_vgpus, 2);
	assert_int_equal(summary().failed, 1);
	assert_int_equal((int)summary().severe_s, 30);
}

TEST(with_migration_a_failed_newcomer_leaves_and_selling_continues)
{
	double at_s = 0;

	offering = true;
	make("[scenario]\nmigrate = on\nmigrate_s = 2\n[tenant a]\nworkload = idle\n"
	     "[tenant b]\nworkload = idle\narrive_s = 0\n");
	run_periods(1);
	severe = true;
	run_periods(3);
	assert_int_equal(count_events("failed", &at_s), 1);
	severe = false;
	run_periods(1); /* a second severe decision also removes tenant b */
	run_periods(1);
	assert_int_equal(summary().left, 2);
	assert_int_equal(count_events("left", &at_s), 2);
	offering = false;
	run_periods(2);
	assert_false(seen.offered);
	offering = true;
	run_periods(1);
	assert_int_equal(summary().sales, 2);
}

TEST(a_move_has_a_blackout_and_a_price)
{
	struct experiment_summary sum;

	severe = true;
	make("[scenario]\nmigrate = on\nmigrate_s = 3\nmigrate_blackout_s = 1.5\n"
	     "[price]\nprice_per_move = 0.6\n"
	     "[tenant a]\nworkload = idle\narrive_s = 0\ncount = 3\n");
	run_periods(1);
	severe = false;
	run_periods(19);
	sum = summary();
	assert_int_equal(sum.account.moves, 1);
	assert_int_equal(sum.left, 1);
	assert_true(experiment_vgpu_at(experiment, 0, NULL)->moved);
	assert_false(experiment_vgpu_at(experiment, 1, NULL)->moved);
	CLOSE(experiment_vgpu_at(experiment, 0, NULL)->left_s, 4);
	CLOSE(sum.account.broken_s, 1.5);
	CLOSE(sum.account.vgpu_s, 4 + 1.5 + 2 * 20);
	CLOSE(sum.account.move_cost, 0.6);
	CLOSE(sum.account.net_income, sum.account.revenue - sum.account.shortfall_penalty - 0.6);
	CLOSE(sum.account.shortfall_penalty, 0.015);
	CLOSE(sum.stay_median_s, 20);
}

TEST(the_other_hosts_take_only_migrate_capacity)
{
	static const struct {
		const char *capacity;
		int moves;
		double stay_median_s;
	} rows[] = {
		{"", 4, 10}, {"migrate_capacity = 1\n", 1, 20}, {"migrate_capacity = 0\n", 0, 20}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[256];

		severe = true;
		snprintf(text, sizeof(text),
			 "[scenario]\nmigrate = on\nmigrate_s = 3\n%s"
			 "[tenant a]\nworkload = idle\narrive_s = 0\ncount = 4\n",
			 rows[i].capacity);
		make(text);
		run_periods(20);
		assert_true(seen.migrates);
		assert_int_equal(summary().account.moves, rows[i].moves);
		CLOSE(summary().stay_median_s, rows[i].stay_median_s);
	}
}

TEST(a_tenant_that_leaves_by_itself_does_not_move)
{
	severe = true;
	make("[scenario]\nmigrate = on\nmigrate_s = 10\nmigrate_blackout_s = 1\n"
	     "migrate_capacity = 1\n"
	     "[tenant a]\nworkload = idle\narrive_s = 0\nstay_s = 5\n"
	     "[tenant b]\nworkload = idle\narrive_s = 0\n");
	run_periods(20);
	assert_int_equal(summary().left, 2);
	assert_int_equal(summary().account.moves, 1);
	assert_false(experiment_vgpu_at(experiment, 0, NULL)->moved);
	assert_true(experiment_vgpu_at(experiment, 1, NULL)->moved);
}
