/* SPDX-License-Identifier: MIT */
/*
 * Policy qos: the learned estimate of migrations of named vGPUs, and how it is stored and loaded.
 */
#include "tests/unit/policy/test-policy.h"

#include "policy/qos/moving.h"
#include "base/cleanup.h"

static void make(void)
{
	bench_init(
		(const struct given[]){
			{"a", 50, .cap = 30}, {"b", 50, .cap = 30}, {"c", 50, .cap = 30}, {0}},
		1);
	bench.gpu.migrates = true;
}

static void learn(int seconds)
{
	for (int t = 0; t < seconds; t++)
		moving_learn(&bench.gpu);
}

/* The last vGPU of the array leaves after @seconds. */
static void leave(int seconds)
{
	learn(seconds - 1);
	bench.gpu.n_vgpus--;
	learn(1);
}

static bool is_unanswered(void)
{
	return moving_save(&bench.gpu.moving).unanswered;
}

TEST(test_without_a_hook_or_an_answer_there_is_no_trust)
{
	make();
	assert_true(moving_trust(&bench.gpu) == 0);
	assert_false(moving_is_known(&bench.gpu));
	bench.gpu.moving.answered = 1;
	assert_true(moving_trust(&bench.gpu) > 0.9);
	bench.gpu.migrates = false;
	assert_true(moving_trust(&bench.gpu) == 0);
	assert_false(moving_is_known(&bench.gpu));
}

TEST(test_an_answer_gives_trust_and_the_delay)
{
	make();
	assert_true(moving_delay_s(&bench.gpu) == 10);
	moving_name(&bench.gpu, 2);
	leave(120);
	assert_float_equal(moving_trust(&bench.gpu), 1 / 1.03, 1e-9);
	assert_true(moving_is_known(&bench.gpu));
	assert_float_equal(moving_delay_s(&bench.gpu), 120, 1e-9);
	/* The newest delay has a weight of 0.3. */
	moving_name(&bench.gpu, 1);
	leave(20);
	assert_float_equal(moving_delay_s(&bench.gpu), 90, 1e-9);
	assert_float_equal(moving_trust(&bench.gpu), 2 / 2.03, 1e-9);
}

TEST(test_the_departure_of_another_vgpu_is_no_answer)
{
	make();
	leave(5); /* no naming */
	moving_name(&bench.gpu, 0);
	leave(5);
	assert_true(moving_trust(&bench.gpu) == 0);
}

TEST(test_one_naming_without_an_answer_ends_the_trust)
{
	make();
	bench.gpu.moving = (struct policy_moving){.answered = 9, .delay_s = 100};
	moving_name(&bench.gpu, 2);
	learn(180);
	assert_true(moving_trust(&bench.gpu) > 0.9);
	learn(1);
	assert_true(moving_trust(&bench.gpu) == 0);
	/* Naming the vGPU again does not restart the time. A late departure is no answer in time,
	 * so nothing is known, as at the start. */
	moving_name(&bench.gpu, 2);
	leave(19);
	assert_false(is_unanswered());
	assert_false(moving_is_known(&bench.gpu));
	assert_float_equal(moving_delay_s(&bench.gpu), 130, 1e-9);
}

TEST(test_a_departure_much_later_is_no_answer)
{
	make();
	moving_name(&bench.gpu, 2);
	learn(361);
	leave(1);
	assert_true(is_unanswered());
}

TEST(test_naming_other_vgpus_does_not_restart_the_time)
{
	make();
	for (int t = 0; t < 4; t++) {
		moving_name(&bench.gpu, t % 2);
		learn(30);
	}
	assert_false(is_unanswered());
	learn(61);
	assert_true(is_unanswered());
}

TEST(test_each_named_vgpu_has_a_time_of_its_own)
{
	make();
	moving_name(&bench.gpu, 2);
	learn(30);
	moving_name(&bench.gpu, 1);
	leave(30);
	assert_float_equal(moving_trust(&bench.gpu), 1 / 1.03, 1e-9);
	assert_float_equal(moving_delay_s(&bench.gpu), 60, 1e-9);
}

