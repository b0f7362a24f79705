/* SPDX-License-Identifier: MIT */
/* Accept-Encoding, and which answers are compressed. */
#include "tests/unit/gover-d/api/test-api.h"

#include "gover-d/api/handler.h"
#include "tests/unit/unpack.h"

static const struct {
	const char *accept;
	bool gzip;
} headers[] = {
	{NULL, false}, /* any coding is allowed, but the client may know none */
	{"", false},
	{"gzip", true},
	{"GZip", true},
	{"x-gzip", true},
	{"gzip, deflate, br, zstd", true},
	{"br, gzip", true},
	{"deflate,gzip;q=0.8,*;q=0.1", true},
	{" ,\t, gzip ,,", true},
	{"gzip ; q=0.001", true},
	{"gzip\t;\tQ=1.000", true},
	{"gzip;q=1.", true},
	{"gzip;q=0.5", true}, /* an identity without a weight has the lowest rank */
	{"gzip;q=0.5, identity;q=0.5", true},
	{"identity;q=0, gzip;q=0.1", true},
	{"*", true},
	{"*;q=0.3", true},
	{"br;q=1.0, *;q=0", false},
	{"gzip;q=0, *", false}, /* the name is more specific than "*" */
	{"*;q=0, gzip", true},
	{"gzip;q=0", false},
	{"gzip;q=0.0", false},
	{"gzip;q=0.000", false},
	{"gzip, gzip;q=0", false},
	{"x-gzip;q=0, gzip", false},
	{"identity, gzip;q=0.9", false},
	{"identity", false},
	{"br, deflate", false},
	{"gzipped", false},
	{"gzip-x", false},
	/* invalid */
	{"gzip;q=2", false},
	{"gzip;q=1.001", false},
	{"gzip;q=0.0001", false},
	{"gzip;q=-1", false},
	{"gzip;q=", false},
	{"gzip;q", false},
	{"gzip;", false},
	{"gzip;q=.5", false},
	{"gzip;q= 1", false},
	{"gzip;q=0.5;x", false},
	{"gzip;level=9", false},
	{"gzip deflate", false},
	{"gzip, \"br\"", false},
	{"gzip, br;q=x", false},
	{"gzip\n", false},
	{"gzip, \xc3\xa4", false},
	{"a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,gzip", true},
	{"a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,gzip", false},
};

static void accept_encoding_is_parsed_strictly(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
		if (api_accepts_gzip(headers[i].accept) != headers[i].gzip)
			fail_msg("%s", headers[i].accept ? headers[i].accept : "no header");
}

static struct api_text *text_of(size_t length)
{
	char *data = malloc(length + 1);

	assert_non_null(data);
	memset(data, 'a', length);
	data[length] = '\0';
	return api_text_new(data);
}

