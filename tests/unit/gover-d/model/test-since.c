/* SPDX-License-Identifier: MIT */
/* The begin and the age of a freeze or a hold, with clocks that are set and with restarts. */
#include "base/cleanup.h"
#include "gover-d/model/since.h"
#include "tests/unit/unit.h"

#define HOUR_MS	 INT64_C(3600000)
#define START_MS INT64_C(1763664596123)

static struct instant now;
static struct since since;

static int set_up(void)
{
	now = (struct instant){.boot_ns = 1000 * NS_PER_S, .wall_ms = START_MS};
	since = (struct since){.at_ms = 0};
	return 0;
}

static void pass(int64_t hours)
{
	now.boot_ns += (uint64_t)(hours * HOUR_MS) * NS_PER_MS;
	now.wall_ms += hours * HOUR_MS;
	(void)since_follow(&since, now);
}

static bool set_clock(int64_t hours)
{
	now.wall_ms += hours * HOUR_MS;
	return since_follow(&since, now);
}

FIXTURE(set_up, NULL)

/* The host was off for @hours: CLOCK_BOOTTIME begins again. */
static void reboot(int64_t hours)
{
	now.boot_ns = 20 * NS_PER_S;
	now.wall_ms += hours * HOUR_MS;
	since = (struct since){.at_ms = since.at_ms}; /* as the contracts file has it */
	(void)since_resume(&since, true, now);
}

static int64_t age_h(void)
{
	return since_age_ms(&since, now) / HOUR_MS;
}

static int64_t at_h(void)
{
	return (since.at_ms - START_MS) / HOUR_MS;
}

TEST(a_begin_stays_until_its_end)
{
	assert_int_equal(age_h(), 0);
	since_update(&since, true, now);
	pass(5);
	since_update(&since, true, now);
	assert_int_equal(age_h(), 5);
	assert_int_equal(at_h(), 0);
	since_update(&since, false, now);
	assert_int_equal(since.at_ms, 0);
	assert_int_equal(age_h(), 0);
	assert_false(set_clock(50));
	assert_int_equal(since.at_ms, 0);
}

TEST(the_age_survives_restarts)
{
	since_update(&since, true, now);
	pass(5);
	reboot(4);
	assert_int_equal(age_h(), 9);
	pass(2);
	assert_int_equal(age_h(), 11);
	assert_int_equal(at_h(), 0);
}

TEST(a_clock_that_is_set_moves_the_begin_and_keeps_the_age)
{
	static const int64_t steps[] = {-48, 48, -1, 800 * 24, -800 * 24};
	int64_t moved = 0;

	since_update(&since, true, now);
	pass(20);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		assert_true(set_clock(steps[i]));
		moved += steps[i];
		assert_int_equal(age_h(), 20);
		assert_int_equal(at_h(), moved);
	}
	reboot(3);
	assert_int_equal(age_h(), 23);
	pass(1);
	assert_int_equal(age_h(), 24);
}

TEST(a_small_correction_moves_nothing)
{
	since_update(&since, true, now);
	pass(1);
	now.wall_ms -= 9000;
	assert_false(since_follow(&since, now));
	assert_int_equal(since.at_ms, START_MS);
}

/* The begin was stored while the clock was ahead, or the clock was set back during a restart. */
TEST(a_begin_in_the_future_counts_from_the_start)
{
	since_update(&since, true, now);
	pass(20);
	reboot(-100);
	assert_int_equal(age_h(), 0);
	pass(24);
	assert_int_equal(age_h(), 24);
}

TEST(a_host_that_boots_without_its_clock_finds_the_begin_again)
{
	since_update(&since, true, now);
	pass(20);
	reboot(-START_MS / HOUR_MS);
	pass(1);
	assert_int_equal(age_h(), 1);
	assert_false(set_clock(START_MS / HOUR_MS + 5));
	assert_int_equal(at_h(), 0);
	assert_int_equal(age_h(), 26);
}

TEST(an_unknown_begin_is_the_start)
{
	assert_true(since_resume(&since, true, now));
	assert_int_equal(since.at_ms, START_MS);
	assert_false(since_resume(&since, true, now));
	assert_false(since_resume(&since, false, now));
	assert_int_equal(since.at_ms, 0);
}

TEST(a_begin_is_not_before_1970)
{
	since_update(&since, true, now);
	pass(5);
	assert_false(since_follow(&since, now));
	now.wall_ms = 1;
	assert_true(since_follow(&since, now));
	assert_int_equal(since.at_ms, 1);
	pass(3);
	assert_int_equal(age_h(), 8);
}
