/* SPDX-License-Identifier: MIT */
/* The size of the process, when a trim is necessary, and the return of free memory to the system.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gover-d/util/memory.h"
#include "tests/unit/unit.h"

#define MB	      ((uint64_t)1 << 20)
#define BLOCKS	      1000
#define BLOCK_SIZE    ((size_t)32 << 10) /* below the size that malloc() maps alone */
#define PERIOD_NS     NS_PER_S
#define PERIODS_CHECK 12 /* contain at least one check */

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OTHER_MALLOC 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OTHER_MALLOC 1
#endif

TEST(much_free_memory_must_be_returned)
{
	static const struct {
		const char *why;
		uint64_t own, allocated;
		bool must_trim;
	} rows[] = {
		{"the first check sets the base", 10 * MB, 8 * MB, false},
		{"little free memory", 14 * MB, 8 * MB, false},
		{"much free memory", 14 * MB + 1, 8 * MB, true},
		{"growth in use", 50 * MB, 48 * MB, false},
		{"free after growth in use", 50 * MB, 43 * MB, true},
		{"allocated, but not touched", 10 * MB, 18 * MB, false},
		{"the base is the least free memory", 10 * MB, 13 * MB, true},
	};
	struct memory memory = {0};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (memory_must_trim(&memory, rows[i].own, rows[i].allocated) != rows[i].must_trim)
			fail_msg("%s", rows[i].why);
		memory.next_check_ns = 1;
	}
}

#ifndef OTHER_MALLOC
static uint64_t own(void)
{
	struct memory_size size;

	assert_int_equal(memory_read(&size), 0);
	assert_true(size.own > 0 && size.own <= size.resident);
	return size.own;
}

static void tick(struct memory *memory, uint64_t *now_ns)
{
	for (int i = 0; i < PERIODS_CHECK; i++)
		memory_tick(memory, *now_ns += PERIOD_NS);
}

static void *blocks[BLOCKS];

static void allocate_blocks(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(BLOCK_SIZE);
		assert_non_null(blocks[i]);
		memset(blocks[i], 1, BLOCK_SIZE);
	}
}

static void free_blocks(void)
{
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
}

TEST(freed_memory_is_returned)
{
	struct memory memory = {0};
	uint64_t now_ns = NS_PER_S, before;
	void *last;

	tick(&memory, &now_ns);
	before = own();
	allocate_blocks();
	last = malloc(64); /* keeps the end of the heap in use */
	assert_non_null(last);
	tick(&memory, &now_ns); /* a check while the blocks are in use */
	assert_true(own() > before + 24 * MB);
	free_blocks();
	assert_true(own() > before + 24 * MB); /* else this test shows nothing */
	tick(&memory, &now_ns);
	assert_true(own() < before + 4 * MB);
	/* and once more, with the trimmed heap */
	allocate_blocks();
	tick(&memory, &now_ns);
	free_blocks();
	tick(&memory, &now_ns);
	assert_true(own() < before + 4 * MB);
	free(last);
}
#endif
