/* SPDX-License-Identifier: MIT */
/* Deferred replies: after the change is on disk, after a failed write, and after the request was
 * closed. */
#include "tests/unit/gover-d/api/test-api.h"

static int n_answered;

static void count_answer(struct api_request *request)
{
	assert_null(request->deferred);
	n_answered++;
}

static struct api_request sale(void)
{
	static const char body[] = "{\"id\":\"b\",\"initial_cap_pct\":40}";

	n_answered = 0;
	return (struct api_request){
		.method = "POST",
		.path = "/v1/vgpus",
		.principal = {.name = "root", .scope = ACCESS_OPERATE},
		.content_type = "application/json; charset=utf-8",
		.body = body,
		.body_length = strlen(body),
		.answered = count_answer,
	};
}

FIXTURE(stand_in_begin, stand_in_end)

TEST(a_change_is_answered_after_it_is_on_disk)
{
	struct api_request request = sale();

	api_serve(api, &request);
	assert_non_null(request.deferred);
	assert_null(stand_in_find("b"));
	assert_int_equal(n_answered, 0);
	stand_in_save(0);
	assert_non_null(stand_in_find("b"));
	assert_int_equal(n_answered, 1);
	assert_int_equal(request.reply.status, 201);
	assert_string_equal(request.reply.location, "/v1/vgpus/b");
	api_request_fini(&request);
}

TEST(a_change_that_is_not_on_disk_is_507)
{
	struct api_request request = sale();

	api_serve(api, &request);
	stand_in_save(-EROFS);
	assert_int_equal(n_answered, 1);
	assert_int_equal(request.reply.status, 507);
	assert_string_equal(request.reply.type, "application/problem+json");
	assert_non_null(strstr(request.reply.text->data, strerror(EROFS)));
	assert_string_equal(request.reply.location, "");
	assert_null(stand_in_find("b"));
	api_request_fini(&request);
}

TEST(a_save_that_cannot_start_is_507_immediately)
{
	struct api_request request = sale();

	manager->save_result = -ENOMEM;
	api_serve(api, &request);
	assert_null(request.deferred);
	assert_int_equal(request.reply.status, 507);
	api_request_fini(&request);
}

TEST(a_closed_request_gets_no_reply)
{
	struct api_request request = sale();

	api_serve(api, &request);
	api_request_fini(&request);
	memset(&request, 0xff, sizeof(request));
	stand_in_save(0);
	assert_int_equal(n_answered, 0);
}

static struct api_request change_of_a(const char *body)
{
	n_answered = 0;
	return (struct api_request){
		.method = "PATCH",
		.path = "/v1/vgpus/a",
		.principal = {.name = "root", .scope = ACCESS_OPERATE},
		.content_type = "application/json",
		.body = body,
		.body_length = strlen(body),
		.answered = count_answer,
	};
}

TEST(the_condition_of_a_change_holds_when_it_is_made)
{
	struct api_request first = change_of_a("{\"target_fps\":10}");
	struct api_request second = change_of_a("{\"target_fps\":20}");
	struct api_request third = change_of_a("{\"target_fps\":30}");
	char tag[API_ETAG_MAX];

	strcpy(tag, ask("GET /v1/vgpus/a", NULL)->etag);
	first.if_match = second.if_match = tag;
	api_serve(api, &first);
	api_serve(api, &second);
	api_serve(api, &third);
	assert_non_null(second.deferred);
	assert_non_null(third.deferred);
	stand_in_save(0);
	assert_int_equal(n_answered, 3);
	assert_int_equal(first.reply.status, 200);
	assert_int_equal(second.reply.status, 412);
	assert_int_equal(third.reply.status, 200);
	assert_true(stand_in_find("a")->contract.terms.target_fps == 30);
	assert_int_equal(manager->changes, 2);
	api_request_fini(&first);
	api_request_fini(&second);
	api_request_fini(&third);
}

TEST(a_waiting_change_of_a_closed_request_is_not_made)
{
	struct api_request first = change_of_a("{\"target_fps\":10}");
	struct api_request second = change_of_a("{\"target_fps\":20}");

	api_serve(api, &first);
	api_serve(api, &second);
	api_request_fini(&second);
	memset(&second, 0xff, sizeof(second));
	stand_in_save(0);
	assert_int_equal(n_answered, 1);
	assert_true(stand_in_find("a")->contract.terms.target_fps == 10);
	api_request_fini(&first);
	/* a request that still waits when the daemon ends */
	first = change_of_a("{\"target_fps\":30}");
	second = change_of_a("{\"target_fps\":40}");
	api_serve(api, &first);
	api_serve(api, &second);
	api_request_fini(&first);
	api_request_fini(&second);
}

TEST(an_invalid_idempotency_key_is_400)
{
	static char long_key[129];
	static const struct {
		const char *key;
		unsigned int status;
	} cases[] = {
		{"", 400}, {"two words", 400}, {"\xc3\xa9", 400}, {long_key, 400}, {"k-1", 200},
	};

	memset(long_key, 'k', sizeof(long_key) - 1);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct api_request request = sale();

		request.path = "/v1/offers/1/claim";
		request.body = "{\"id\":\"b\"}";
		request.body_length = strlen(request.body);
		request.idempotency_key = cases[i].key;
		api_serve(api, &request);
		stand_in_save(0);
		assert_int_equal(request.reply.status, cases[i].status);
		api_request_fini(&request);
	}
	assert_string_equal(manager->key, "root k-1");
}
