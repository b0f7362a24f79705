/* SPDX-License-Identifier: MIT */
/* The rule distinguishes a vGPU without service from a vGPU without demand. */
#include <string.h>

#include "base/cleanup.h"
#include "policy/promise/service.h"
#include "tests/unit/unit.h"

#define VGPUS 3

static struct service_vgpu vgpus[VGPUS], *pointers[VGPUS];
static struct service_gpu gpu;
static double period_s;

static int set_up(void)
{
	memset(vgpus, 0, sizeof(vgpus));
	period_s = 1;
	for (int i = 0; i < VGPUS; i++) {
		pointers[i] = &vgpus[i];
		vgpus[i] = (struct service_vgpu){.target = 60, .sample.busy_valid = true};
	}
	return 0;
}

FIXTURE(set_up, NULL)

static void run(struct service_vgpu *v)
{
	v->sample.fps_valid = true;
	v->sample.fps = 60;
	v->sample.load = 0.3;
}

static void stop(struct service_vgpu *v)
{
	v->sample.fps = 0;
	v->sample.load = 0;
}

static void step(int periods)
{
	for (; periods > 0; periods--) {
		for (int i = 0; i < VGPUS; i++)
			vgpus[i].sample.dt_s = period_s;
		service_step(pointers, VGPUS, period_s, &gpu);
	}
}

/* Two vGPUs work for three periods. */
static void run_two(void)
{
	run(&vgpus[0]);
	run(&vgpus[1]);
	step(3);
}

/* Both stop at once. */
static void stop_two(void)
{
	stop(&vgpus[0]);
	stop(&vgpus[1]);
}

TEST(vgpus_that_stop_at_once_are_stalled)
{
	run(&vgpus[0]);
	run(&vgpus[1]);
	step(5);
	assert_false(service_is_missing(&gpu));
	stop(&vgpus[0]);
	step(1);
	stop(&vgpus[1]); /* its last frames were drawn in the period of the hang */
	step(1);
	assert_true(service_is_missing(&gpu));
	step(3);
	assert_int_equal(gpu.stalled, 2);
	assert_int_equal(vgpus[0].state, SERVICE_STALLED);
	assert_int_equal(vgpus[1].state, SERVICE_STALLED);
	assert_int_equal(service_for_policy(&vgpus[0]), POLICY_STALLED);
	assert_true(gpu.apart_s <= 1);
}

TEST(nothing_is_sold_from_the_first_period_on)
{
	run(&vgpus[0]);
	step(3);
	stop(&vgpus[0]);
	step(1);
	assert_int_equal(vgpus[0].state, SERVICE_DOUBT);
	assert_false(vgpus[0].confirmed);
	assert_true(service_is_missing(&gpu));
}

TEST(a_stall_ends_when_the_vgpu_works_again)
{
	run_two();
	stop_two();
	step(5);
	run(&vgpus[0]);
	step(1);
	assert_int_equal(vgpus[0].state, SERVICE_GIVEN);
	/* The reset may have ended the work of the other vGPU, whose program lives. */
	step(60);
	assert_int_equal(vgpus[1].state, SERVICE_STALLED);
	vgpus[1].ask = SERVICE_ASK_OUTSIDE;
	step(1);
	assert_int_equal(vgpus[1].state, SERVICE_PAUSED);
}

TEST(a_program_waits_for_its_user_if_the_gpu_serves_others)
{
	run_two();
	stop(&vgpus[0]);
	step(10);
	assert_int_equal(vgpus[0].state, SERVICE_PAUSED);
	assert_false(service_is_missing(&gpu));
	/* The pause stays one when the last program that works pauses too. */
	stop(&vgpus[1]);
	step(10);
	assert_int_equal(vgpus[0].state, SERVICE_PAUSED);
	assert_int_equal(vgpus[1].state, SERVICE_DOUBT);
	assert_int_equal(gpu.stalled, 0);
}

