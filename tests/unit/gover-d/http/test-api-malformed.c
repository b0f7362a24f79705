/* SPDX-License-Identifier: MIT */
/*
 * A malformed request on a connection with other requests. tests/openapi/heads.py has the table of
 * malformed requests.
 */
#include "tests/unit/gover-d/http/test-api-http.h"

#define GOOD "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
#define BAD  "GET /healthz HTTP/1.1\r\nHost : x\r\n\r\n"

static int count_replies(void)
{
	int n = 0;

	for (const char *at = client.answer; (at = strstr(at, "HTTP/1.1 ")); at++)
		n++;
	return n;
}

static void await_end(void)
{
	const uint64_t end_ns = clock_now().mono_ns + DEADLINE_NS;

	while (!client.closed && clock_now().mono_ns < end_ns) {
		step();
		receive();
	}
}

FIXTURE(begin_http, end_http)

TEST(the_reply_names_the_problem)
{
	assert_int_equal(request("POST /v1/vgpus HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
				 "Content-Length: 2\r\n\r\n{}"),
			 400);
	assert_non_null(strstr(client.answer, "\r\nContent-Type: application/problem+json\r\n"));
	assert_non_null(strstr(client.answer, "given twice\""));
	assert_non_null(strcasestr(client.answer, "\r\nConnection: close\r\n"));
}

/* Earlier requests of the connection get their replies. */
TEST(requests_before_the_malformed_one_are_answered)
{
	open_client();
	send_text(GOOD GOOD BAD GOOD);
	await_end();
	assert_int_equal(count_replies(), 3);
	assert_non_null(strstr(client.answer, "HTTP/1.1 400"));
	assert_null(strstr(strstr(client.answer, "HTTP/1.1 400"), "HTTP/1.1 200"));
	close(client.fd);
}

/* The malformed request arrives while the reply to the first request is deferred. */
TEST(a_deferred_reply_precedes_the_refusal)
{
	post("/v1/vgpus", "{\"id\":\"b\",\"initial_cap_pct\":40}");
	await_change();
	send_text(BAD);
	run_for(5);
	assert_int_equal(client.length, 0);
	stand_in_save(0);
	await_end();
	assert_int_equal(count_replies(), 2);
	assert_int_equal(await(), 201);
	assert_non_null(strstr(client.answer, "HTTP/1.1 400"));
	close(client.fd);
}

TEST(a_refusal_is_counted)
{
	assert_int_equal(request("GET /healthz HTTP/1.1\r\n\r\n"), 400);
	assert_int_equal(request("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
	assert_non_null(strstr(client.answer, "status=\"400\"} 1\n"));
}
