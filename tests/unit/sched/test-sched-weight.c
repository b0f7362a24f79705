/* SPDX-License-Identifier: MIT */
/* The discipline "weight" of the vGPU scheduler: shares of the whole GPU in proportion to the caps.
 */
#include "base/cleanup.h"
#include "tests/unit/sched/test-sched-rig.h"
#include "tests/unit/unit.h"

TEST(a_discipline_is_found_by_its_name)
{
	struct sched sched;

	assert_ptr_equal(sched_discipline_find("cap"), &sched_disciplines[0]);
	assert_string_equal(sched_discipline_find("weight")->name, "weight");
	assert_null(sched_discipline_find("cap "));
	assert_null(sched_discipline_find("ca"));
	assert_null(sched_discipline_find(""));
	sched_start(&sched, NULL, 0);
	assert_string_equal(sched.discipline->name, "cap");
}

TEST(busy_vgpus_share_the_whole_gpu_by_weight)
{
	static const struct {
		unsigned int caps[4];
		unsigned int shares_pct[4];
	} rows[] = {
		{{20, 30, 50}, {20, 30, 50}}, {{10, 10}, {50, 50}},
		{{10, 30}, {25, 75}},	      {{100, 100, 100, 100}, {25, 25, 25, 25}},
		{{1, 99}, {1, 99}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		rig_init_with("weight", 1);
		for (int j = 0; j < 4 && rows[i].caps[j] > 0; j++)
			rig_add(rows[i].caps[j], FOREVER);
		rig_run(10 * NS_PER_S);
		for (int j = 0; j < rig.n; j++)
			assert_near(rig.tenants[j].sched.busy_ns,
				    rows[i].shares_pct[j] * (NS_PER_S / 10), 2 * SCHED_ROUND_NS);
	}
}

TEST(the_time_of_an_idle_vgpu_is_used_by_others)
{
	struct tenant *busy;

	rig_init_with("weight", 1);
	rig_add(90, 0);
	busy = rig_add(1, FOREVER);
	rig_run(3 * NS_PER_S);
	assert_int_equal(busy->sched.busy_ns, 3 * NS_PER_S);
	/* The allotted time is still computed from the cap. */
	assert_int_equal(sched_allotted_ns(&busy->sched, rig.now_ns), 30 * NS_PER_MS);
}

TEST(no_limit_has_the_weight_100)
{
	rig_init_with("weight", 1);
	rig_add(0, FOREVER);
	rig_add(100, FOREVER);
	rig_run(100 * NS_PER_S);
	assert_near(rig.tenants[0].sched.busy_ns, 50 * NS_PER_S, 2 * SCHED_ROUND_NS);
}

TEST(equal_vgpus_run_in_the_order_of_the_round)
{
	struct tenant *second, *third;

	rig_init_with("weight", 1);
	rig_add(50, FOREVER);
	second = rig_add(50, FOREVER);
	third = rig_add(50, FOREVER);
	assert_ptr_equal(rig_step(NS_PER_S), second);
	assert_ptr_equal(rig_step(NS_PER_S), third);
	assert_ptr_equal(rig_step(NS_PER_S), &rig.tenants[0]);
	assert_ptr_equal(rig_step(NS_PER_S), second);
}

TEST(an_idle_time_gives_no_advantage)
{
	struct tenant *rested;

	rig_init_with("weight", 1);
	rig_add(50, FOREVER);
	rested = rig_add(50, 0);
	rig_run(5 * NS_PER_S);
	rested->work_ns = FOREVER;
	sched_set_pending(&rig.sched, &rested->sched, true);
	rig_run(NS_PER_S);
	assert_near(rested->sched.busy_ns, NS_PER_S / 2, SCHED_ROUND_NS);
}

TEST(an_overrun_is_deducted)
{
	struct tenant *greedy, *other;

	rig_init_with("weight", 1);
	greedy = rig_add(50, FOREVER);
	other = rig_add(50, FOREVER);
	sched_account(&rig.sched, &greedy->sched, 300 * NS_PER_MS);
	rig_run(700 * NS_PER_MS);
	assert_near(greedy->sched.busy_ns, NS_PER_S / 2, SCHED_ROUND_NS);
	assert_near(other->sched.busy_ns, NS_PER_S / 2, SCHED_ROUND_NS);
}

TEST(a_weight_takes_effect_at_the_next_slot)
{
	rig_init_with("weight", 1);
	rig_add(50, FOREVER);
	rig_add(50, FOREVER);
	rig_run(NS_PER_S);
	sched_set_cap(&rig.tenants[0].sched, 25, rig.now_ns);
	sched_set_cap(&rig.tenants[1].sched, 75, rig.now_ns);
	rig_run(NS_PER_S + SLOT);
	assert_near(rig.tenants[0].sched.busy_ns, 800 * NS_PER_MS, 2 * SCHED_ROUND_NS);
}

TEST(tags_may_wrap_around)
{
	for (int sleeper = 0; sleeper < 2; sleeper++) {
		struct tenant *asleep = NULL;

		rig_init_with("weight", 1);
		rig.sched.tag = UINT64_MAX - ((uint64_t)NS_PER_S << 14);
		rig_add(20, FOREVER);
		rig_add(80, FOREVER);
		if (sleeper)
			asleep = rig_add(100, 0);
		rig_run(4 * NS_PER_S);
		assert_true(rig.tenants[0].sched.tag < UINT64_MAX / 2);
		assert_near(rig.tenants[0].sched.busy_ns, 800 * NS_PER_MS, 2 * SCHED_ROUND_NS);
		if (!asleep)
			continue;
		asleep->work_ns = FOREVER;
		sched_set_pending(&rig.sched, &asleep->sched, true);
		rig_run(NS_PER_S);
		assert_near(asleep->sched.busy_ns, NS_PER_S / 2, 2 * SCHED_ROUND_NS);
	}
}

/* Lets @tenant run in all slots of @ns. */
static void run_alone(struct tenant *tenant, uint64_t ns)
{
	uint64_t run_ns;

	for (uint64_t t = 0; t < ns; t += SLOT) {
		assert_ptr_equal(sched_pick(&rig.sched, &run_ns), &tenant->sched);
		sched_account(&rig.sched, &tenant->sched, SLOT);
		rig.now_ns += SLOT;
		sched_open_slot(&rig.sched, rig.now_ns);
	}
}

/* At weight 1, the difference of two tags overflows after 2.4 hours. */
TEST(after_hours_a_vgpu_that_wakes_or_joins_gets_its_share)
{
	for (int joins = 0; joins < 2; joins++) {
		struct tenant *busy, *other = NULL;

		rig_init_with("weight", 1);
		busy = rig_add(1, FOREVER);
		if (!joins)
			other = rig_add(99, 0);
		run_alone(busy, 3 * 3600 * NS_PER_S);
		if (joins)
			other = rig_add(99, FOREVER);
		other->work_ns = FOREVER;
		sched_set_pending(&rig.sched, &other->sched, true);
		rig_run(NS_PER_S);
		assert_near(other->sched.busy_ns, 990 * NS_PER_MS, 2 * SCHED_ROUND_NS);
	}
}

TEST(the_gpu_never_idles_and_no_vgpu_starves)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct tenant *smallest;
		uint64_t weights = 1;

		rig_init_with("weight", seed);
		smallest = rig_add(1, FOREVER);
		for (int i = 0; i < 1 + (int)seed % 9; i++)
			weights += rig_add_bursty(1 + (unsigned int)draw(100))->sched.cap_pct;
		while (rig.now_ns < 5 * NS_PER_S)
			assert_non_null(rig_step(5 * NS_PER_S));
		assert_true(smallest->sched.busy_ns + 2 * SCHED_ROUND_NS > 5 * NS_PER_S / weights);
	}
}
