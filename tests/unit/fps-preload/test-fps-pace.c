/* SPDX-License-Identifier: MIT */
/*
 * The settings and the arithmetic of pacing: the end of a paced frame, the bucket of a frame time,
 * GOVER_FPS, and the limit messages of the daemon.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/preload/debug.c"
#include "fps-preload/limit.c"
#include "fps-preload/setup.c"
#include "monitor/fps/fps.h"
#include "tests/unit/unit.h"

#define MS 1000000ull

TEST(fps_max_is_1_to_1000_with_six_decimals)
{
	static const struct {
		const char *text;
		int result;
		uint64_t period_ns;
	} rows[] = {
		{"1", 0, 1000000000},
		{"60", 0, 16666667},
		{"59.94", 0, 16683350},
		{"144", 0, 6944444},
		{"1000", 0, 1000000},
		{"1000.000000", 0, 1000000},
		{"1.000001", 0, 999999000},
		{"0060", 0, 16666667},
		{"0", -ERANGE, 0},
		{"0.999999", -ERANGE, 0},
		{"1000.000001", -ERANGE, 0},
		{"1001", -ERANGE, 0},
		{"99999999999999999999999", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"-60", -EINVAL, 0},
		{"+60", -EINVAL, 0},
		{" 60", -EINVAL, 0},
		{"60 ", -EINVAL, 0},
		{"60.", -EINVAL, 0},
		{".5", -EINVAL, 0},
		{"60,5", -EINVAL, 0},
		{"6e1", -EINVAL, 0},
		{"0x3c", -EINVAL, 0},
		{"nan", -EINVAL, 0},
		{"60fps", -EINVAL, 0},
		{"60.1234567", -EINVAL, 0},
		{"60.5.5", -EINVAL, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t period_ns = 0;

		if (pace_parse(rows[i].text, &period_ns) != rows[i].result ||
		    period_ns != rows[i].period_ns)
			fail_msg("'%s' gives %llu ns", rows[i].text, (unsigned long long)period_ns);
	}
}

TEST(the_first_frame_does_not_wait)
{
	struct pace pace = {0};

	assert_int_equal(pace_next(&pace, 10 * MS, 500 * MS), 0);
	assert_int_equal(pace_next(&pace, 10 * MS, 502 * MS), 510 * MS);
}

/* Frame n ends after n periods, even if frames take long to render or the thread wakes up late. */
TEST(deadlines_do_not_drift)
{
	struct pace pace = {0};
	uint64_t period_ns = 16666667, start = 77 * MS, now = start, at;

	srand(1);
	(void)pace_next(&pace, period_ns, now);
	for (uint64_t n = 1; n <= 100000; n++) {
		now += (uint64_t)rand() % period_ns;
		at = pace_next(&pace, period_ns, now);
		if (at) {
			assert_int_equal(at, start + n * period_ns);
			now = at + (uint64_t)rand() % 100000;
		}
	}
	assert_int_equal(pace.due_ns, start + 100000 * period_ns);
}

TEST(a_late_frame_shortens_the_next_one)
{
	struct pace pace = {0};

	(void)pace_next(&pace, 10 * MS, 100 * MS);
	assert_int_equal(pace_next(&pace, 10 * MS, 116 * MS), 0);
	assert_int_equal(pace_next(&pace, 10 * MS, 117 * MS), 120 * MS);
}

TEST(a_long_stall_causes_no_burst)
{
	struct pace pace = {0};

	(void)pace_next(&pace, 10 * MS, 100 * MS);
	assert_int_equal(pace_next(&pace, 10 * MS, 5000 * MS), 0);
	assert_int_equal(pace_next(&pace, 10 * MS, 5001 * MS), 0);
	assert_int_equal(pace_next(&pace, 10 * MS, 5002 * MS), 5010 * MS);
	assert_int_equal(pace_next(&pace, 10 * MS, 5011 * MS), 5020 * MS);
}

TEST(buckets_are_quarter_octaves_of_100_us)
{
	static const struct {
		uint64_t ns;
		unsigned int bucket;
	} rows[] = {
		{0, 0},		  {1, 0},	    {99999, 0},	      {100000, 0},
		{118920, 0},	  {118921, 1},	    {141421, 1},      {141422, 2},
		{168180, 3},	  {199999, 3},	    {200000, 4},      {16666667, 29},
		{33333333, 33},	  {1000000000, 53}, {5510922239, 62}, {5510922240, 63},
		{6553600000, 63}, {UINT64_MAX, 63},
	};
	unsigned int last = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (fps_wire_bucket(rows[i].ns) != rows[i].bucket)
			fail_msg("%llu ns falls into bucket %u", (unsigned long long)rows[i].ns,
				 fps_wire_bucket(rows[i].ns));
	for (uint64_t ns = 1; ns < 1ull << 63; ns += ns / 50 + 1) {
		unsigned int bucket = fps_wire_bucket(ns);

		assert_true(bucket >= last && bucket <= last + 1);
		last = bucket;
	}
	assert_int_equal(last, FPS_WIRE_BUCKETS - 1);
}

