/* SPDX-License-Identifier: MIT */
/* JSON as text while each allocation in turn fails: a result is complete, or there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json-text.h"
#include "tests/unit/scarce-malloc.h"

/*
 * The strings are longer than jansson's first token buffer of 16 bytes, so that it grows. The
 * first one ends where it grows.
 */
static const char document[] =
	"{\"12345678901234\": 0,"
	" \"a name of more than sixteen bytes\": \"a string of more than thirty-two bytes, "
	"\\u00e4\","
	" \"numbers\": [1, 2.5, -12345678901234567, 1e300],"
	" \"deep\": [[[{\"x\": {\"y\": [true, false, null]}}]]],"
	" \"a\": 1, \"b\": 2, \"c\": 3, \"d\": 4, \"e\": 5, \"f\": 6, \"g\": 7, \"h\": 8}";

static json_t *parse(const char *text, json_error_t *err)
{
	return json_text_parse(text, strlen(text), JSON_REJECT_DUPLICATES, err);
}

static void a_document_is_parsed_whole_or_not_at_all(void **state)
{
	json_t *whole = parse(document, NULL);

	(void)state;
	assert_non_null(whole);
	for (int lasting = 0; lasting <= 1; lasting++) {
		bool failed = true;

		for (long failing = 1; failed; failing++) {
			json_error_t err;
			json_t *json;

			scarce_begin(failing, lasting);
			json = parse(document, &err);
			failed = scarce_end();
			assert_true(failed == !json);
			assert_true(json ? json_equal(json, whole) : json_text_no_memory(&err));
			json_decref(json);
			assert_true(!failed || failing < 10000);
		}
	}
	json_decref(whole);
}

static void an_invalid_document_fails_without_a_leak(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"[1, 2",
		"{\"12345678901234\": 0, \"a name of more than 16 bytes\": [1, {\"a\": 2}], \"b\"}",
		"{\"a\": 1, \"a\": 2}",
		"[\"a string of more than sixteen bytes\\ud800\"]",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		json_error_t err;

		assert_null(parse(texts[i], &err));
		assert_false(json_text_no_memory(&err));
		assert_true(err.text[0] != '\0');
		scarce_begin(1, /* lasting= */ false);
		assert_null(parse(texts[i], &err));
		assert_true(json_text_no_memory(&err) || !scarce_end());
		assert_string_equal(err.text, "out of memory");
		scarce_end();
	}
}

static void a_text_is_printed_whole_or_not_at_all(void **state)
{
	static const size_t flags[] = {0, JSON_INDENT(1), JSON_COMPACT | JSON_SORT_KEYS};
	json_t *json = parse(document, NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		CLEANUP_FREE char *whole = json_text_print(json, flags[i]);
		bool failed = true;

		assert_non_null(whole);
		for (long failing = 1; failed; failing++) {
			CLEANUP_FREE char *text = NULL;

			scarce_begin(failing, /* lasting= */ false);
			text = json_text_print(json, flags[i]);
			failed = scarce_end();
			assert_true(failed == !text);
			if (text)
				assert_string_equal(text, whole);
			assert_true(!failed || failing < 10000);
		}
	}
	assert_null(json_text_print(NULL, 0));
	json_decref(json);
}

static void an_object_is_copied_whole_or_not_at_all(void **state)
{
	json_t *object = json_pack("{s:s, s:i, s:s, s:b, s:n, s:s, s:s}", "a", "x", "b", 1, "c",
				   "y", "d", 1, "e", "f", "z", "g", "");
	bool failed = true;

	(void)state;
	assert_non_null(object);
	for (long failing = 1; failed; failing++) {
		json_t *copy;

		scarce_begin(failing, /* lasting= */ false);
		copy = json_text_copy_object(object);
		failed = scarce_end();
		assert_true(failed == !copy);
		assert_true(!copy || json_equal(copy, object));
		json_decref(copy);
		assert_true(!failed || failing < 1000);
	}
	assert_null(json_text_copy_object(NULL));
	assert_null(json_text_copy_object(json_true()));
	json_decref(object);
}

/* Values made outside of json_text_parse() can be mixed with values made inside. */
static void results_are_ordinary_values(void **state)
{
	json_t *json = parse(document, NULL);
	CLEANUP_FREE char *text = NULL;

	(void)state;
	assert_int_equal(json_object_set_new(json, "numbers", json_string("none")), 0);
	assert_int_equal(json_object_del(json, "deep"), 0);
	assert_int_equal(json_array_append_new(json_object_get(json, "x"), json_null()), -1);
	text = json_text_print(json_object_get(json, "numbers"), JSON_ENCODE_ANY);
	assert_string_equal(text, "\"none\"");
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_document_is_parsed_whole_or_not_at_all),
		cmocka_unit_test(an_invalid_document_fails_without_a_leak),
		cmocka_unit_test(a_text_is_printed_whole_or_not_at_all),
		cmocka_unit_test(an_object_is_copied_whole_or_not_at_all),
		cmocka_unit_test(results_are_ordinary_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
