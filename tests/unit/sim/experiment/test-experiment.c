/* SPDX-License-Identifier: MIT */
/* The closed loop: what a policy on experiment sees, and what becomes of its decisions. */
#include "sim/model/sim.h"
#include "tests/unit/sim/experiment/test-experiment.h"

/* --- what is seen --- */

static void the_first_reading_has_nothing_to_compare_with(void **state)
{
	(void)state;
	make(THREE "[arrivals]\nstart = 2\n");
	pass(1);
	assert_int_equal(seen.n_vgpus, 2);
	assert_false(seen_vgpus[0].busy_valid);
	assert_false(seen_vgpus[0].fps_valid);
	pass(1);
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

static void a_program_that_does_not_draw_has_no_fps(void **state)
{
	(void)state;
	make("[tenant a]\nworkload = load:pct=30\n[arrivals]\nstart = 1\n");
	pass(3);
	assert_false(seen_vgpus[0].fps_valid);
	assert_true(fabs(seen_vgpus[0].load - 0.3) < 1e-6);
	assert_true(fabs(experiment_current_vgpu_at(experiment, 0)->sample.demand - 0.3) < 1e-6);
}

/* With a target: what its frames cost; without: what it would draw alone. */
static void what_a_renderer_asks_for(void **state)
{
	(void)state;
	make("[tenant a]\nworkload = glxgears\ntarget_fps = 140\ncontract_pct = 5\narrive_s = 0\n"
	     "[tenant b]\nworkload = glxgears\ncontract_pct = 5\narrive_s = 0\n");
	pass(10);
	assert_true(fabs(experiment_current_vgpu_at(experiment, 0)->sample.demand - 0.07) < 0.002);
	assert_true(fabs(experiment_current_vgpu_at(experiment, 1)->sample.demand - 0.125) < 0.002);
	assert_true(fabs(experiment_current_vgpu_at(experiment, 1)->sample.load - 0.05) < 0.002);
	assert_true(experiment_current_vgpu_at(experiment, 0)->sample.broken); /* 5 % of 7 */
	assert_false(
		experiment_current_vgpu_at(experiment, 1)->sample.broken); /* all that was sold */
}

static void the_start_fits(void **state)
{
	static const char text[] = "[tenant a]\nworkload = idle\ncount = 4\narrive_s = 0\n"
				   "[tenant b]\nworkload = idle\ncontract_pct = 20\narrive_s = 0\n";

	(void)state;
	make(text);
	pass(1);
	assert_int_equal(seen.n_vgpus, 5);
	for (int i = 0; i < 4; i++)
		assert_int_equal(seen_vgpus[i].cap_pct, 22); /* 50 of 220 */
	assert_int_equal(seen_vgpus[4].cap_pct, 9);
}

static void caps_are_hard_or_weights(void **state)
{
	static const char text[] = "[host]\ndiscipline = %s\n"
				   "[tenant a]\nworkload = busy\ncontract_pct = 40\narrive_s = 0\n"
				   "[tenant b]\nworkload = busy\ncontract_pct = 20\narrive_s = 0\n";
	char whole[256];

	(void)state;
	snprintf(whole, sizeof(whole), text, "cap");
	make(whole);
	pass(5);
	assert_true(fabs(seen_vgpus[0].load - 0.4) < 0.01);
	assert_true(fabs(experiment_util(experiment) - 0.6) < 0.01);
	snprintf(whole, sizeof(whole), text, "weight");
	make(whole);
	pass(5);
	assert_true(fabs(seen_vgpus[0].load - 0.667) < 0.01);
	assert_true(fabs(experiment_util(experiment) - 1) < 0.01);
}

static void a_discipline_is_for_good(void **state)
{
	struct sim_vgpu *vgpu;
	struct sim *sim;

	(void)state;
	assert_int_equal(sim_new(&sim), 0);
	assert_int_equal(sim_set_discipline(sim, NULL), 0);
	assert_int_equal(sim_add(sim, "a", 50, &vgpu), 0);
	assert_int_equal(sim_set_discipline(sim, NULL), -EBUSY);
	sim_remove(sim, vgpu);
	sim_advance(sim, 1);
	assert_int_equal(sim_set_discipline(sim, NULL), -EBUSY);
	sim_free(sim);
}

/* --- coming and going --- */

static void tenants_come_and_go_at_their_time(void **state)
{
	double at_s = 0;

	(void)state;
	make("[tenant a]\nworkload = idle\narrive_s = 0\n"
	     "[tenant b]\nworkload = idle\narrive_s = 5\nstay_s = 10\n");
	pass(6);
	assert_int_equal(seen.n_vgpus, 2);
	assert_int_equal(summary().sales, 0);
	pass(9);
	assert_int_equal(heard("left", &at_s), 1);
	assert_int_equal((int)at_s, 15);
	assert_int_equal(seen.n_vgpus, 2); /* it was there up to then */
	pass(1);
	assert_int_equal(seen.n_vgpus, 1);
	assert_int_equal(summary().left, 1);
	assert_true(isnan(experiment_vgpu_at(experiment, 0, NULL)->left_s));
	assert_int_equal((int)experiment_vgpu_at(experiment, 1, NULL)->left_s, 15);
}

static void what_a_leaver_frees_goes_to_those_who_lack_it(void **state)
{
	(void)state;
	make("[tenant a]\nworkload = idle\narrive_s = 0\ncount = 2\n"
	     "[tenant b]\nworkload = idle\narrive_s = 0\nstay_s = 3\n");
	pass(3);
	assert_int_equal(seen_vgpus[0].cap_pct, 33);
	pass(1);
	assert_int_equal(seen.n_vgpus, 2);
	assert_int_equal(seen_vgpus[0].cap_pct, 50);
	assert_int_equal(seen_vgpus[1].cap_pct, 50);
}

static void who_finds_no_room_is_refused(void **state)
{
	double at_s = 0;

	(void)state;
	fund_pct = -ENOSPC;
	make("[tenant a]\nworkload = idle\narrive_s = 0\n[tenant b]\nworkload = idle\narrive_s = "
	     "2\n");
	pass(4);
	assert_int_equal(heard("refused", &at_s), 1);
	assert_int_equal(summary().refused, 1);
	assert_int_equal(seen.n_vgpus, 1);
}

/* Policies take so many and no more. */
static void a_gpu_has_256_vgpus(void **state)
{
	(void)state;
	make("[tenant a]\nworkload = idle\narrive_s = 0\ncount = 255\ncontract_pct = 1\n"
	     "[tenant b]\nworkload = idle\narrive_s = 1\ncount = 3\ncontract_pct = 1\n");
	pass(3);
	assert_int_equal(seen.n_vgpus, POLICY_VGPUS_MAX);
	assert_int_equal(summary().refused, 2);
}

static void more_than_there_are_cannot_start(void **state)
{
	struct experiment *none = NULL;

	(void)state;
	make(THREE);
	scenario.start = 3;
	scenario.draw = SCENARIO_LISTED;
	assert_int_equal(experiment_new(&scenario, &stub, NULL, 1, NULL, &none, &err), -EINVAL);
	assert_null(none);
	assert_string_equal(err.msg, "[arrivals] start = 3: there are not so many tenants to come");
}

/* --- who looks on and takes part --- */

static int asked;

static bool admit_third(void *userdata, const struct experiment *of, bool offers)
{
	(void)of;
	(void)offers;
	assert_ptr_equal(userdata, &asked);
	return ++asked % 3 == 0;
}

static void admission_can_be_taken_over(void **state)
{
	static const struct experiment_hooks hooks = {.userdata = &asked, .admit = admit_third};

	(void)state;
	asked = 0;
	offering = true; /* is not asked */
	make_with(THREE "[arrivals]\nstart = 1\n[offer]\nprobation_s = 2\n", &stub, 1, &hooks);
	pass(2);
	assert_int_equal(summary().sales, 0);
	pass(1);
	assert_int_equal(summary().sales, 1);
	pass(2);
	assert_int_equal(asked, 3); /* not while one is on probation */
	pass(4);
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

static void so_can_the_step(void **state)
{
	static const struct experiment_hooks hooks = {.step = step_to_40};

	(void)state;
	make_with(THREE "[arrivals]\nstart = 2\n", &stub, 1, &hooks);
	pass(2);
	assert_int_equal(experiment_current_vgpu_at(experiment, 0)->sampled_cap_pct, 40);
	assert_int_equal(experiment_current_vgpu_at(experiment, 1)->sampled_cap_pct, 50);
	assert_int_equal(summary().cap_moves, 1);
}

/* --- the same again --- */

static void play(const char *text, uint64_t seed, struct experiment_summary *ret_sum)
{
	make_with(text, policy_find("gover"), seed, NULL);
	while (experiment_step(experiment))
		;
	memset(ret_sum, 0, sizeof(*ret_sum)); /* its padding too */
	experiment_summarize(experiment, ret_sum);
}

static void a_seed_is_a_run(void **state)
{
	static const char text[] =
		"[offer]\nprobation_s = 10\n[tenant a]\nworkload = glxgears\ntarget_fps = 140\n"
		"[tenant b]\nworkload = glmark2:scale=0.3\ntarget_fps = 160\n"
		"[tenant c]\nworkload = plot3d:scale=0.2\n[arrivals]\nstart = 2\n";
	struct experiment_summary first, again, other;

	(void)state;
	play(text, 4, &first);
	play(text, 4, &again);
	play(text, 5, &other);
	assert_true(first.sales > 0);
	assert_memory_equal(&first, &again, sizeof(first));
	assert_true(fabs(first.account.util_avg_pct - other.account.util_avg_pct) > 0);
}

/* The sum of caps stays within the GPU whatever happens. */
static void caps_stay_real(void **state)
{
	static const char text[] =
		"[scenario]\nmigrate = on\nmigrate_s = 3\n[offer]\nprobation_s = 5\nflavor_cap_pct "
		"= 25\n"
		"[tenant a]\nworkload = glmark2:scale=0.5\ntarget_fps = 160\nstay_s = 40\n"
		"[tenant b]\nworkload = load:pct=20\n[tenant c]\nworkload = busy\nstay_s = 20\n"
		"[tenant d]\nworkload = busy\narrive_s = 30\nstay_s = 30\n[arrivals]\nstart = 3\n";
	static const struct experiment_hooks hooks = {.on_event = hear};

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_reading_has_nothing_to_compare_with),
		TEST(a_program_that_does_not_draw_has_no_fps),
		TEST(what_a_renderer_asks_for),
		TEST(the_start_fits),
		TEST(caps_are_hard_or_weights),
		TEST(a_discipline_is_for_good),
		TEST(tenants_come_and_go_at_their_time),
		TEST(what_a_leaver_frees_goes_to_those_who_lack_it),
		TEST(who_finds_no_room_is_refused),
		TEST(a_gpu_has_256_vgpus),
		TEST(more_than_there_are_cannot_start),
		TEST(admission_can_be_taken_over),
		TEST(so_can_the_step),
		TEST(a_seed_is_a_run),
		TEST(caps_stay_real),
	};

	return cmocka_run_group_tests(tests, temp_file_make, temp_file_remove);
}
