/* SPDX-License-Identifier: MIT */
/*
 * REST over a real socket in an event loop: the server, and a non-blocking client in the same
 * thread. Include it once in a program.
 */
#ifndef TESTS_UNIT_GOVER_D_HTTP_TEST_API_HTTP_H
#define TESTS_UNIT_GOVER_D_HTTP_TEST_API_HTTP_H

#include "tests/unit/gover-d/api/test-api.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "gover-d/http/http.h"
#include "tests/unit/unit.h"

#define DEADLINE_NS (20 * NS_PER_S)

static sd_event *event;
static struct http *http;
static char folder[32], path[64];
static struct err err;

static inline int begin_http(void)
{
	stand_in_begin();
	strcpy(folder, "/tmp/gover-test-api-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/run/rest.sock", folder);
	assert_int_equal(sd_event_new(&event), 0);
	assert_int_equal(http_new(event, path, "", api, authn, &http, &err), 0);
	return 0;
}

static inline int end_http(void)
{
	char run[48];

	http = http_free(http);
	event = sd_event_unref(event);
	snprintf(run, sizeof(run), "%s/run", folder);
	assert_int_equal(rmdir(run), 0); /* fails if the socket still exists */
	assert_int_equal(rmdir(folder), 0);
	return stand_in_end();
}

/* --- a non-blocking client, so that the server can run --- */

struct client {
	int fd;
	char answer[256 * 1024];
	size_t length;
	bool closed; /* the server closed the connection */
};

static struct client client;

static inline int connect_to(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, name);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static inline void open_client(void)
{
	client.fd = connect_to(path);
	client.length = 0;
	client.closed = false;
	client.answer[0] = '\0';
}

static inline void step(void)
{
	assert_true(sd_event_run(event, 1000) >= 0);
}

static inline void receive(void)
{
	ssize_t n = recv(client.fd, client.answer + client.length,
			 sizeof(client.answer) - 1 - client.length, 0);

	if (n > 0)
		client.length += (size_t)n;
	else if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
		client.closed = true;
	client.answer[client.length] = '\0';
}

/* Sends while the server accepts data; returns the number of bytes sent. */
static inline size_t send_all(const char *data, size_t length)
{
	const uint64_t end_ns = clock_now().mono_ns + DEADLINE_NS;
	size_t sent = 0;

	while (sent < length && !client.closed && clock_now().mono_ns < end_ns) {
		ssize_t n = send(client.fd, data + sent, length - sent, MSG_NOSIGNAL);

		if (n > 0)
			sent += (size_t)n;
		else if (errno != EAGAIN)
			break;
		step();
		receive();
	}
	return sent;
}

static inline void send_text(const char *text)
{
	(void)send_all(text, strlen(text));
}

static inline bool answer_complete(void)
{
	const char *head_end = strstr(client.answer, "\r\n\r\n");
	const char *length = strcasestr(client.answer, "\r\nContent-Length: ");

	if (!head_end)
		return false;
	if (!length || length > head_end)
		return true;
	return client.answer + client.length >= head_end + 4 + strtoul(length + 18, NULL, 10);
}

/* Returns the status of the reply; 0: the connection was closed without a reply. */
static inline int await(void)
{
	const uint64_t end_ns = clock_now().mono_ns + DEADLINE_NS;

	while (!answer_complete() && !client.closed && clock_now().mono_ns < end_ns) {
		step();
		receive();
	}
	return answer_complete() ? atoi(client.answer + strlen("HTTP/1.1 ")) : 0;
}

/* Sends one request on a new connection and closes it. */
static inline int request(const char *text)
{
	int status;

	open_client();
	send_text(text);
	status = await();
	close(client.fd);
	return status;
}

/* Sends a POST on a new connection, which stays open. */
static inline void post(const char *target, const char *body)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		 "Content-Length: %zu\r\n\r\n%s",
		 target, strlen(body), body);
	open_client();
	send_text(text);
}

/* Runs the loop until @n changes wait to be saved. */
static inline void await_change(void)
{
	const uint64_t end_ns = clock_now().mono_ns + DEADLINE_NS;

	while (!change_in_progress(manager) && clock_now().mono_ns < end_ns)
		step();
	assert_true(change_in_progress(manager));
}

static inline void run_for(int turns)
{
	for (int i = 0; i < turns; i++)
		step();
}

#endif