TEST(a_program_that_asks_does_not_wait_for_its_user)
{
	run_two();
	stop(&vgpus[0]);
	vgpus[0].ask = SERVICE_ASK_WAITS;
	step(10);
	assert_int_equal(vgpus[0].state, SERVICE_DOUBT);
	assert_true(service_is_missing(&gpu));
	/* The caps of the others follow their demands all the same. */
	assert_int_equal(service_for_policy(&vgpus[0]), POLICY_SERVED);
}

/* The readings of a lone vGPU that stopped, and its state after some seconds. */
TEST(a_lone_vgpu_is_judged_by_what_it_asks_for)
{
	static const struct {
		enum service_ask ask;
		int after_s;
		enum service_state state;
	} rows[] = {
		{SERVICE_ASK_UNKNOWN, 10, SERVICE_DOUBT},
		{SERVICE_ASK_UNKNOWN, 3600, SERVICE_DOUBT},
		{SERVICE_ASK_NOTHING, 1, SERVICE_PAUSED},
		{SERVICE_ASK_WAITS, 3600, SERVICE_DOUBT},
		{SERVICE_ASK_OUTSIDE, 10, SERVICE_DOUBT},
		{SERVICE_ASK_OUTSIDE, (int)SERVICE_RESET_S, SERVICE_PAUSED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_up();
		run(&vgpus[0]);
		step(3);
		stop(&vgpus[0]);
		vgpus[0].ask = rows[i].ask;
		step(rows[i].after_s);
		assert_int_equal(vgpus[0].state, rows[i].state);
	}
}

TEST(a_program_that_drew_nothing_yet_wants_nothing)
{
	vgpus[0].sample.fps_valid = true;
	step(10);
	assert_int_equal(vgpus[0].state, SERVICE_PAUSED);
	/* It drew for an earlier daemon. */
	set_up();
	vgpus[0].sample.fps_valid = vgpus[0].delivered = true;
	step(10);
	assert_int_equal(vgpus[0].state, SERVICE_DOUBT);
}

TEST(an_ended_program_wants_nothing)
{
	run_two();
	stop_two();
	step(5);
	vgpus[0].sample.fps_valid = vgpus[1].sample.fps_valid = false;
	step(1);
	assert_int_equal(vgpus[0].state, SERVICE_GIVEN);
	assert_false(service_is_missing(&gpu));
}

TEST(a_missed_reading_changes_nothing)
{
	run_two();
	stop_two();
	step(4);
	for (int i = 0; i < VGPUS; i++)
		vgpus[i].sample.dt_s = 0;
	service_step(pointers, VGPUS, period_s, &gpu);
	assert_int_equal(gpu.stalled, 2);
}

TEST(users_pause_one_after_the_other)
{
	run_two();
	stop(&vgpus[0]);
	step(5);
	stop(&vgpus[1]);
	step(30);
	assert_int_equal(gpu.stalled, 0);
}

TEST(a_gpu_that_hangs_busy_is_no_silence)
{
	run_two();
	vgpus[0].sample.fps = vgpus[1].sample.fps = 0;
	vgpus[0].sample.load = vgpus[1].sample.load = 0.5; /* broken, and judged as such */
	step(5);
	assert_int_equal(vgpus[0].state, SERVICE_GIVEN);
	/* Its busy time is no sign that the GPU serves another vGPU. */
	stop(&vgpus[0]);
	step(10);
	assert_int_equal(vgpus[0].state, SERVICE_DOUBT);
}

TEST(a_slow_target_is_not_silent_between_its_frames)
{
	run(&vgpus[0]);
	vgpus[0].target = 0.5;
	step(3);
	stop(&vgpus[0]);
	step(2);
	assert_int_equal(vgpus[0].state, SERVICE_GIVEN);
	step(2);
	assert_int_equal(vgpus[0].state, SERVICE_DOUBT);
}

TEST(short_periods_count_seconds)
{
	period_s = 0.1;
	run(&vgpus[0]);
	run(&vgpus[1]);
	step(30);
	stop(&vgpus[0]);
	step(8);
	stop(&vgpus[1]);
	step(11);
	assert_int_equal(gpu.stalled, 0);
	step(9);
	assert_int_equal(gpu.stalled, 2);
}
