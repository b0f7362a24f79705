/* SPDX-License-Identifier: MIT */
/* Policy qos: the learned estimate of migrations can be stored and loaded. */
#include "tests/unit/policy/test-policy.h"

#include "base/cleanup.h"
#include "policy/qos/moving.h"

static void test_a_saved_estimate_can_be_loaded(void **state)
{
	static const struct moving_estimate rows[] = {
		{0},
		{.answered = 3, .delay_s = 12.5},
		{.unanswered = true, .delay_s = 40},
	};

	(void)state;
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

static void test_a_loaded_estimate_decides_as_before(void **state)
{
	struct policy_gpu gpu = {.migrates = true};

	(void)state;
	moving_load(&gpu.moving, &(struct moving_estimate){.answered = 1, .delay_s = 25});
	assert_true(moving_trust(&gpu) > 0.9);
	assert_true(moving_delay_s(&gpu) == 25);
	moving_load(&gpu.moving, &(struct moving_estimate){.unanswered = true});
	assert_true(moving_trust(&gpu) == 0);
}

static void test_numbers_out_of_range_are_replaced(void **state)
{
	struct policy_moving moving = {0};
	struct moving_estimate saved;

	(void)state;
	moving_load(&moving, &(struct moving_estimate){.answered = 1000000, .delay_s = -1});
	saved = moving_save(&moving);
	assert_int_equal(saved.answered, 1000);
	assert_true(saved.delay_s == 0);
	moving_load(&moving, &(struct moving_estimate){.answered = -1});
	assert_int_equal(moving_save(&moving).answered, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_saved_estimate_can_be_loaded),
		cmocka_unit_test(test_a_loaded_estimate_decides_as_before),
		cmocka_unit_test(test_numbers_out_of_range_are_replaced),
	};

	return cmocka_run_group_tests_name("policy: moving, saved", tests, NULL, NULL);
}
