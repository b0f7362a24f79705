/* SPDX-License-Identifier: MIT */
/*
 * The client of bench-rest: bench-rest SOCKET PATH RATE SECONDS asks for PATH on one connection
 * that is kept, RATE times a second (0: as fast as it is answered), and prints one line: answers a
 * second, p50, p99 and the longest in us. Every answer must be 200.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parse.h"

#define ANSWER_MAX (16 * 1024 * 1024)
#define TIMES_MAX  4000000

static char answer[ANSWER_MAX];
static double times_us[TIMES_MAX];

static int fail(const char *what)
{
	fprintf(stderr, "bench-rest: %s: %s\n", what, errno ? strerror(errno) : "not as it should");
	return -1;
}

static int connect_to(const char *path)
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

/* Where the answer that is being read ends; 0: not known yet. */
static size_t answer_size(size_t length)
{
	const char *body, *announced;

	answer[length] = '\0';
	body = strstr(answer, "\r\n\r\n");
	announced = strcasestr(answer, "\r\nContent-Length: ");
	if (!body || !announced || announced > body)
		return 0;
	return (size_t)(body + 4 - answer) + strtoul(announced + 18, NULL, 10);
}

static int ask(int fd, const char *request)
{
	size_t length = 0, size = 0;

	errno = 0;
	if (send(fd, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request))
		return fail("send");
	while (size == 0 || length < size) {
		ssize_t n = recv(fd, answer + length, sizeof(answer) - 1 - length, 0);

		if (n <= 0)
			return fail("receive");
		length += (size_t)n;
		if (size == 0)
			size = answer_size(length);
	}
	return strncmp(answer, "HTTP/1.1 200", 12) == 0 ? 0 : fail("answer");
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

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Returns the number of answers, or -1. */
static long measure(int fd, const char *request, int64_t rate, int64_t seconds)
{
	const uint64_t begin_ns = clock_now().mono_ns;
	const uint64_t end_ns = begin_ns + (uint64_t)seconds * NS_PER_S;
	uint64_t at_ns = begin_ns;
	long n = 0;

	while (at_ns < end_ns && n < TIMES_MAX) {
		uint64_t sent_ns;

		if (rate) {
			at_ns = begin_ns + (uint64_t)n * NS_PER_S / (uint64_t)rate;
			sleep_until(at_ns);
		}
		sent_ns = clock_now().mono_ns;
		if (ask(fd, request) < 0)
			return -1;
		if (!rate)
			at_ns = clock_now().mono_ns;
		times_us[n++] = (double)(clock_now().mono_ns - sent_ns) / 1000;
	}
	return n;
}

int main(int argc, char **argv)
{
	int64_t rate, seconds;
	char request[256];
	long n;
	int fd;

	if (argc != 5 || parse_int(argv[3], 0, 1000000, &rate) < 0 ||
	    parse_int(argv[4], 1, 3600, &seconds) < 0) {
		fputs("usage: bench-rest SOCKET PATH RATE SECONDS\n", stderr);
		return 2;
	}
	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: gover\r\n\r\n", argv[2]);
	fd = connect_to(argv[1]);
	if (fd < 0)
		return 1;
	n = measure(fd, request, rate, seconds);
	close(fd);
	if (n <= 0)
		return 1;
	qsort(times_us, (size_t)n, sizeof(times_us[0]), by_size);
	printf("%8.0f %8.0f %8.0f %8.0f\n", (double)n / (double)seconds, times_us[n / 2],
	       times_us[n * 99 / 100], times_us[n - 1]);
	return 0;
}
