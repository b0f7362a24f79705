/* SPDX-License-Identifier: MIT */
/* Compression: what is compressed is read back unchanged, is smaller, and may fail without memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "gover-d/util/gzip.h"
#include "tests/unit/scarce-malloc.h"
#include "tests/unit/unpack.h"

#define LENGTH 100000

static void fill(char text[LENGTH])
{
	for (size_t i = 0; i < LENGTH; i++)
		text[i] = "{\"cap_pct\":1234}, "[i % 18];
}

static void a_text_is_the_same_after_decompression(void **state)
{
	static char text[LENGTH];
	CLEANUP_FREE char *packed = NULL;
	CLEANUP_FREE char *back = NULL;
	size_t length;

	(void)state;
	fill(text);
	assert_int_equal(gzip_pack(text, LENGTH, &packed, &length), 0);
	assert_true(length < LENGTH / 50);
	back = unpack(packed, length);
	assert_non_null(back);
	assert_int_equal(strlen(back), LENGTH);
	assert_memory_equal(back, text, LENGTH);
}

static void a_text_that_would_not_shrink_is_refused(void **state)
{
	char noise[LENGTH], *packed = NULL;
	uint32_t random = 1;
	size_t length = 0;

	(void)state;
	for (size_t i = 0; i < LENGTH; i++) {
		random = random * 1664525 + 1013904223;
		noise[i] = (char)(random >> 24);
	}
	assert_int_equal(gzip_pack(noise, LENGTH, &packed, &length), -ENOSPC);
	for (size_t n = 0; n < 18; n++) /* the header and the trailer alone have 18 bytes */
		assert_int_equal(gzip_pack("aaaaaaaaaaaaaaaaaaaa", n, &packed, &length), -ENOSPC);
	assert_null(packed);
	assert_int_equal(length, 0);
}

static void a_failed_allocation_is_an_error_or_has_no_effect(void **state)
{
	static char text[LENGTH];
	int n_failures = 0;

	(void)state;
	fill(text);
	for (long failing = 1;; failing++) {
		CLEANUP_FREE char *packed = NULL;
		CLEANUP_FREE char *back = NULL;
		size_t length = 0;
		int r;

		scarce_begin(failing, /* lasting= */ false);
		r = gzip_pack(text, LENGTH, &packed, &length);
		if (!scarce_end())
			break;
		n_failures += r < 0;
		assert_true(r == 0 || r == -ENOMEM);
		back = r == 0 ? unpack(packed, length) : NULL;
		assert_true(r < 0 || memcmp(back, text, LENGTH) == 0);
	}
	assert_true(n_failures >= 2);
}

/* Reads the whole stream in parts of @size bytes into @packed, and returns its length. */
static size_t read_all(struct gzip_stream *stream, size_t size, char *packed, size_t room)
{
	size_t n, length = 0;

	do {
		assert_true(length + size <= room);
		n = gzip_stream_read(stream, packed + length, size);
		assert_true(n <= size);
		length += n;
	} while (n > 0);
	assert_int_equal(gzip_stream_read(stream, packed + length, size), 0);
	return length;
}

static void a_text_in_parts_is_the_same_after_decompression(void **state)
{
	static const size_t sizes[] = {1, 7, 1000, 32768, 65536, 200000};
	static const size_t lengths[] = {0, 1, 65535, 65536, 65537, LENGTH};
	static char text[LENGTH], packed[2 * LENGTH + 200000];

	(void)state;
	fill(text);
	for (size_t i = 0; i < ARRAY_SIZE(sizes) * ARRAY_SIZE(lengths); i++) {
		size_t size = sizes[i / ARRAY_SIZE(lengths)];
		size_t length = lengths[i % ARRAY_SIZE(lengths)];
		struct gzip_stream *stream = gzip_stream_new(text, length);
		CLEANUP_FREE char *back = NULL;

		assert_non_null(stream);
		back = unpack(packed, read_all(stream, size, packed, sizeof(packed)));
		gzip_stream_free(stream);
		assert_non_null(back);
		if (strlen(back) != length || memcmp(back, text, length) != 0)
			fail_msg("%zu bytes in parts of %zu", length, size);
	}
}

static void a_stream_that_is_not_read_to_its_end_is_freed(void **state)
{
	static char text[LENGTH];
	struct gzip_stream *stream;
	char part[100];

	(void)state;
	fill(text);
	stream = gzip_stream_new(text, LENGTH);
	assert_true(gzip_stream_read(stream, part, sizeof(part)) > 0);
	assert_null(gzip_stream_free(stream));
	assert_null(gzip_stream_free(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_is_the_same_after_decompression),
		cmocka_unit_test(a_text_that_would_not_shrink_is_refused),
		cmocka_unit_test(a_text_in_parts_is_the_same_after_decompression),
		cmocka_unit_test(a_stream_that_is_not_read_to_its_end_is_freed),
		cmocka_unit_test(a_failed_allocation_is_an_error_or_has_no_effect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
