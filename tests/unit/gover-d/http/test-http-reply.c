/* SPDX-License-Identifier: MIT */
/* Responses that are compressed while they are sent: their number is limited. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/api/encoding.h"
#include "gover-d/http/reply.h"

static struct api_text *long_text(void)
{
	char *data = malloc(API_PACK_LOOP_MAX + 2);

	assert_non_null(data);
	memset(data, 'a', API_PACK_LOOP_MAX + 1);
	data[API_PACK_LOOP_MAX + 1] = '\0';
	return api_text_new(data);
}

static void further_replies_are_not_compressed(void **state)
{
	struct MHD_Response *responses[HTTP_PACKING_MAX + 1];
	struct http_packing packing = {0};
	struct api_text *text = long_text();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(responses); i++) {
		struct api_reply reply = {
			.status = 200, .text = text, .encoding = API_CODING_GZIP, .packs = true};

		responses[i] = http_reply_make(&reply, &packing);
		assert_non_null(responses[i]);
		assert_int_equal(reply.packs, i < HTTP_PACKING_MAX);
		assert_int_equal(reply.encoding != NULL, i < HTTP_PACKING_MAX);
	}
	assert_int_equal(packing.n, HTTP_PACKING_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(responses); i++)
		MHD_destroy_response(responses[i]);
	assert_int_equal(packing.n, 0);
	api_text_unref(text);
}

static void a_packed_text_needs_no_place(void **state)
{
	struct http_packing packing = {.n = HTTP_PACKING_MAX};
	struct api_text *text = long_text();
	struct api_reply reply = {.status = 200, .text = text, .encoding = API_CODING_GZIP};
	struct MHD_Response *response = http_reply_make(&reply, &packing);

	(void)state;
	assert_non_null(response);
	assert_non_null(reply.encoding);
	MHD_destroy_response(response);
	api_text_unref(text);
	assert_int_equal(packing.n, HTTP_PACKING_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(further_replies_are_not_compressed),
		cmocka_unit_test(a_packed_text_needs_no_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
