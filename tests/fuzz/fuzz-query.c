/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the target of a request and the values of its query parameters. A rejected parameter must
 * have a reply. An accepted time must be the same after it is written and read again.
 */
#include "base/clock.h"
#include "gover-d/api/handler.h"
#include "gover-d/http/head.h"
#include "tests/fuzz/fuzz.h"

static void check_time(const char *text)
{
	char again[CLOCK_TEXT_MAX];
	int64_t wall_ms = -1, again_ms = -1;

	if (api_time_parse(text, &wall_ms) < 0) {
		FUZZ_CHECK(wall_ms == -1);
		return;
	}
	FUZZ_CHECK(wall_ms >= 0);
	/* clock_format() cannot write years after 9999 */
	if (wall_ms > INT64_C(253402300799999))
		return;
	clock_format(wall_ms, again);
	FUZZ_CHECK(api_time_parse(again, &again_ms) == 0);
	FUZZ_CHECK(again_ms == wall_ms);
}

static void read_parameters(struct api_request *request)
{
	int64_t number = -1;
	bool flag = false;

	if (api_query_whole(request, "limit", 1, 1000, &number) == 0)
		FUZZ_CHECK(number == -1 || (number >= 1 && number <= 1000));
	else
		FUZZ_CHECK(number == -1 && request->reply.status == 400);
	if (api_query_switch(request, "all", &flag) < 0)
		FUZZ_CHECK(!flag && request->reply.status == 400);
	if (api_param_number(request, &number) == 0)
		FUZZ_CHECK(number >= 1);
}

FUZZ(query)
{
	CLEANUP_FREE char *text = fuzz_text(data, size);
	struct http_target target = http_target_parse(text);
	struct api_request request = {
		.method = "GET", .path = target.path, .n_query = target.n_query};

	FUZZ_CHECK(strlen(target.path) <= size + 1);
	FUZZ_CHECK(!target.authority || strlen(target.authority) <= size);
	memcpy(request.query, target.query, sizeof(request.query));
	for (size_t i = 0; i < request.n_query && i < API_QUERY_MAX; i++) {
		FUZZ_CHECK(strlen(request.query[i].name) <= size);
		check_time(request.query[i].value);
		snprintf(request.param, sizeof(request.param), "%s", request.query[i].value);
		read_parameters(&request);
	}
	api_request_fini(&request);
	return 0;
}
