/* SPDX-License-Identifier: MIT */
/* GET /v1/events over a real socket: events, resumed streams, slow readers, and the end of the
 * server. */
#include "tests/unit/gover-d/http/test-api-http.h"

#include "gover-d/api/api.h"
#include "gover-d/api/resource/events-stream.h"

/* Runs the loop until @words are received or the connection is closed. */
static bool await_text(const char *words)
{
	const uint64_t end_ns = clock_now().mono_ns + DEADLINE_NS;

	while (!strstr(client.answer, words) && !client.closed && clock_now().mono_ns < end_ns) {
		assert_true(sd_event_run(event, 1000) >= 0);
		receive();
	}
	return strstr(client.answer, words) != NULL;
}

static void follow(const char *query, const char *headers)
{
	char text[512];

	snprintf(text, sizeof(text), "GET /v1/events%s HTTP/1.1\r\nHost: x\r\n%s\r\n", query,
		 headers);
	open_client();
	send_text(text);
}

static void add_event(enum events_kind kind, const char *what)
{
	api_events_add(api, kind, json_pack("{s:s}", "what", what));
}

/* Waits for the first id of the stream and writes it into @id. */
static void first_id(char id[EVENTS_ID_MAX])
{
	assert_true(await_text("\nid: "));
	assert_int_equal(sscanf(strstr(client.answer, "\nid: "), "\nid: %63[a-f0-9-]", id), 1);
}

FIXTURE(begin_http, end_http)

TEST(events_are_sent_to_the_stream)
{
	follow("", "");
	assert_true(await_text("\nid: "));
	assert_non_null(strstr(client.answer, "HTTP/1.1 200"));
	assert_non_null(strstr(client.answer, "\r\nContent-Type: text/event-stream\r\n"));
	add_event(EVENTS_CHANGE, "first");
	assert_true(await_text("event: change\ndata: {\"what\":\"first\"}\n\n"));
	tick_api();
	assert_true(await_text("event: tick\ndata: {\"vgpus\":[{\"id\":\"a\""));
	assert_int_equal(api->n_followers, 1);
	close(client.fd);
	/* the server detects a closed connection only when it sends data */
	for (int i = 0; i < 3; i++) {
		tick_api();
		run_for(5);
	}
	assert_int_equal(api->n_followers, 0);
	assert_null(api->followers);
}

static void add_decision(const char *why)
{
	const struct decision decision = {
		.gpu = "gpu0",
		.kind = (enum decision_kind)POLICY_STEAL,
		.result = DECISION_WRITTEN,
		.why = why,
		.numbers = json_object(),
		.moves = json_array(),
	};

	add_decided(&decision);
}

TEST(decisions_and_changes_are_sent_in_order)
{
	const char *at;

	follow("?kinds=decision,change", "");
	assert_true(await_text("\nid: "));
	add_decision("one");
	add_decision("two");
	add_event(EVENTS_CHANGE, "three");
	add_decision("four");
	tick_api();
	assert_true(await_text("\"why\":\"four\""));
	at = strstr(client.answer, "\"why\":\"one\"");
	assert_non_null(at);
	at = strstr(at, "\"why\":\"two\"");
	assert_non_null(at);
	at = strstr(at, "three");
	assert_non_null(at);
	assert_non_null(strstr(at, "event: decision\ndata: {\"id\":3,"));
	tick_api();
	assert_null(strstr(strstr(at, "four") + 4, "four"));
	close(client.fd);
}

TEST(an_idle_stream_gets_comments)
{
	manager->host.ticked.mono_ns = 100 * NS_PER_S;
	follow("?kinds=alert", "");
	assert_true(await_text("\nid: "));
	manager->host.ticked.mono_ns = 114 * NS_PER_S;
	tick_api();
	run_for(5);
	receive();
	assert_null(strstr(client.answer, "\n:\n"));
	manager->host.ticked.mono_ns = 115 * NS_PER_S;
	tick_api();
	assert_true(await_text("\n:\n\n"));
	close(client.fd);
}