TEST(test_the_oldest_naming_is_replaced)
{
	static const struct given given[] = {{"a", 10, .cap = 10}, {"b", 10, .cap = 10},
					     {"c", 10, .cap = 10}, {"d", 10, .cap = 10},
					     {"e", 10, .cap = 10}, {"f", 10, .cap = 10},
					     {"g", 10, .cap = 10}, {"h", 10, .cap = 10},
					     {"i", 10, .cap = 10}, {0}};

	bench_init(given, 1);
	bench.gpu.migrates = true;
	for (int i = 8; i >= 0; i--) {
		moving_name(&bench.gpu, i);
		learn(1);
	}
	leave(1); /* the vGPU that was named first */
	assert_true(moving_trust(&bench.gpu) == 0);
	leave(1);
	assert_float_equal(moving_trust(&bench.gpu), 1 / 1.03, 1e-9);
}

TEST(test_a_known_delay_shortens_the_patience)
{
	static const struct {
		int delay_s, patience_s;
	} rows[] = {{5, 60}, {30, 90}, {100, 180}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make();
		moving_name(&bench.gpu, 2);
		leave(rows[i].delay_s);
		moving_name(&bench.gpu, 1);
		learn(rows[i].patience_s);
		assert_true(moving_is_known(&bench.gpu));
		learn(1);
		assert_true(moving_trust(&bench.gpu) == 0);
	}
}

TEST(test_a_failed_newcomer_is_named)
{
	make();
	bench.vgpus[2].newcomer = bench.gpu.offered = true;
	learn(30);
	bench.vgpus[2].newcomer = false;
	leave(10);
	assert_float_equal(moving_trust(&bench.gpu), 1 / 1.03, 1e-9);
	/* It was named in the first of these 10 periods. */
	assert_float_equal(moving_delay_s(&bench.gpu), 10, 1e-9);
}

TEST(test_a_newcomer_that_passed_is_not_named)
{
	make();
	bench.vgpus[2].newcomer = bench.gpu.offered = true;
	learn(30);
	bench.vgpus[2].newcomer = bench.gpu.offered = false;
	learn(500);
	assert_false(is_unanswered());
	leave(1);
	assert_true(moving_trust(&bench.gpu) == 0);
}

TEST(test_a_failed_migration_is_no_answer_at_once)
{
	make();
	bench.gpu.moving.answered = 3;
	moving_note_failed(&bench.gpu, "a"); /* was not named */
	assert_false(is_unanswered());
	moving_note_requested(&bench.gpu, "a");
	learn(5);
	assert_false(is_unanswered());
	moving_note_failed(&bench.gpu, "a");
	assert_true(is_unanswered());
	assert_true(moving_trust(&bench.gpu) == 0);
	bench.gpu.migrates = false;
	moving_note_requested(&bench.gpu, "b");
	bench.gpu.migrates = true;
	moving_load(&bench.gpu.moving, &(struct moving_estimate){.answered = 1});
	moving_note_failed(&bench.gpu, "b");
	assert_false(is_unanswered());
}

TEST(test_a_requested_migration_is_answered_by_the_departure)
{
	make();
	moving_note_requested(&bench.gpu, "c");
	leave(4);
	assert_true(moving_is_known(&bench.gpu));
	assert_float_equal(moving_delay_s(&bench.gpu), 4, 1e-9);
}

/* --- the estimate can be stored and loaded --- */

TEST(test_a_saved_estimate_can_be_loaded)
{
	static const struct moving_estimate rows[] = {
		{0},
		{.answered = 3, .delay_s = 12.5},
		{.unanswered = true, .delay_s = 40},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy_moving moving = {0};
		struct moving_estimate saved;

		moving_load(&moving, &rows[i]);
		saved = moving_save(&moving);
		assert_int_equal(saved.unanswered, rows[i].unanswered);
		assert_int_equal(saved.answered, rows[i].answered);
		assert_true(saved.delay_s == rows[i].delay_s);
	}
}

TEST(test_a_loaded_estimate_decides_as_before)
{
	struct policy_gpu gpu = {.migrates = true};

	moving_load(&gpu.moving, &(struct moving_estimate){.answered = 1, .delay_s = 25});
	assert_true(moving_trust(&gpu) > 0.9);
	assert_true(moving_delay_s(&gpu) == 25);
	moving_load(&gpu.moving, &(struct moving_estimate){.unanswered = true});
	assert_true(moving_trust(&gpu) == 0);
}

TEST(test_numbers_out_of_range_are_replaced)
{
	struct policy_moving moving = {0};
	struct moving_estimate saved;

	moving_load(&moving, &(struct moving_estimate){.answered = 1000000, .delay_s = -1});
	saved = moving_save(&moving);
	assert_int_equal(saved.answered, 1000);
	assert_true(saved.delay_s == 0);
	moving_load(&moving, &(struct moving_estimate){.answered = -1});
	assert_int_equal(moving_save(&moving).answered, 0);
}
