/* SPDX-License-Identifier: MIT */
/*
 * Tests gpu/drm/fdinfo.c with the texts of drivers (tests/truth/fdinfo/SOURCES), the growth
 * of one client's use, and the text of device memory of a control group.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "gpu/drm/fdinfo.h"
#include "gpu/drm/truth.h"
#include "tests/unit/unit.h"

#define KIB  1024ULL
#define HEAD "drm-driver:\tx\ndrm-client-id:\t1\n"

static const struct driver {
	const char *name, *pdev;
	uint64_t client;
	int n_engines;
	struct fdinfo_engine engines[6];
	uint64_t memory_bytes; /* 0: not reported */
} drivers[] = {
	{"amdgpu", "0000:04:00.0", 30, 1,
	 .engines = {{"gfx", true, 39456116802, false, 0, false, 0, 0, 1}}, 544428 * KIB},
	{"i915", "0000:00:02.0", 39, 4,
	 .engines = {{"render", true, 346249, false, 0, false, 0, 0, 1},
		     {"copy", true, 0, false, 0, false, 0, 0, 1},
		     {"video", true, 0, false, 0, false, 0, 0, 2},
		     {"video-enhance", true, 0, false, 0, false, 0, 0, 1}},
	 6044 * KIB},
	{"xe", "0000:03:00.0", 3, 5,
	 .engines = {{"rcs", false, 0, true, 28257900, true, 7655183225, 0, 1},
		     {"bcs", false, 0, true, 0, true, 7655183225, 0, 1},
		     {"vcs", false, 0, true, 0, true, 7655183225, 0, 2},
		     {"vecs", false, 0, true, 0, true, 7655183225, 0, 2},
		     {"ccs", false, 0, true, 0, true, 7655183225, 0, 4}},
	 23992 * KIB},
	{"panfrost", "", 14, 2,
	 .engines = {{"fragment", true, 1846584880, true, 1424359409, false, 0, 799999987, 1},
		     {"vertex-tiler", true, 71932239, true, 52617357, false, 0, 799999987, 1}},
	 36496 * KIB},
	{"panthor", "", 10, 1,
	 .engines = {{"panthor", true, 111110952750, true, 94439687187, false, 0, 1000000000, 1}},
	 16480 * KIB},
	{"msm", "", 7, 1, {{"gpu", true, 1734371319, true, 1153645024, false, 0, 800000000, 1}}, 0},
	{"v3d", "", 54, 6,
	 .engines = {{"bin", true, 4625756, false, 0, false, 0, 0, 1},
		     {"render", true, 51084932, false, 0, false, 0, 0, 1},
		     {"tfu", true, 0, false, 0, false, 0, 0, 1},
		     {"csd", true, 0, false, 0, false, 0, 0, 1},
		     {"cache_clean", true, 0, false, 0, false, 0, 0, 1},
		     {"cpu", true, 0, false, 0, false, 0, 0, 1}},
	 14 * KIB *KIB},
};

static void assert_engine(const struct fdinfo_engine *is, const struct fdinfo_engine *expected)
{
	assert_string_equal(is->name, expected->name);
	assert_int_equal(is->busy_valid, expected->busy_valid);
	assert_int_equal(is->busy_ns, expected->busy_ns);
	assert_int_equal(is->cycles_valid, expected->cycles_valid);
	assert_int_equal(is->cycles, expected->cycles);
	assert_int_equal(is->total_valid, expected->total_valid);
	assert_int_equal(is->total_cycles, expected->total_cycles);
	assert_int_equal(is->max_hz, expected->max_hz);
	assert_int_equal(is->capacity, expected->capacity);
}

TEST(the_texts_of_the_drivers_are_parsed)
{
	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++) {
		const struct driver *driver = &drivers[i];
		CLEANUP_FREE char *text = NULL;
		struct fdinfo info;
		char path[64];
		size_t length;

		snprintf(path, sizeof(path), "tests/truth/fdinfo/%s", driver->name);
		assert_int_equal(file_read(path, FDINFO_TEXT_MAX, &text, &length), 0);
		assert_int_equal(fdinfo_parse(text, length, &info), 0);
		assert_string_equal(info.driver, driver->name);
		assert_string_equal(info.pdev, driver->pdev);
		assert_true(info.client_valid);
		assert_int_equal(info.client, driver->client);
		assert_int_equal(info.n_engines, driver->n_engines);
		for (int e = 0; e < driver->n_engines; e++)
			assert_engine(&info.engines[e], &driver->engines[e]);
		assert_int_equal(info.memory_valid, driver->memory_bytes > 0);
		if (info.memory_valid)
			assert_int_equal(info.memory_bytes, driver->memory_bytes);
	}
}

