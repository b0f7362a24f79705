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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_is_the_same_after_decompression),
		cmocka_unit_test(a_text_that_would_not_shrink_is_refused),
		cmocka_unit_test(a_failed_allocation_is_an_error_or_has_no_effect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
