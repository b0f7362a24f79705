/* SPDX-License-Identifier: MIT */
/* The library finds the daemon's limit messages in a byte stream and applies the valid messages. */
#include "base/cleanup.h"
#include "fps-preload/limit.c"
#include "fps-preload/debug.c"
#include "tests/unit/unit.h"

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
