/* SPDX-License-Identifier: MIT */
/*
 * Malformed requests over a real socket: one error reply, then the end of the connection. A request
 * that is hidden in the body of another one gets no reply.
 */
#include "tests/unit/gover-d/http/test-api-http.h"
#include "tests/unit/gover-d/http/test-malformed.h"

static int count_replies(void)
{
	int n = 0;

	for (const char *at = client.answer; (at = strstr(at, "HTTP/1.1 ")); at++)
		n++;
	return n;
}

/* Sends the request in parts of @part bytes; the server reads each part before the next one. */
static void send_in_parts(const struct raw_request *raw, size_t part)
{
	size_t size;
	CLEANUP_FREE char *bytes = raw_request_bytes(raw, &size);

	open_client();
	for (size_t sent = 0; sent < size && !client.closed;) {
		size_t n = part < size - sent ? part : size - sent;

		if (send_all(bytes + sent, n) != n)
			break; /* the server has closed the connection */
		sent += n;
	}
}

static void await_end(void)
{
	const uint64_t end_ns = clock_now().mono_ns + DEADLINE_NS;

	while (!client.closed && clock_now().mono_ns < end_ns) {
		step();
		receive();
	}
}

/* The reply to a malformed chunk can be a text of libmicrohttpd. */
static bool is_problem(const struct raw_request *raw)
{
	return strstr(client.answer, "\r\nContent-Type: application/problem+json\r\n") ||
	       strstr(raw->before, CHUNKED "\r\n");
}

static void a_malformed_request_gets_one_reply(void **state)
{
	static const size_t parts[] = {SIZE_MAX, 1, 2, 7};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(malformed); i++) {
		/* single bytes of the largest requests would take too long */
		const size_t n_parts = malformed[i].n_repeated > 300 ? 1 : ARRAY_SIZE(parts);

		for (size_t k = 0; k < n_parts; k++) {
			send_in_parts(&malformed[i], parts[k]);
			await_end();
			if (!client.closed || count_replies() != 1 ||
			    atoi(client.answer + strlen("HTTP/1.1 ")) != malformed[i].status ||
			    !is_problem(&malformed[i]))
				print_error("%s, parts of %zd bytes: %s\n", malformed[i].name,
					    (ssize_t)parts[k], client.answer);
			assert_true(client.closed);
			assert_int_equal(count_replies(), 1);
			assert_int_equal(await(), malformed[i].status);
			assert_true(is_problem(&malformed[i]));
			assert_non_null(strcasestr(client.answer, "\r\nConnection: close\r\n"));
			close(client.fd);
		}
	}
	assert_int_equal(manager->changes, 0);
}

static void the_reply_names_the_problem(void **state)
{
	(void)state;
	assert_int_equal(request("POST /v1/vgpus HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
				 "Content-Length: 2\r\n\r\n{}"),
			 400);
	assert_non_null(strstr(client.answer, "\r\nContent-Type: application/problem+json\r\n"));
	assert_non_null(strstr(client.answer, "\"detail\":\"Host, Content-Length or "
					      "Transfer-Encoding: given twice\""));
}

static void other_requests_are_accepted(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(accepted); i++) {
		for (size_t part = 1; part < 4096; part += 4094) {
			send_in_parts(&accepted[i], part);
			if (await() != accepted[i].status)
				print_error("%s: %s\n", accepted[i].name, client.answer);
			assert_int_equal(await(), accepted[i].status);
			run_for(10);
			assert_int_equal(count_replies(), 1);
			close(client.fd);
		}
	}
}

/* Earlier requests of the connection get their replies. */
static void requests_before_the_malformed_one_are_answered(void **state)
{
	(void)state;
	open_client();
	send_text(HIDDEN HIDDEN "GET /healthz HTTP/1.1\r\nHost : x\r\n\r\n" HIDDEN);
	await_end();
	assert_int_equal(count_replies(), 3);
	assert_non_null(strstr(client.answer, "HTTP/1.1 400"));
	assert_null(strstr(strstr(client.answer, "HTTP/1.1 400"), "HTTP/1.1 200"));
	close(client.fd);
}

/* The malformed request arrives while the reply to the first request is deferred. */
static void a_deferred_reply_precedes_the_refusal(void **state)
{
	(void)state;
	post("/v1/vgpus", "{\"id\":\"b\",\"initial_cap_pct\":40}");
	await_change();
	send_text("GET /healthz HTTP/1.1\nHost: x\n\n");
	run_for(5);
	assert_int_equal(client.length, 0);
	stand_in_save(0);
	await_end();
	assert_int_equal(count_replies(), 2);
	assert_int_equal(await(), 201);
	assert_non_null(strstr(client.answer, "HTTP/1.1 400"));
	close(client.fd);
}

static void a_refusal_is_counted(void **state)
{
	(void)state;
	assert_int_equal(request("GET /healthz HTTP/1.1\r\n\r\n"), 400);
	assert_int_equal(request("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
	assert_non_null(strstr(client.answer, "status=\"400\"} 1\n"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_http, end_http)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_malformed_request_gets_one_reply),
		TEST(the_reply_names_the_problem),
		TEST(other_requests_are_accepted),
		TEST(requests_before_the_malformed_one_are_answered),
		TEST(a_deferred_reply_precedes_the_refusal),
		TEST(a_refusal_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
