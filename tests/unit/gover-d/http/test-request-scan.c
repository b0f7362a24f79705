/* SPDX-License-Identifier: MIT */
/* The scan of requests: each malformed request is refused, however its bytes are divided. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "gover-d/http/request-scan.h"
#include "tests/unit/gover-d/http/test-malformed.h"

/* Feeds the request in parts of @part bytes. Returns the number of accepted bytes. */
static size_t feed(struct request_scan *scan, const struct raw_request *raw, size_t part)
{
	size_t size, fed = 0;
	CLEANUP_FREE char *bytes = raw_request_bytes(raw, &size);

	while (fed < size && !scan->refusal) {
		size_t n = part < size - fed ? part : size - fed;

		fed += request_scan_feed(scan, bytes + fed, n);
	}
	assert_true(fed <= size);
	if (!scan->refusal)
		assert_int_equal(fed, size);
	return fed;
}

static void a_malformed_request_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(malformed); i++) {
		struct request_scan whole = {0};
		size_t n = feed(&whole, &malformed[i], SIZE_MAX);

		if (!whole.refusal)
			print_error("%s\n", malformed[i].name);
		assert_non_null(whole.refusal);
		assert_int_equal(whole.refusal->status, malformed[i].status);
		assert_ptr_equal(request_scan_refusal(&whole, 1), whole.refusal);
		for (size_t part = 1; part < 40; part++) {
			struct request_scan scan = {0};

			assert_int_equal(feed(&scan, &malformed[i], part), n);
			assert_ptr_equal(scan.refusal, whole.refusal);
		}
	}
}

static void another_request_is_accepted(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(accepted); i++) {
		for (size_t part = 1; part < 40; part++) {
			struct request_scan scan = {0};

			(void)feed(&scan, &accepted[i], part);
			if (scan.refusal)
				print_error("%s: %s\n", accepted[i].name, scan.refusal->text);
			assert_null(scan.refusal);
			assert_int_equal(scan.n_heads, 1);
			assert_null(request_scan_refusal(&scan, 1));
			assert_int_equal(request_scan_feed(&scan, HIDDEN, strlen(HIDDEN)),
					 strlen(HIDDEN));
			assert_int_equal(scan.n_heads, 2);
		}
	}
}

/* Requests that were received before the malformed one are not affected. */
static void only_the_malformed_request_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(malformed); i++) {
		struct request_scan scan = {0};

		(void)feed(&scan, &accepted[i % ARRAY_SIZE(accepted)], SIZE_MAX);
		assert_int_equal(request_scan_feed(&scan, HIDDEN, strlen(HIDDEN)), strlen(HIDDEN));
		(void)feed(&scan, &malformed[i], SIZE_MAX);
		assert_null(request_scan_refusal(&scan, 1));
		assert_null(request_scan_refusal(&scan, 2));
		assert_ptr_equal(request_scan_refusal(&scan, 3), scan.refusal);
		assert_int_equal(request_scan_feed(&scan, HIDDEN, strlen(HIDDEN)), 0);
	}
}

/* A server whose bytes bypass the scan serves no request. */
static void a_request_that_was_not_scanned_is_refused(void **state)
{
	struct request_scan scan = {0};

	(void)state;
	assert_int_equal(request_scan_refusal(NULL, 0)->status, 500);
	assert_int_equal(request_scan_take(&scan), 1);
	assert_int_equal(request_scan_refusal(&scan, 1)->status, 500);
	assert_int_equal(request_scan_feed(&scan, HIDDEN, strlen(HIDDEN)), strlen(HIDDEN));
	assert_null(request_scan_refusal(&scan, 1));
	assert_int_equal(request_scan_take(&scan), 2);
	assert_int_equal(request_scan_refusal(&scan, 2)->status, 500);
}

/* The completion is copied in parts of any size. */
static void a_refused_request_is_completed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(malformed); i++) {
		struct request_scan whole = {0}, scan = {0};
		char text[128], parts[128];
		size_t n, copied, part;

		(void)feed(&whole, &malformed[i], SIZE_MAX);
		n = request_scan_complete(&whole, text, sizeof(text));
		assert_in_range(n, 1, sizeof(text) - 1);
		assert_int_equal(text[n - 1], '\n');
		assert_int_equal(request_scan_complete(&whole, text, sizeof(text)), 0);
		(void)feed(&scan, &malformed[i], SIZE_MAX);
		for (copied = 0; (part = request_scan_complete(&scan, parts + copied, 3)) > 0;)
			copied += part;
		assert_int_equal(copied, n);
		assert_memory_equal(parts, text, n);
	}
}

/* Returns the accepted bytes of the request and their completion. */
static char *completed(const struct raw_request *raw)
{
	struct request_scan scan = {0};
	size_t size, n = feed(&scan, raw, SIZE_MAX);
	CLEANUP_FREE char *bytes = raw_request_bytes(raw, &size);
	char *text = calloc(1, n + 128);

	assert_non_null(text);
	memcpy(text, bytes, n);
	(void)request_scan_complete(&scan, text + n, 127);
	return text;
}

/* libmicrohttpd 1.0.10 itself answers a request with another encoding, with status 501. */
static void a_refused_encoding_is_completed_to_chunked(void **state)
{
	static const char field[] = "Transfer-Encoding:", chunked[] = "chunked\r\n";
	int n_encodings = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(malformed); i++) {
		CLEANUP_FREE char *text = completed(&malformed[i]);

		for (const char *at = text; (at = strstr(at, field)); n_encodings++) {
			at += strlen(field) + (at[strlen(field)] == ' ');
			if (strncmp(at, chunked, strlen(chunked)) != 0)
				print_error("%s: %s\n", malformed[i].name, text);
			assert_memory_equal(at, chunked, strlen(chunked));
		}
	}
	assert_in_range(n_encodings, 6, ARRAY_SIZE(malformed));
}

/* libmicrohttpd 1.0.10 itself answers a request with two Host fields. */
static void a_completed_head_has_one_host(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(malformed); i++) {
		CLEANUP_FREE char *text = completed(&malformed[i]);
		int n_hosts = 0;

		for (const char *at = text; (at = strcasestr(at, "\nHost:")); at++)
			n_hosts++;
		if (n_hosts > 1)
			print_error("%s: %s\n", malformed[i].name, text);
		assert_in_range(n_hosts, !strstr(text, " HTTP/1.0\r\n"), 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_malformed_request_is_refused),
		cmocka_unit_test(another_request_is_accepted),
		cmocka_unit_test(only_the_malformed_request_is_refused),
		cmocka_unit_test(a_request_that_was_not_scanned_is_refused),
		cmocka_unit_test(a_refused_request_is_completed),
		cmocka_unit_test(a_refused_encoding_is_completed_to_chunked),
		cmocka_unit_test(a_completed_head_has_one_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