TEST(only_the_requested_kinds_are_sent)
{
	follow("?kinds=alert", "");
	assert_true(await_text("\nid: "));
	add_event(EVENTS_CHANGE, "unwanted");
	tick_api();
	add_event(EVENTS_ALERT, "wanted");
	assert_true(await_text("wanted\"}"));
	assert_null(strstr(client.answer, "unwanted"));
	assert_null(strstr(client.answer, "tick"));
	close(client.fd);
	assert_int_equal(request("GET /v1/events?kinds=all HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
	assert_int_equal(request("GET /v1/events?kinds HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
	assert_int_equal(request("GET /v1/events?after=0123456789012345678901234567890123456789"
				 "012345678901234567890123456789 HTTP/1.1\r\nHost: x\r\n\r\n"),
			 400);
	assert_int_equal(request("HEAD /v1/events HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
}

TEST(a_reconnected_stream_resumes_after_its_last_event)
{
	char id[EVENTS_ID_MAX], more[EVENTS_ID_MAX + 32];

	follow("", "");
	first_id(id);
	close(client.fd);
	add_event(EVENTS_OFFER, "meanwhile");
	snprintf(more, sizeof(more), "Last-Event-ID: %s\r\n", id);
	follow("?after=older-1", more);
	assert_true(await_text("meanwhile\"}"));
	assert_null(strstr(client.answer, "lost"));
	close(client.fd);
	snprintf(more, sizeof(more), "?after=%s", id);
	follow(more, "Last-Event-ID:\r\n");
	assert_true(await_text("meanwhile\"}"));
	close(client.fd);
	follow("?after=other-1", "");
	assert_true(await_text("event: lost\ndata: {\"after\":\"other-1\"}"));
	assert_null(strstr(client.answer, "meanwhile"));
	close(client.fd);
}

TEST(a_stream_that_is_not_read_is_closed)
{
	static char text[16 * 1024];
	int idle, n;

	memset(text, 'x', sizeof(text) - 1);
	follow("", "");
	assert_true(await_text("\nid: "));
	idle = client.fd;
	for (n = 0; n < 200 && api->n_followers == 1; n++) {
		add_event(EVENTS_DECISION, text);
		run_for(3);
	}
	assert_int_equal(api->n_followers, 0);
	assert_in_range(n, EVENTS_WAITING / (16 * 1024), 100);
	follow("", "");
	assert_true(await_text("\nid: "));
	add_event(EVENTS_DECISION, "after that");
	assert_true(await_text("after that"));
	close(client.fd);
	close(idle);
}

TEST(a_stop_ends_every_stream)
{
	int fds[4];

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		follow("", "");
		assert_true(await_text("\nid: "));
		fds[i] = client.fd;
	}
	add_event(EVENTS_CHANGE, "before the stop");
	http = http_free(http);
	assert_int_equal(api->n_followers, 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
}

TEST(event_streams_are_limited)
{
	static const struct {
		const char *name;
		enum access_scope scope;
		int accepted;
		const char *why; /* detail of the reply to the next stream; NULL: not checked */
	} rows[] = {
		{"token crowd", ACCESS_READ, 128,
		 "too many open event streams: token crowd has 128 (limit 128)"},
		/* The last 32 streams are reserved for principals with a scope above read. */
		{"token other", ACCESS_READ, 96, "too many open event streams: 224 (limit 224)"},
		{"token robot", ACCESS_OPERATE, 31, NULL},
		{"root", ACCESS_ADMIN, 1, "too many open event streams: 256 (limit 256)"},
	};
	struct api_request requests[256 + ARRAY_SIZE(rows)], *r = requests;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (int n = 0; n <= rows[i].accepted - !rows[i].why; n++) {
			*r = (struct api_request){
				.method = "GET",
				.path = "/v1/events",
				.principal = {.scope = rows[i].scope},
			};
			strcpy(r->principal.name, rows[i].name);
			api_serve(api, r++);
			assert_int_equal(r[-1].reply.status, n < rows[i].accepted ? 200 : 503);
		}
		if (rows[i].why)
			assert_non_null(strstr(r[-1].reply.text->data, rows[i].why));
	}
	while (r > requests)
		api_request_fini(--r);
	assert_int_equal(api->n_followers, 0);
}
