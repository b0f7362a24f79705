/* SPDX-License-Identifier: MIT */
/* A promise and a limit of the frame rate must be in the unit that the GPU counts. */
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/core/contract-change.h"
#include "tests/unit/unit.h"

#define BOTH (CONTRACT_TARGET_FPS | CONTRACT_TARGET_RATE)

TEST(a_promise_is_in_the_unit_of_the_gpu)
{
	static const struct {
		enum gpu_unit unit;
		unsigned int fields;
		double target_fps, target_rate;
		const char *problem; /* NULL: allowed */
	} rows[] = {
		{GPU_FRAMES, BOTH, 59.94, 0, NULL},
		{GPU_WORK, BOTH, 0, 0.5, NULL},
		{GPU_FRAMES, BOTH, 0, 0, NULL},
		{GPU_WORK, BOTH, 0, 0, NULL},
		{GPU_FRAMES, BOTH, 30, 0.5,
		 "target_rate: 0.5 is not allowed for vGPU a (allowed: 0, or target_fps, because "
		 "GPU gpu7 counts frames)"},
		{GPU_WORK, BOTH, 30, 0.5,
		 "target_fps: 30 is not allowed for vGPU a (allowed: 0, or target_rate, because "
		 "GPU gpu7 counts units of work)"},
		/* a promise that does not change */
		{GPU_WORK, CONTRACT_TARGET_RATE, 30, 0.5, NULL},
		{GPU_FRAMES, CONTRACT_TARGET_FPS, 30, 0.5, NULL},
		{GPU_WORK, CONTRACT_WEIGHT, 30, 0.5, NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct host_gpu gpu = {.config = {.name = "gpu7"}, .open = true};
		struct contract contract = {.id = "a", .target_rate = rows[i].target_rate};
		struct err err = {""};
		int r;

		gpu.traits.unit = rows[i].unit;
		contract.terms.target_fps = rows[i].target_fps;
		r = contract_change_check_units(&gpu, rows[i].fields, &contract, &err);
		assert_int_equal(r, rows[i].problem ? CONTROL_E_INVALID : 0);
		assert_string_equal(err.msg, rows[i].problem ? rows[i].problem : "");
	}
}

TEST(a_frame_rate_is_limited_only_where_frames_count)
{
	static const struct {
		bool open;
		enum gpu_unit unit;
		unsigned int fields;
		double fps_limit, target_rate;
		bool allowed;
	} rows[] = {
		{true, GPU_FRAMES, CONTRACT_FPS_LIMIT, 62.5, 0, true},
		{true, GPU_WORK, CONTRACT_FPS_LIMIT, 0, 0, true},
		{true, GPU_WORK, CONTRACT_FPS_LIMIT, 62.5, 0, false},
		/* a contract of an earlier version with a limit can change otherwise */
		{true, GPU_WORK, BOTH, 62.5, 0.5, true},
		/* before the GPU is open, a promise shows the unit */
		{false, GPU_FRAMES, CONTRACT_FPS_LIMIT, 62.5, 0, true},
		{false, GPU_FRAMES, CONTRACT_FPS_LIMIT, 62.5, 0.5, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct host_gpu gpu = {.config = {.name = "gpu7"}, .open = rows[i].open};
		const struct contract contract = {.id = "a",
						  .fps_limit = rows[i].fps_limit,
						  .target_rate = rows[i].target_rate};
		struct err err = {""};
		int r;

		gpu.traits.unit = rows[i].unit;
		r = contract_change_check_units(&gpu, rows[i].fields, &contract, &err);
		assert_int_equal(r, rows[i].allowed ? 0 : CONTROL_E_INVALID);
		assert_string_equal(
			err.msg,
			rows[i].allowed
				? ""
				: "fps_limit: 62.5 is not allowed for vGPU a (allowed: 0, because "
				  "GPU gpu7 counts units of work)");
	}
}

TEST(before_the_gpu_is_open_only_a_promise_in_frames_can_change)
{
	struct host_gpu gpu = {.config = {.name = "gpu7"}};
	struct contract contract = {.id = "a", .target_rate = 0.5};
	struct err err = {""};

	contract.terms.target_fps = 30;
	assert_int_equal(contract_change_check_units(&gpu, CONTRACT_TARGET_FPS, &contract, &err),
			 0);
	assert_int_equal(contract_change_check_units(&gpu, BOTH, &contract, &err),
			 CONTROL_E_NO_ANSWER);
}