static void only_long_answers_to_reads_are_compressed(void **state)
{
	static const struct {
		const char *method, *etag;
		unsigned int status;
		size_t length;
		bool varies, packs; /* packs: compressed before or while it is sent */
	} rows[] = {
		{"GET", "", 200, API_PACK_MIN, true, true},
		{"HEAD", "", 200, API_PACK_MIN, true, true},
		{"GET", "", 200, API_PACK_MIN - 1, true, false},
		{"GET", "", 200, API_PACK_LOOP_MAX, true, true},
		{"GET", "", 200, API_PACK_LOOP_MAX + 1, true, true},
		{"GET", "\"x\"", 200, API_PACK_MIN, false, false},
		{"GET", "", 404, API_PACK_MIN, false, false},
		{"POST", "", 200, API_PACK_MIN, false, false},
		{"POST", "", 201, API_PACK_MIN, false, false},
		{"PATCH", "", 200, API_PACK_MIN, false, false},
		{"DELETE", "", 200, API_PACK_MIN, false, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct api_request request = {.method = rows[i].method, .accept_encoding = "gzip"};
		struct api_text *text = text_of(rows[i].length);

		api_request_reply_shared(&request, rows[i].status, API_TYPE_TEXT, text);
		api_text_unref(text);
		strcpy(request.reply.etag, rows[i].etag);
		api_reply_encode(&request);
		if (request.reply.varies != rows[i].varies ||
		    (request.reply.encoding != NULL) != rows[i].packs ||
		    request.reply.packs != (rows[i].length > API_PACK_LOOP_MAX) ||
		    (request.reply.text->length < rows[i].length || request.reply.packs) !=
			    rows[i].packs)
			fail_msg("row %zu", i);
		api_request_fini(&request);
	}
}

static void a_compressed_answer_has_the_same_text(void **state)
{
	CLEANUP_FREE char *plain = NULL;
	CLEANUP_FREE char *back = NULL;
	const struct api_reply *reply;

	(void)state;
	reply = ask("GET /metrics", NULL);
	assert_true(reply->varies);
	assert_null(reply->encoding);
	plain = strdup(reply->text->data);
	ask_accept_encoding = "gzip";
	reply = ask("GET /metrics", NULL);
	ask_accept_encoding = NULL;
	assert_string_equal(reply->encoding, "gzip");
	assert_true(reply->varies);
	assert_true(reply->text->length < strlen(plain) / 2);
	back = unpack(reply->text->data, reply->text->length);
	assert_string_equal(back, plain);
}

static void a_cached_answer_is_compressed_once_for_each_version(void **state)
{
	const struct api_text *first;

	(void)state;
	ask_accept_encoding = "gzip";
	first = api_text_ref(ask("GET /metrics", NULL)->text);
	assert_ptr_equal(ask("GET /metrics", NULL)->text, first);
	assert_ptr_equal(ask("HEAD /metrics", NULL)->text, first);
	api_tick(api);
	assert_ptr_not_equal(ask("GET /metrics", NULL)->text, first);
	ask_accept_encoding = NULL;
	api_text_unref((struct api_text *)(uintptr_t)first);
}

static void each_form_of_a_file_has_its_own_etag(void **state)
{
	static const char *const paths[] = {"/", "/web/main.js", "/openapi.json"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		char line[64], plain_tag[API_ETAG_MAX];
		CLEANUP_FREE char *back = NULL;
		const struct api_reply *reply;
		const char *plain;
		size_t plain_size;

		snprintf(line, sizeof(line), "GET %s", paths[i]);
		reply = ask(line, NULL);
		assert_true(reply->varies);
		assert_null(reply->encoding);
		plain = reply->fixed;
		plain_size = reply->fixed_size;
		strcpy(plain_tag, reply->etag);
		ask_accept_encoding = "br, gzip";
		reply = ask(line, NULL);
		ask_accept_encoding = NULL;
		assert_string_equal(reply->encoding, "gzip");
		assert_true(reply->varies);
		assert_string_not_equal(reply->etag, plain_tag);
		back = unpack(reply->fixed, reply->fixed_size);
		assert_int_equal(strlen(back), plain_size);
		assert_memory_equal(back, plain, plain_size);
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
	api_reply_encode(&request);
	status = request.reply.status;
	assert_true(request.reply.varies);
	if (status == 304) /* a 304 has no body, and so no coding */
		assert_null(request.reply.encoding);
	strcpy(tag, request.reply.etag);
	api_request_fini(&request);
	return status;
}

static void an_etag_is_current_only_for_its_form(void **state)
{
	char plain[API_ETAG_MAX], packed[API_ETAG_MAX], tag[API_ETAG_MAX], both[64];

	(void)state;
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, stand_in_begin, stand_in_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(accept_encoding_is_parsed_strictly),
		TEST(only_long_answers_to_reads_are_compressed),
		TEST(a_compressed_answer_has_the_same_text),
		TEST(a_cached_answer_is_compressed_once_for_each_version),
		TEST(each_form_of_a_file_has_its_own_etag),
		TEST(an_etag_is_current_only_for_its_form),
	};

	return cmocka_run_group_tests_name("api-encoding", tests, NULL, NULL);
}
