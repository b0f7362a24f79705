/* SPDX-License-Identifier: MIT */
/* Accept-Encoding, and the two forms of embedded files. */
#include "tests/unit/gover-d/api/test-api.h"

#include "gover-d/api/handler.h"

FIXTURE(stand_in_begin, stand_in_end)

TEST(only_gzip_without_a_weight_selects_the_compressed_file)
{
	static const struct {
		const char *accept;
		bool gzip;
	} rows[] = {
		{NULL, false},
		{"", false},
		{"gzip", true},
		{"GZip", true},
		{"gzip, deflate, br, zstd", true},
		{"br,gzip", true},
		{" ,\t, gzip\t,,", true},
		{"br;q=0.1, gzip", true},
		{"*", false},
		{"gzip;q=0", false},
		{"gzip ;q=1", false},
		{"x-gzip", false},
		{"gzipped", false},
		{"br;gzip", false},
		{"identity", false},
		{"gzip deflate", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ask_accept_encoding = rows[i].accept;
		if ((ask("GET /", NULL)->encoding != NULL) != rows[i].gzip)
			fail_msg("%s", rows[i].accept);
		ask_accept_encoding = NULL;
	}
}

TEST(each_form_of_a_file_has_its_own_etag)
{
	static const char *const paths[] = {"/", "/web/main.js", "/openapi.json"};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		char line[64], plain_tag[API_ETAG_MAX];
		const struct api_reply *reply;
		size_t plain_size;

		snprintf(line, sizeof(line), "GET %s", paths[i]);
		reply = ask(line, NULL);
		assert_true(reply->varies);
		assert_null(reply->encoding);
		plain_size = reply->fixed_size;
		strcpy(plain_tag, reply->etag);
		ask_accept_encoding = "br, gzip";
		reply = ask(line, NULL);
		ask_accept_encoding = NULL;
		assert_string_equal(reply->encoding, "gzip");
		assert_true(reply->varies);
		assert_string_not_equal(reply->etag, plain_tag);
		assert_true(reply->fixed_size < plain_size);
		assert_memory_equal(reply->fixed, "\x1f\x8b", 2);
	}
}

/* Returns the status of GET / with an Accept-Encoding and an If-None-Match. */
static unsigned int status_with(const char *accept, const char *if_none_match,
				char tag[API_ETAG_MAX])
{
	struct api_request request = {
		.method = "GET",
		.path = "/",
		.accept_encoding = accept,
		.if_none_match = if_none_match,
	};
	unsigned int status;

	api_serve(api, &request);
	status = request.reply.status;
	assert_true(request.reply.varies);
	if (status == 304) /* a 304 has no body, and so no coding */
		assert_null(request.reply.encoding);
	strcpy(tag, request.reply.etag);
	api_request_fini(&request);
	return status;
}

TEST(an_etag_is_current_only_for_its_form)
{
	char plain[API_ETAG_MAX], packed[API_ETAG_MAX], tag[API_ETAG_MAX], both[64];

	assert_int_equal(status_with(NULL, NULL, plain), 200);
	assert_int_equal(status_with("gzip", NULL, packed), 200);
	assert_int_equal(status_with(NULL, plain, tag), 304);
	assert_string_equal(tag, plain);
	assert_int_equal(status_with("gzip", packed, tag), 304);
	assert_string_equal(tag, packed);
	assert_int_equal(status_with("gzip", plain, tag), 200);
	assert_string_equal(tag, packed);
	assert_int_equal(status_with(NULL, packed, tag), 200);
	snprintf(both, sizeof(both), "\"x\", W/%s, %s", plain, packed);
	assert_int_equal(status_with("gzip", both, tag), 304);
	assert_int_equal(status_with(NULL, both, tag), 304);
	assert_int_equal(status_with(NULL, "*", tag), 304);
}
