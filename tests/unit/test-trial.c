/* SPDX-License-Identifier: MIT */
/* The closed loop: what a policy on trial sees, and what becomes of its decisions. */
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
#include "sim/sim.h"
#include "trial/trial.h"

#define EVENTS_MAX 512
#define THREE	   "[scenario]\nseconds = 60\n[tenant a]\nworkload = glxgears\ntarget_fps = 140\n"

static char path[] = "/tmp/gover-trial.XXXXXX";
static struct scenario scenario; /* large: not for the stack */
static struct trial *trial;
static struct err err;

/* What was told. */
static struct {
	double t_s;
	char kind[16], vgpu[ID_MAX];
} events[EVENTS_MAX];
static int n_events;

/* What the policy was shown, and what it does: offers in each period, moves nothing. */
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

static void hear(void *userdata, const struct trial_event *event)
{
	(void)userdata;
	assert_true(n_events < EVENTS_MAX);
	events[n_events].t_s = event->t_s;
	snprintf(events[n_events].kind, sizeof(events[0].kind), "%s", event->kind);
	snprintf(events[n_events++].vgpu, sizeof(events[0].vgpu), "%s", event->vgpu);
}

/* How often @kind was told, and when first. */
static int heard(const char *kind, double *ret_first_s)
{
	int n = 0;

	for (int i = n_events; i-- > 0;)
		if (strcmp(events[i].kind, kind) == 0) {
			*ret_first_s = events[i].t_s;
			n++;
		}
	return n;
}

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return remove(path);
}

static int begin(void **state)
{
	(void)state;
	offering = severe = false;
	fund_pct = 10;
	n_events = 0;
	return 0;
}

static int end(void **state)
{
	(void)state;
	trial = trial_free(trial);
	scenario_fini(&scenario);
	return 0;
}

static void make_with(const char *text, const struct policy *policy, uint64_t seed,
		      const struct trial_hooks *hooks)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	trial = trial_free(trial);
	scenario_fini(&scenario);
	if (scenario_load(path, &scenario, &err) < 0)
		fail_msg("%s", err.msg);
	if (trial_new(&scenario, policy, NULL, seed, hooks, &trial, &err) < 0)
		fail_msg("%s", err.msg);
}

static void make(const char *text)
{
	static const struct trial_hooks hooks = {.told = hear};

	make_with(text, &stub, 1, &hooks);
}

static void pass(int periods)
{
	while (periods-- > 0)
		(void)trial_step(trial);
}

static struct trial_summary summary(void)
{
	struct trial_summary sum;

	trial_sum(trial, &sum);
	return sum;
}

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
	assert_true(fabs(trial_vgpu_at(trial, 0)->sample.demand - 0.3) < 1e-6);
}