TEST(p99_is_the_time_that_1_frame_in_100_exceeds)
{
	uint64_t frame_time[FPS_WIRE_BUCKETS] = {0};
	unsigned int fast = fps_wire_bucket(16666667), slow = fps_wire_bucket(50 * MS);

	assert_true(fps_percentile_ms(frame_time, 0.01) == 0);
	frame_time[fast] = 1;
	assert_float_equal(fps_percentile_ms(frame_time, 0.01), 16.667, 16.667 * 0.095);
	frame_time[fast] = 990;
	frame_time[slow] = 10;
	assert_float_equal(fps_percentile_ms(frame_time, 0.01), 16.667, 16.667 * 0.095);
	frame_time[fast] = 989;
	frame_time[slow] = 11;
	assert_float_equal(fps_percentile_ms(frame_time, 0.01), 50, 50 * 0.095);
	frame_time[FPS_WIRE_BUCKETS - 1] = 1000000;
	assert_true(fps_percentile_ms(frame_time, 0.01) > 5500);
	frame_time[FPS_WIRE_BUCKETS - 1] = 0;
	assert_float_equal(fps_percentile_ms(frame_time, 0.5), 16.667, 16.667 * 0.095);
	assert_float_equal(fps_percentile_ms(frame_time, 0), 50, 50 * 0.095);
}

/* --- GOVER_FPS: any invalid value turns counting off --- */

TEST(every_transport_is_parsed_strictly)
{
	static const struct {
		const char *text;
		enum setup_transport transport;
		uint32_t cid, port;
	} rows[] = {
		{"unix:/a", SETUP_UNIX, 0, 0},
		{"unix:", SETUP_OFF, 0, 0},
		{"off", SETUP_OFF, 0, 0},
		{"", SETUP_OFF, 0, 0},
		{"vsock:2:7007", SETUP_VSOCK, 2, 7007},
		{"vsock:1:0", SETUP_VSOCK, 1, 0},
		{"vsock:4294967294:4294967294", SETUP_VSOCK, 4294967294, 4294967294},
		{"vsock:4294967295:1", SETUP_OFF, 0, 0},
		{"vsock:2:4294967295", SETUP_OFF, 0, 0},
		{"vsock:2:4294967296", SETUP_OFF, 0, 0},
		{"vsock:2:18446744073709551618", SETUP_OFF, 0, 0},
		{"vsock:2", SETUP_OFF, 0, 0},
		{"vsock:2:", SETUP_OFF, 0, 0},
		{"vsock::7", SETUP_OFF, 0, 0},
		{"vsock:2:7:", SETUP_OFF, 0, 0},
		{"vsock:2:7 ", SETUP_OFF, 0, 0},
		{"vsock:-2:7", SETUP_OFF, 0, 0},
		{"vsock:+2:7", SETUP_OFF, 0, 0},
		{"vsock:0x2:7", SETUP_OFF, 0, 0},
		{"VSOCK:2:7", SETUP_OFF, 0, 0},
		{"port:org.gover.fps.0", SETUP_PORT, 0, 0},
		{"port:a", SETUP_PORT, 0, 0},
		{"port:", SETUP_OFF, 0, 0},
		{"port:../sda", SETUP_OFF, 0, 0},
		{"port:a/b", SETUP_OFF, 0, 0},
		{"port:..", SETUP_OFF, 0, 0},
		{"port:012345678901234567890123456789012345678901234567890123456789012", SETUP_PORT,
		 0, 0},
		{"port:0123456789012345678901234567890123456789012345678901234567890123", SETUP_OFF,
		 0, 0},
	};
	struct setup setup;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(setenv("GOVER_FPS", rows[i].text, 1), 0);
		setup_read(&setup);
		if (setup.transport != rows[i].transport || setup.host.svm_cid != rows[i].cid ||
		    setup.host.svm_port != rows[i].port)
			fail_msg("%s: transport %d, %u, %u", rows[i].text, (int)setup.transport,
				 setup.host.svm_cid, setup.host.svm_port);
		if (setup.transport == SETUP_VSOCK)
			assert_int_equal(setup.host.svm_family, AF_VSOCK);
		if (setup.transport == SETUP_PORT)
			assert_string_equal(setup.port, strchr(rows[i].text, ':') + 1);
	}
}

