/* SPDX-License-Identifier: MIT */
/* Policy qos: the learned estimate of migrations can be stored and loaded. */
#include "tests/unit/policy/test-policy.h"

#include "base/cleanup.h"
#include "policy/qos/moving.h"

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