/* With a target: what its frames cost; without: what it would draw alone. */
static void what_a_renderer_asks_for(void **state)
{
	(void)state;
	make("[tenant a]\nworkload = glxgears\ntarget_fps = 140\ncontract_pct = 5\narrive_s = 0\n"
	     "[tenant b]\nworkload = glxgears\ncontract_pct = 5\narrive_s = 0\n");
	pass(10);
	assert_true(fabs(trial_vgpu_at(trial, 0)->sample.demand - 0.07) < 0.002);
	assert_true(fabs(trial_vgpu_at(trial, 1)->sample.demand - 0.125) < 0.002);
	assert_true(fabs(trial_vgpu_at(trial, 1)->sample.load - 0.05) < 0.002);
	assert_true(trial_vgpu_at(trial, 0)->sample.broken);  /* 5 % of 7 */
	assert_false(trial_vgpu_at(trial, 1)->sample.broken); /* all that was sold */
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
	assert_true(fabs(trial_util(trial) - 0.6) < 0.01);
	snprintf(whole, sizeof(whole), text, "weight");
	make(whole);
	pass(5);
	assert_true(fabs(seen_vgpus[0].load - 0.667) < 0.01);
	assert_true(fabs(trial_util(trial) - 1) < 0.01);
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

/* --- offers --- */

static void an_offer_is_claimed_and_kept(void **state)
{
	double at_s = 0;

	(void)state;
	offering = true;
	make(THREE "[offer]\nprobation_s = 10\n[arrivals]\nstart = 2\n");
	pass(1);
	assert_int_equal(heard("sold", &at_s), 3);
	assert_int_equal(summary().sales, 1);
	pass(1);
	assert_int_equal(seen.n_vgpus, 3);
	assert_true(seen.offered);
	assert_int_equal(seen_vgpus[2].cap_pct, 10);
	pass(8);
	assert_int_equal(heard("kept", &at_s), 0);
	pass(1);
	assert_int_equal(heard("kept", &at_s), 1);
	assert_int_equal((int)at_s, 11);
	assert_int_equal(summary().kept, 1);
	assert_int_equal(summary().sales, 1); /* the next is made in the next period */
	pass(1);
	assert_int_equal(summary().sales, 2);
}

static void a_customer_takes_a_while(void **state)
{
	double at_s = 0;

	(void)state;
	offering = true;
	make(THREE "[offer]\ncustomer_s = 3\n[arrivals]\nstart = 1\n");
	pass(3);
	assert_int_equal(heard("sold", &at_s), 1);
	assert_true(seen.offered);
	pass(1);
	assert_int_equal(heard("sold", &at_s), 2);
	assert_int_equal((int)events[n_events - 1].t_s, 4);
}

static void an_open_offer_closes_when_it_cannot_be_funded(void **state)
{
	double at_s = 0;

	(void)state;
	offering = true;
	make(THREE "[offer]\ncustomer_s = 5\n[arrivals]\nstart = 1\n");
	pass(1);
	fund_pct = -ENOSPC;
	offering = false;
	pass(2);
	assert_int_equal(heard("closed", &at_s), 1);
	assert_false(seen.offered);
	assert_int_equal(summary().sales, 0);
}

static void nothing_is_sold_beyond_the_most(void **state)
{
	(void)state;
	offering = true;
	make(THREE "[offer]\nmax_vgpus = 3\nprobation_s = 1\n[arrivals]\nstart = 2\n");
	pass(30);
	assert_int_equal(seen.n_vgpus, 3);
	assert_false(seen.selling);
	assert_int_equal(summary().offers, 1);
}

static void who_is_listed_comes_once_and_in_order(void **state)
{
	(void)state;
	offering = true;
	make("[offer]\nprobation_s = 1\n[tenant x]\nworkload = idle\n"
	     "[tenant y]\nworkload = idle\ncount = 2\n[arrivals]\ndraw = listed\n");
	pass(30);
	assert_int_equal(seen.n_vgpus, 3);
	assert_string_equal(seen_vgpus[0].id, "v1-x");
	assert_string_equal(seen_vgpus[1].id, "v2-y");
	assert_string_equal(seen_vgpus[2].id, "v3-y");
	assert_false(seen.selling);
}

static void severe_overload_fails_a_sale(void **state)
{
	double at_s = 0;

	(void)state;
	offering = severe = true;
	make(THREE "[arrivals]\nstart = 1\n");
	pass(30);
	assert_int_equal(heard("failed", &at_s), 1);
	assert_int_equal((int)at_s, 4);
	assert_true(seen.offered); /* as long as the newcomer is there */
	assert_int_equal(seen.n_vgpus, 2);
	assert_int_equal(summary().failed, 1);
	assert_int_equal((int)summary().severe_s, 30);
}

static void with_migration_it_leaves_and_selling_goes_on(void **state)
{
	double at_s = 0;

	(void)state;
	offering = true;
	make("[scenario]\nmigrate = on\nmigrate_s = 2\n[tenant a]\nworkload = idle\n"
	     "[tenant b]\nworkload = idle\narrive_s = 0\n");
	pass(1);
	severe = true;
	pass(3);
	assert_int_equal(heard("failed", &at_s), 1);
	severe = false;
	pass(1); /* the victim of the overload went with it */
	pass(1);
	assert_int_equal(summary().left, 2);
	assert_int_equal(heard("left", &at_s), 2);
	offering = false;
	pass(2);
	assert_false(seen.offered);
	offering = true;
	pass(1);
	assert_int_equal(summary().sales, 2);
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
	assert_true(isnan(trial_vgpu_ever(trial, 0, NULL)->left_s));
	assert_int_equal((int)trial_vgpu_ever(trial, 1, NULL)->left_s, 15);
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
	struct trial *none = NULL;

	(void)state;
	make(THREE);
	scenario.start = 3;
	scenario.draw = SCENARIO_LISTED;
	assert_int_equal(trial_new(&scenario, &stub, NULL, 1, NULL, &none, &err), -EINVAL);
	assert_null(none);
	assert_string_equal(err.msg, "[arrivals] start = 3: there are not so many tenants to come");
}

/* --- who looks on and takes part --- */

static int asked;

static bool admit_third(void *userdata, const struct trial *of, bool offers)
{
	(void)of;
	(void)offers;
	assert_ptr_equal(userdata, &asked);
	return ++asked % 3 == 0;
}

static void admission_can_be_taken_over(void **state)
{
	static const struct trial_hooks hooks = {.userdata = &asked, .admit = admit_third};

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

static void step_to_40(void *userdata, const struct trial *of, const struct policy_params *params,
		       struct policy_gpu *gpu, struct policy_out *out)
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
	static const struct trial_hooks hooks = {.step = step_to_40};

	(void)state;
	make_with(THREE "[arrivals]\nstart = 2\n", &stub, 1, &hooks);
	pass(2);
	assert_int_equal(trial_vgpu_at(trial, 0)->sampled_cap_pct, 40);
	assert_int_equal(trial_vgpu_at(trial, 1)->sampled_cap_pct, 50);
	assert_int_equal(summary().cap_moves, 1);
}

/* --- the same again --- */

static void play(const char *text, uint64_t seed, struct trial_summary *ret_sum)
{
	make_with(text, policy_find("gover"), seed, NULL);
	while (trial_step(trial))
		;
	memset(ret_sum, 0, sizeof(*ret_sum)); /* its padding too */
	trial_sum(trial, ret_sum);
}

static void a_seed_is_a_run(void **state)
{
	static const char text[] =
		"[offer]\nprobation_s = 10\n[tenant a]\nworkload = glxgears\ntarget_fps = 140\n"
		"[tenant b]\nworkload = glmark2:scale=0.3\ntarget_fps = 160\n"
		"[tenant c]\nworkload = plot3d:scale=0.2\n[arrivals]\nstart = 2\n";
	struct trial_summary first, again, other;

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
	static const struct trial_hooks hooks = {.told = hear};

	(void)state;
	for (uint64_t seed = 1; seed < 20; seed++) {
		bool more = true;

		n_events = 0;
		make_with(text, policy_find("gover"), seed, &hooks);
		while (more) {
			int sum_pct = 0;

			more = trial_step(trial);
			for (int i = 0; trial_vgpu_at(trial, i); i++)
				sum_pct += trial_vgpu_at(trial, i)->sampled_cap_pct;
			assert_true(sum_pct <= 100);
		}
		assert_true(summary().left > 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_reading_has_nothing_to_compare_with),
		TEST(a_program_that_does_not_draw_has_no_fps),
		TEST(what_a_renderer_asks_for),
		TEST(the_start_fits),
		TEST(caps_are_hard_or_weights),
		TEST(a_discipline_is_for_good),
		TEST(an_offer_is_claimed_and_kept),
		TEST(a_customer_takes_a_while),
		TEST(an_open_offer_closes_when_it_cannot_be_funded),
		TEST(nothing_is_sold_beyond_the_most),
		TEST(who_is_listed_comes_once_and_in_order),
		TEST(severe_overload_fails_a_sale),
		TEST(with_migration_it_leaves_and_selling_goes_on),
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

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
