/* SPDX-License-Identifier: MIT */
/* Tests the growth of one client's use, and the text of device memory of a control group. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "monitor/truth/fdinfo.h"
#include "monitor/truth/truth.h"
#include "tests/unit/unit.h"

#define S 1000000000ULL

static struct fdinfo_engine busy(uint64_t ns, uint64_t capacity)
{
	return (struct fdinfo_engine){
		.name = "e", .busy_valid = true, .busy_ns = ns, .capacity = capacity};
}

static struct fdinfo_engine cycles(uint64_t used, uint64_t total, uint64_t capacity)
{
	return (struct fdinfo_engine){.name = "e",
				      .cycles_valid = true,
				      .cycles = used,
				      .total_valid = true,
				      .total_cycles = total,
				      .capacity = capacity};
}

static struct fdinfo_engine clocked(uint64_t used, uint64_t max_hz)
{
	return (struct fdinfo_engine){
		.name = "e", .cycles_valid = true, .cycles = used, .max_hz = max_hz, .capacity = 1};
}

/* Returns the growth in ms after @passed_ns. */
static double advance(struct meter *meter, struct fdinfo_engine engine, uint64_t passed_ns,
		      bool is_new)
{
	struct fdinfo info = {.n_engines = 1, .engines = {engine}};
	struct meter_growth growth;

	meter_advance(meter, &info, passed_ns, is_new, &growth);
	assert_int_equal(growth.n_engines, 1);
	return growth.engines[0].ns / 1e6;
}

static void assert_near(double is, double expected)
{
	if (fabs(is - expected) > 1e-6)
		fail_msg("%g ms instead of %g ms", is, expected);
}

TEST(the_first_reading_of_an_old_client_is_only_a_base)
{
	struct meter meter = {.primed = false};

	assert_near(advance(&meter, busy(90 * S, 1), S, false), 0);
	assert_near(advance(&meter, busy(90 * S + S / 4, 1), S, false), 250);
}

TEST(the_whole_time_of_a_new_client_counts_up_to_the_time_passed)
{
	struct meter early = {.primed = false}, late = {.primed = false};

	assert_near(advance(&early, busy(S / 2, 1), S, true), 500);
	assert_near(advance(&late, busy(7 * S, 1), S, true), 1000);
}

TEST(a_counter_that_decreases_counts_again_above_its_maximum)
{
	struct meter meter = {.primed = false};

	(void)advance(&meter, busy(10 * S, 1), S, false);
	assert_near(advance(&meter, busy(9 * S, 1), S, false), 0);
	assert_near(advance(&meter, busy(10 * S, 1), S, false), 0);
	assert_near(advance(&meter, busy(10 * S + S / 10, 1), S, false), 100);
}

TEST(the_time_of_a_class_is_that_of_all_its_engines)
{
	struct meter meter = {.primed = false};

	(void)advance(&meter, busy(0, 2), S, false);
	assert_near(advance(&meter, busy(S, 2), S, false), 500);
}

TEST(cycles_are_a_share_of_the_cycles_passed)
{
	struct meter meter = {.primed = false};

	assert_near(advance(&meter, cycles(100, 1000, 4), S, true), 0);
	assert_near(advance(&meter, cycles(300, 2000, 4), 2 * S, false), 100);
	assert_near(advance(&meter, cycles(300, 2000, 4), S, false), 0); /* no time has passed */
	assert_near(advance(&meter, cycles(200, 1500, 4), S, false), 0);
	assert_near(advance(&meter, cycles(1300, 3000, 4), S, false), 250);
}

TEST(cycles_without_a_total_are_a_share_of_the_maximum_frequency)
{
	struct meter meter = {.primed = false};

	(void)advance(&meter, clocked(5, 800000000), S, false);
	assert_near(advance(&meter, clocked(5 + 400000000, 800000000), S, false), 500);
	assert_near(advance(&meter, clocked(900000000, 0), S, false), 0); /* frequency unknown */
}

TEST(a_class_that_appears_later_counts_from_its_first_use)
{
	struct fdinfo info = {.n_engines = 1, .engines = {busy(S, 1)}};
	struct meter meter = {.primed = false};
	struct meter_growth growth;

	meter_advance(&meter, &info, S, false, &growth);
	info.engines[1] = busy(S / 5, 1);
	strcpy(info.engines[1].name, "dec");
	info.n_engines = 2;
	meter_advance(&meter, &info, S, false, &growth);
	assert_int_equal(growth.n_engines, 2);
	assert_near(growth.engines[1].ns / 1e6, 200);
}

TEST(the_memory_of_a_control_group_is_that_of_the_device)
{
	static const struct {
		const char *text;
		int result;
		uint64_t bytes;
	} rows[] = {
		{"drm/0000:03:00.0/vram0 4096\ndrm/0000:03:00.0/stolen 1\n", 0, 4097},
		{"drm/0000:03:00.0/vram0 0\n", 0, 0},
		{"drm/0000:04:00.0/vram0 7\ndrm/0000:03:00.0/vram0 5\n", 0, 5},
		{"drm/0000:03:00.0/vram0 max\n", -ERANGE, 0},
		{"drm/0000:03:00.0/vram0 5\ndrm/0000:03:00.0/vram1 max\n", -ERANGE, 0},
		{"", -ENODATA, 0},
		{"drm/0000:03:00.01/vram0 5\n", -ENODATA, 0},
		{"drm/0000:03:00.0/vram0\n", -EINVAL, 0},
		{"drm/0000:03:00.0/vram0 -1\n", -EINVAL, 0},
		{"drm/0000:03:00.0/vram0 5 KiB\n", -EINVAL, 0},
		{"drm/0000:03:00.0/a 9223372036854775807\ndrm/0000:03:00.0/b 9223372036854775807\n"
		 "drm/0000:03:00.0/c 9223372036854775807\n",
		 -EINVAL, 0},
	};
	char longest[300];
	uint64_t bytes;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int r = truth_parse_dmem(rows[i].text, "0000:03:00.0", &bytes);

		if (r != rows[i].result || (r == 0 && bytes != rows[i].bytes))
			fail_msg("\"%s\": %d", rows[i].text, r);
	}
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(truth_parse_dmem(longest, "0000:03:00.0", &bytes), -EINVAL);
}
