/* SPDX-License-Identifier: MIT */
/*
 * The webhook: order of messages, retries and limits. A receiver that fails does not block the
 * daemon.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "gover-d/alert/webhook.h"
#include "gover-d/config/config.h"
#include "tests/unit/unit.h"

#define DEADLINE_NS  (60 * NS_PER_S) /* long, because the machine may be loaded */
#define REQUESTS_MAX 512
#define HANG	     0 /* in receiver.statuses: sends no reply */

/*
 * A receiver in a thread. It replies to each POST with the next status of the list, and then
 * repeats the last status.
 */
static struct {
	int fd, port;
	pthread_t thread;
	pthread_mutex_t lock;
	int statuses[8]; /* -1 ends the list */
	int next;
	char heard[REQUESTS_MAX][64]; /* bodies */
	int n_heard;
	bool asked_for_json;
} receiver = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct webhook *webhook;

static void answer(int connection, int status)
{
	char text[128];
	int n = snprintf(text, sizeof(text),
			 "HTTP/1.1 %d X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status);

	assert_int_equal(write(connection, text, (size_t)n), n);
}

static int note_request(const char *text)
{
	const char *body = strstr(text, "\r\n\r\n");
	int status;

	pthread_mutex_lock(&receiver.lock);
	receiver.asked_for_json = strstr(text, "Content-Type: application/json\r\n") &&
				  strncmp(text, "POST /hear?token=secret HTTP/1.1\r\n", 34) == 0;
	snprintf(receiver.heard[receiver.n_heard++], 64, "%s", body ? body + 4 : "?");
	status = receiver.statuses[receiver.next];
	if (receiver.statuses[receiver.next + 1] >= 0)
		receiver.next++;
	pthread_mutex_unlock(&receiver.lock);
	return status;
}

/* Two reads are enough, because the requests are short. */
static void *receive(void *arg)
{
	int hung[REQUESTS_MAX], n_hung = 0, connection, status;

	(void)arg;
	while ((connection = accept(receiver.fd, NULL, NULL)) >= 0) {
		char text[4096] = "";
		size_t n = 0;
		ssize_t got = 1;

		while (got > 0 && !(strstr(text, "\r\n\r\n") && text[n - 1] == '.')) {
			got = read(connection, text + n, sizeof(text) - 1 - n);
			n += got > 0 ? (size_t)got : 0;
		}
		if (got <= 0) {
			(void)close(connection);
			continue;
		}
		status = note_request(text);
		if (status == HANG) {
			hung[n_hung++] = connection;
			continue;
		}
		answer(connection, status);
		(void)close(connection);
	}
	while (n_hung > 0)
		(void)close(hung[--n_hung]);
	return NULL;
}

static int set_up(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);

	receiver.n_heard = 0;
	receiver.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (receiver.fd < 0 ||
	    bind(receiver.fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    getsockname(receiver.fd, (struct sockaddr *)&address, &size) < 0)
		return -1;
	receiver.port = ntohs(address.sin_port);
	return 0;
}

/* Starts to listen and replies with these statuses; -1 ends the list. */
static void listen_and_reply(const int statuses[])
{
	int n = 0;

	do {
		receiver.statuses[n] = statuses[n];
	} while (statuses[n++] >= 0);
	receiver.next = 0;
	assert_int_equal(listen(receiver.fd, 64), 0);
	assert_int_equal(pthread_create(&receiver.thread, NULL, receive, NULL), 0);
}

static void open_webhook(int timeout_s)
{
	struct err err;
	char url[80];

	snprintf(url, sizeof(url), "http://127.0.0.1:%d/hear?token=secret", receiver.port);
	assert_int_equal(webhook_new(url, timeout_s, &webhook, &err), 0);
}

static int tear_down(void)
{
	webhook = webhook_free(webhook);
	(void)shutdown(receiver.fd, SHUT_RDWR);
	if (receiver.thread)
		(void)pthread_join(receiver.thread, NULL);
	receiver.thread = 0;
	return close(receiver.fd);
}

FIXTURE(set_up, tear_down)

static void queue_text(const char *text, int64_t replaces)
{
	webhook_send(webhook, strdup(text), replaces);
}

static struct webhook_stats stats(void)
{
	struct webhook_stats s;

	webhook_stats(webhook, &s);
	return s;
}

static int heard(void)
{
	int n;

	pthread_mutex_lock(&receiver.lock);
	n = receiver.n_heard;
	pthread_mutex_unlock(&receiver.lock);
	return n;
}

#define WAIT_UNTIL(condition)                                        \
	do {                                                         \
		uint64_t end_ns = clock_now().mono_ns + DEADLINE_NS; \
		while (!(condition)) {                               \
			assert_true(clock_now().mono_ns < end_ns);   \
			(void)usleep(2000);                          \
		}                                                    \
	} while (0)

TEST_WITH(only_http_and_https_urls_are_valid, NULL, NULL)
{
	static const struct {
		const char *url;
		bool valid;
	} rows[] = {
		{"http://a/", true},	   {"https://a.example:8443/x?y=z", true},
		{"HTTP://[::1]:9/", true}, {"http://", false},
		{"ftp://a/", false},	   {"file:///etc/passwd", false},
		{"a.example/x", false},	   {"http://a:99999/", false},
		{"http//a", false},	   {"", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (config_is_url(rows[i].url) != rows[i].valid)
			fail_msg("%s", rows[i].url);
}

TEST(messages_are_posted_in_order_as_json)
{
	char text[16];

	listen_and_reply((const int[]){200, -1});
	open_webhook(30);
	for (int i = 0; i < 20; i++) {
		snprintf(text, sizeof(text), "%d.", i);
		queue_text(text, 0);
	}
	WAIT_UNTIL(stats().sent == 20);
	assert_true(receiver.asked_for_json);
	for (int i = 0; i < 20; i++)
		assert_int_equal(atoi(receiver.heard[i]), i);
	assert_int_equal(stats().retried + stats().refused + stats().dropped, 0);
	assert_int_equal(stats().waiting, 0);
}

TEST(a_temporary_error_is_retried_before_newer_messages)
{
	listen_and_reply((const int[]){503, 429, 204, 200, -1});
	open_webhook(30);
	queue_text("a.", 0);
	queue_text("b.", 0);
	WAIT_UNTIL(stats().sent == 2);
	assert_int_equal(heard(), 4);
	assert_string_equal(receiver.heard[1], "a.");
	assert_string_equal(receiver.heard[2], "a.");
	assert_string_equal(receiver.heard[3], "b.");
	assert_int_equal(stats().retried, 2);
	assert_int_equal(stats().failed_tries, 0);
}

TEST(a_permanent_error_is_not_retried)
{
	listen_and_reply((const int[]){400, 302, 200, -1});
	open_webhook(30);
	queue_text("a.", 0);
	WAIT_UNTIL(stats().lost == 1);
	queue_text("b.", 0);
	queue_text("c.", 0);
	WAIT_UNTIL(stats().sent == 1);
	assert_int_equal(heard(), 3);
	assert_int_equal(stats().refused, 2);
	/* reset, because the receiver accepted a message */
	assert_int_equal(stats().lost, 0);
}

TEST(an_unreachable_receiver_is_reported_without_the_url)
{
	open_webhook(30); /* no receiver listens on the port */
	queue_text("a.", 0);
	WAIT_UNTIL(stats().failed_tries > 0);
	assert_true(stats().problem[0] != '\0');
	assert_null(strstr(stats().problem, "secret"));
	listen_and_reply((const int[]){200, -1});
	WAIT_UNTIL(stats().sent == 1);
	assert_string_equal(stats().problem, "");
}

TEST(a_receiver_without_a_reply_times_out)
{
	listen_and_reply((const int[]){HANG, 200, -1});
	open_webhook(1);
	queue_text("a.", 0);
	WAIT_UNTIL(stats().sent == 1);
	assert_int_equal(heard(), 2);
}

TEST(a_newer_update_replaces_a_waiting_one)
{
	listen_and_reply((const int[]){503, 200, -1});
	open_webhook(30);
	queue_text("raised.", 0);
	WAIT_UNTIL(stats().failed_tries == 1);
	queue_text("update 1.", 7);
	queue_text("update 2.", 7);
	queue_text("of another.", 8);
	queue_text("update 3.", 7);
	WAIT_UNTIL(stats().sent == 3);
	assert_string_equal(receiver.heard[2], "update 3.");
	assert_string_equal(receiver.heard[3], "of another.");
}

TEST(the_oldest_messages_are_dropped_from_a_full_queue)
{
	char text[16];

	listen_and_reply((const int[]){HANG, -1});
	open_webhook(60);
	queue_text("on its way.", 0);
	WAIT_UNTIL(heard() == 1);
	for (int i = 0; i < WEBHOOK_WAITING_MAX + 9; i++) {
		snprintf(text, sizeof(text), "%d.", i);
		queue_text(text, 0);
	}
	assert_int_equal(stats().waiting, WEBHOOK_WAITING_MAX);
	assert_int_equal(stats().dropped, 10);
}

TEST(stopping_does_not_wait_for_a_hanging_receiver)
{
	listen_and_reply((const int[]){HANG, -1});
	open_webhook(60);
	queue_text("a.", 0);
	queue_text("b.", 0);
	WAIT_UNTIL(heard() == 1);
	/*
	 * webhook_free() must not wait for replies. Each reply would take a minute, so the test
	 * would exceed its time limit.
	 */
	webhook = webhook_free(webhook);
	assert_int_equal(heard(), 1);
	assert_null(webhook_free(NULL));
}

TEST(stopping_sends_waiting_messages)
{
	listen_and_reply((const int[]){200, -1});
	open_webhook(60);
	queue_text("a.", 0);
	queue_text("b.", 0);
	webhook = webhook_free(webhook);
	assert_int_equal(heard(), 2);
}