TEST(the_daemons_socket_is_the_default)
{
	struct setup setup;

	assert_int_equal(unsetenv("GOVER_FPS"), 0);
	setup_read(&setup);
	assert_int_equal(setup.transport, SETUP_UNIX);
	assert_string_equal(setup.daemon.sun_path, FPS_DEFAULT_SOCKET);
}

/* The library finds the daemon's limit messages in a byte stream and applies the valid messages. */

#define MAGIC	 FPS_LIMIT_MAGIC
#define END	 FPS_LIMIT_END
#define LIMIT_NS 20000000

static struct limit_stream stream;
static uint32_t limit_ns;

static int setup(void)
{
	stream.n = 0;
	limit_ns = LIMIT_NS;
	return 0;
}

FIXTURE(setup, NULL)

/* Feeds the first @bytes of a message, @cut bytes at a time. */
static void feed(struct fps_limit_message message, size_t bytes, size_t cut)
{
	uint64_t words[LIMIT_WORDS];

	memcpy(words, &message, sizeof(words));
	for (size_t i = 0; i < LIMIT_WORDS; i++)
		words[i] = htole64(words[i]);
	for (size_t at = 0; at < bytes; at += cut)
		limit_receive(&stream, (const char *)words + at,
			      bytes - at < cut ? bytes - at : cut, &limit_ns);
}

static struct fps_limit_message good(uint64_t period_ns)
{
	return (struct fps_limit_message){MAGIC, FPS_LIMIT_VERSION, period_ns, END};
}

TEST(a_valid_period_is_applied)
{
	static const struct {
		uint64_t period_ns;
		bool applied;
	} rows[] = {
		{0, true},	     {1, false},
		{999999, false},     {1000000, true},
		{16666667, true},    {1000000000, true},
		{1000000001, false}, {LIMIT_NS + (1ull << 32), false},
		{UINT64_MAX, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		limit_ns = 7;
		limit_set(rows[i].period_ns, &limit_ns);
		assert_int_equal(limit_ns, rows[i].applied ? rows[i].period_ns : 7);
		limit_ns = 7;
		feed(good(rows[i].period_ns), FPS_LIMIT_BYTES, FPS_LIMIT_BYTES);
		assert_int_equal(limit_ns, rows[i].applied ? rows[i].period_ns : 7);
	}
}

TEST(a_message_may_arrive_in_pieces)
{
	for (size_t cut = 1; cut <= FPS_LIMIT_BYTES; cut++) {
		feed(good(LIMIT_NS + cut), FPS_LIMIT_BYTES - 1, cut);
		assert_int_equal(limit_ns,
				 LIMIT_NS + cut - 1); /* an incomplete message has no effect */
		limit_receive(&stream, ".", 1, &limit_ns);
		assert_int_equal(limit_ns, LIMIT_NS + cut);
	}
}

TEST(other_bytes_are_skipped)
{
	static const struct fps_limit_message rows[] = {
		{0},
		{MAGIC + 1, 1, 1000000, END},
		{MAGIC, 0, 1000000, END},
		{MAGIC, 2, 1000000, END},
		{MAGIC, 1ull << 32 | 1, 1000000, END},
		{MAGIC, 1, 1000000, END + 1},
		{MAGIC, 1, 1000000, 0},
		{MAGIC, MAGIC, MAGIC, END},
		{MAGIC, 1, MAGIC, MAGIC},
		{FPS_MESSAGE_MAGIC, 1, 1000000, FPS_MESSAGE_END},
	};

	for (uint64_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (size_t torn = 1; torn <= FPS_LIMIT_BYTES; torn++) {
			uint32_t before = limit_ns;

			feed(rows[i], torn, torn);
			assert_int_equal(limit_ns, before);
			feed(good(before + 1), FPS_LIMIT_BYTES, 5);
			assert_int_equal(limit_ns, before + 1);
		}
	}
}

TEST(the_last_of_several_applies)
{
	struct fps_limit_message three[] = {good(1000000), good(0), good(1000000000)};

	for (size_t i = 0; i < ARRAY_SIZE(three); i++) {
		feed(three[i], FPS_LIMIT_BYTES, FPS_LIMIT_BYTES);
		assert_int_equal(limit_ns, three[i].period_ns);
	}
}
