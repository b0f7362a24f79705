/* SPDX-License-Identifier: MIT */
/*
 * The client of bench-rest. Arguments: ADDRESS PATH RATE CONNECTIONS SECONDS. ADDRESS is
 * the path of a unix socket, or IPv4:PORT. The client
 * requests PATH at RATE requests per second, using its persistent connections in turn. With RATE 0
 * all connections send requests without pauses. The client prints one line: answers per second,
 * p50, p99 and maximum latency in us, and the bytes of an answer. An answer with a status other
 * than 200 is an error.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parse.h"
#include "tests/bench/figures.h"

#define ANSWER_MAX	(1024 * 1024)
#define CONNECTIONS_MAX 256
#define TIMES_MAX	4000000

struct connection {
	int fd;
	size_t length; /* bytes received */
	size_t size;   /* bytes of the whole answer; 0: not known yet */
	uint64_t sent_ns;
	char answer[ANSWER_MAX];
};

static struct connection connections[CONNECTIONS_MAX];
static int n_connections;
static char request[256];
static double times_us[TIMES_MAX];
static long n_times;
static size_t answer_bytes; /* maximum */

static int fail(const char *what)
{
	fprintf(stderr, "bench-rest: %s: %s\n", what, errno ? strerror(errno) : "not valid");
	return -1;
}

static int connect_unix(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || strlen(path) >= sizeof(address.sun_path))
		return fail(path);
	strcpy(address.sun_path, path);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return fail(path);
	return fd;
}

static int connect_tcp(const char *text)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	const char *colon = strchr(text, ':');
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	char host[64];
	int64_t port;

	errno = 0;
	if (!colon || parse_int(colon + 1, 1, 65535, &port) < 0)
		return fail(text);
	snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
	address.sin_port = htons((uint16_t)port);
	if (inet_pton(AF_INET, host, &address.sin_addr) != 1 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return fail(text);
	return fd;
}

/* Returns the size in bytes of the answer that @c receives. 0: not known yet. */
static size_t answer_size(struct connection *c)
{
	const char *body, *announced;

	c->answer[c->length] = '\0';
	body = strstr(c->answer, "\r\n\r\n");
	if (!body)
		return 0;
	announced = strcasestr(c->answer, "\r\nContent-Length: ");
	if (announced && announced < body)
		return (size_t)(body + 4 - c->answer) + strtoul(announced + 18, NULL, 10);
	/* An empty last chunk ends a chunked answer. */
	return strcmp(c->answer + c->length - 5, "0\r\n\r\n") == 0 ? c->length : 0;
}

static int ask(struct connection *c)
{
	errno = 0;
	c->length = c->size = 0;
	c->sent_ns = clock_now().mono_ns;
	if (send(c->fd, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request))
		return fail("send");
	return 0;
}

/*
 * Receives a part of an answer. If the answer is complete, records the latency and returns 1,
 * otherwise returns 0.
 */
static int receive(struct connection *c, int flags)
{
	ssize_t n = recv(c->fd, c->answer + c->length, sizeof(c->answer) - 1 - c->length, flags);

	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n <= 0)
		return fail("receive");
	c->length += (size_t)n;
	if (c->size == 0)
		c->size = answer_size(c);
	if (c->size == 0 || c->length < c->size)
		return 0;
	if (strncmp(c->answer, "HTTP/1.1 200", 12) != 0)
		return fail("answer");
	if (c->size > answer_bytes)
		answer_bytes = c->size;
	if (n_times < TIMES_MAX)
		times_us[n_times++] = (double)(clock_now().mono_ns - c->sent_ns) / 1000;
	return 1;
}

static void sleep_until(uint64_t mono_ns)
{
	const struct timespec at = {
		.tv_sec = (time_t)(mono_ns / NS_PER_S),
		.tv_nsec = (long)(mono_ns % NS_PER_S),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

/* Sends @rate requests per second, and waits for each answer. */
static int measure_paced(int64_t rate, int64_t seconds)
{
	const uint64_t begin_ns = clock_now().mono_ns;

	for (int64_t i = 0; i < rate * seconds; i++) {
		struct connection *c = &connections[i % n_connections];
		int r;

		sleep_until(begin_ns + (uint64_t)i * NS_PER_S / (uint64_t)rate);
		r = ask(c);
		while (r == 0)
			r = receive(c, 0);
		if (r < 0)
			return r;
	}
	return 0;
}

static int serve_ready(int epoll)
{
	struct epoll_event ready[CONNECTIONS_MAX];
	int n = epoll_wait(epoll, ready, CONNECTIONS_MAX, 1000);

	for (int i = 0; i < n; i++) {
		struct connection *c = ready[i].data.ptr;
		int r = receive(c, MSG_DONTWAIT);

		if (r > 0)
			r = ask(c);
		if (r < 0)
			return r;
	}
	return 0;
}

static int measure_most(int64_t seconds)
{
	const uint64_t end_ns = clock_now().mono_ns + (uint64_t)seconds * NS_PER_S;
	int epoll = epoll_create1(EPOLL_CLOEXEC), r = 0;

	for (int i = 0; i < n_connections && r == 0; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.ptr = &connections[i]};

		if (epoll_ctl(epoll, EPOLL_CTL_ADD, connections[i].fd, &event) < 0)
			return fail("epoll");
		r = ask(&connections[i]);
	}
	while (r == 0 && clock_now().mono_ns < end_ns)
		r = serve_ready(epoll);
	return r;
}

static int connect_all(const char *address, int64_t n)
{
	for (n_connections = 0; n_connections < n; n_connections++) {
		int fd = address[0] == '/' ? connect_unix(address) : connect_tcp(address);

		if (fd < 0)
			return fd;
		connections[n_connections].fd = fd;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int64_t rate, seconds, n;

	if (argc != 6 || parse_int(argv[3], 0, 1000000, &rate) < 0 ||
	    parse_int(argv[4], 1, CONNECTIONS_MAX, &n) < 0 ||
	    parse_int(argv[5], 1, 3600, &seconds) < 0) {
		fputs("usage: bench-rest ADDRESS PATH RATE CONNECTIONS SECONDS\n", stderr);
		return 2;
	}
	/* By default the kernel may end a sleep 50 us late. */
	(void)prctl(PR_SET_TIMERSLACK, 1UL);
	/* Over TCP the daemon accepts only requests with its own address as Host. */
	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", argv[2],
		 argv[1][0] == '/' ? "gover" : argv[1]);
	if (connect_all(argv[1], n) < 0 ||
	    (rate ? measure_paced(rate, seconds) : measure_most(seconds)) < 0 || n_times == 0)
		return 1;
	qsort(times_us, (size_t)n_times, sizeof(times_us[0]), figures_compare);
	printf("%8.0f %8.0f %8.0f %8.0f %8zu\n", (double)n_times / (double)seconds,
	       times_us[n_times / 2], times_us[n_times * 99 / 100], times_us[n_times - 1],
	       answer_bytes);
	return 0;
}