static const struct {
	const char *text;
	int result;
} texts[] = {
	/* no DRM file: a socket, an eventfd, a driver that reports nothing */
	{"", -ENODATA},
	{"pos:\t0\nflags:\t02\nmnt_id:\t9\n", -ENODATA},
	{"eventfd-count:\t0\n", -ENODATA},
	{"drm-client-id:\t1\n", -ENODATA},
	/* accepted */
	{"drm-driver: x", 0},
	{HEAD, 0},
	{"drm-driver:x\r\n", 0},
	{HEAD "drm-engine-2D/3D:\t5 ns\n", 0},
	{HEAD "drm-engine-a: 18446744073709551615 ns\n", 0},
	{HEAD "drm-unknown-key:\tany value at all\nno colon\n:\n\n", 0},
	{HEAD "drm-maxfreq-a:\t800 MHz\n", 0},
	{HEAD "drm-total-a:\t-1\n", 0}, /* a key that is not used */
	/* malformed */
	{"drm-driver:\n", -EINVAL},
	{"drm-driver: two words\n", -EINVAL},
	{"drm-driver: 0123456789abcdef0123456789abcdef\n", -EINVAL},
	{HEAD "drm-client-id:\t-1\n", -EINVAL},
	{HEAD "drm-client-id:\t18446744073709551616\n", -EINVAL},
	{HEAD "drm-client-id:\t0x1\n", -EINVAL},
	{HEAD "drm-engine-a:\t5\n", -EINVAL},
	{HEAD "drm-engine-a:\t5 us\n", -EINVAL},
	{HEAD "drm-engine-a:\t5  ns\n", -EINVAL},
	{HEAD "drm-engine-a:\t5ns\n", -EINVAL},
	{HEAD "drm-engine-a:\t-5 ns\n", -EINVAL},
	{HEAD "drm-engine-a:\t ns\n", -EINVAL},
	{HEAD "drm-engine-a:\t18446744073709551616 ns\n", -EINVAL},
	{HEAD "drm-engine-capacity-a:\t0\n", -EINVAL},
	{HEAD "drm-engine-capacity-a:\t1025\n", -EINVAL},
	{HEAD "drm-cycles-a:\t5 ns\n", -EINVAL},
	{HEAD "drm-total-cycles-a:\tmany\n", -EINVAL},
	{HEAD "drm-maxfreq-a:\t5 GHz\n", -EINVAL},
	{HEAD "drm-maxfreq-a:\t18446744073709551615 KHz\n", -EINVAL},
	{HEAD "drm-resident-vram:\t5 kB\n", -EINVAL},
	{HEAD "drm-resident-vram:\t18446744073709551615\ndrm-resident-vram1:\t1\n", -EINVAL},
	/* too large */
	{HEAD "drm-engine-:\t5 ns\n", -E2BIG},
	{HEAD "drm-engine-0123456789abcdef0123456789abcdef:\t5 ns\n", -E2BIG},
};

TEST(texts_are_parsed_strictly)
{
	struct fdinfo info;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		int r = fdinfo_parse(texts[i].text, strlen(texts[i].text), &info);

		if (r != texts[i].result)
			fail_msg("\"%s\": %d instead of %d", texts[i].text, r, texts[i].result);
	}
}

TEST(long_texts_are_rejected)
{
	char *text = calloc(1, FDINFO_TEXT_MAX + 1), *at;
	struct fdinfo info;

	memset(text, '\n', FDINFO_TEXT_MAX);
	memcpy(text, HEAD, strlen(HEAD));
	assert_int_equal(fdinfo_parse(text, FDINFO_TEXT_MAX - 1, &info), 0);
	assert_int_equal(fdinfo_parse(text, FDINFO_TEXT_MAX, &info), -E2BIG);
	text[100] = '\0';
	assert_int_equal(fdinfo_parse(text, 200, &info), -EINVAL);

	at = text + sprintf(text, HEAD);
	for (int i = 0; i <= FDINFO_ENGINES_MAX; i++) {
		assert_int_equal(fdinfo_parse(text, strlen(text), &info), 0);
		assert_int_equal(info.n_engines, i);
		at += sprintf(at, "drm-engine-e%d:\t%d ns\n", i, i);
	}
	assert_int_equal(fdinfo_parse(text, strlen(text), &info), -E2BIG);
	free(text);
}

TEST(an_engine_that_is_reported_twice_has_its_larger_time)
{
	const char *text = HEAD "drm-engine-dec:\t7 ns\ndrm-engine-dec:\t5 ns\n";
	struct fdinfo info;

	assert_int_equal(fdinfo_parse(text, strlen(text), &info), 0);
	assert_int_equal(info.n_engines, 1);
	assert_int_equal(info.engines[0].busy_ns, 7);
}

TEST(memory_on_the_device_has_priority)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} rows[] = {
		{HEAD "drm-memory-vram:\t3 KiB\ndrm-memory-gtt:\t9 KiB\n", 3 * KIB},
		{HEAD "drm-memory-gtt:\t9 KiB\n", 9 * KIB},
		{HEAD "drm-resident-local0:\t1 MiB\ndrm-resident-local1:\t1 MiB\n", 2 * KIB * KIB},
		{HEAD "drm-resident-vram0:\t0\ndrm-resident-gtt:\t9 KiB\n", 0},
		{HEAD "drm-resident-memory:\t2 GiB\n", 2 * KIB * KIB * KIB},
	};
	struct fdinfo info;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(fdinfo_parse(rows[i].text, strlen(rows[i].text), &info), 0);
		assert_true(info.memory_valid);
		assert_int_equal(info.memory_bytes, rows[i].bytes);
	}
}

/* --- the growth of one client's use --- */

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
