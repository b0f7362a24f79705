/* SPDX-License-Identifier: MIT */
/*
 * A hostile client of the arbiter: writes random words in its page and rings the bell at random.
 *   cl-scribble client SOCKET SEED MS   connects, scribbles for MS ms, and keeps the connection
 *   cl-scribble page PATH SEED MS       scribbles in the page of another program, /proc/PID/fd/N
 * Prints "ready" before the first word and "done" after the last one. The mode client then waits
 * until it is killed. scribble.h describes the words.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "compute/channel/memfd.h"
#include "compute/channel/message.h"
#include "tests/helper/scribble.h"

#define WELCOME_MS    20000
#define PAUSE_MAX_US  200
#define WORDS_AT_ONCE 8

static struct scribble words;
static int bell = -1;

static void fail(const char *what)
{
	fprintf(stderr, "cl-scribble: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void ring(void)
{
	uint64_t one = 1;

	if (bell >= 0)
		(void)!write(bell, &one, sizeof(one));
}

static void run(struct compute_page *page, uint64_t ms)
{
	uint64_t end_ns = clock_now().mono_ns + ms * 1000000;

	puts("ready");
	(void)fflush(stdout);
	do {
		for (uint64_t n = scribble_random(&words) % WORDS_AT_ONCE + 1; n > 0; n--)
			scribble_word(&words, page, clock_now().mono_ns);
		if (scribble_random(&words) % 4 == 0)
			ring();
		if (scribble_random(&words) % 2)
			(void)usleep((useconds_t)(scribble_random(&words) % PAUSE_MAX_US));
	} while (clock_now().mono_ns < end_ns);
	puts("done");
	(void)fflush(stdout);
}

/* Connects and returns the page. The connection stays open until the process ends. */
static struct compute_page *connect_as_client(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), page_fd = -1, n;
	int fds[COMPUTE_TRANSFER_FDS_MAX];
	struct pollfd answer = {.fd = sock, .events = POLLIN};
	struct compute_welcome welcome;
	struct compute_hello hello;
	struct compute_page *page;
	unsigned int n_fds = 0;

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (connect(sock, (const struct sockaddr *)&address, sizeof(address)) < 0)
		fail(path);
	errno = -compute_memfd_create_page(&page_fd, &page);
	if (errno != 0)
		fail("page");
	compute_message_make_hello("cl-scribble", (uint32_t)getpid(), &hello);
	errno = -compute_transfer_send(sock, &hello, sizeof(hello), &page_fd, COMPUTE_HELLO_FDS);
	if (errno != 0)
		fail("hello");
	if (poll(&answer, 1, WELCOME_MS) != 1)
		fail("no welcome");
	n = compute_transfer_receive(sock, &welcome, sizeof(welcome), fds, &n_fds);
	if (n <= 0 || compute_message_parse_welcome(&welcome, (size_t)n, n_fds, &welcome) < 0)
		fail("welcome");
	bell = fds[1];
	return page;
}

static struct compute_page *map_page(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *page;

	if (fd < 0)
		fail(path);
	page = mmap(NULL, COMPUTE_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		fail("mmap");
	(void)close(fd);
	return page;
}

int main(int argc, char **argv)
{
	bool client = argc == 5 && strcmp(argv[1], "client") == 0;

	if (!client && !(argc == 5 && strcmp(argv[1], "page") == 0)) {
		fputs("usage: cl-scribble client SOCKET SEED MS | page PATH SEED MS\n", stderr);
		return 2;
	}
	words.random = strtoull(argv[3], NULL, 10) * 2 + 1;
	run(client ? connect_as_client(argv[2]) : map_page(argv[2]), strtoull(argv[4], NULL, 10));
	while (client)
		(void)pause();
	return 0;
}
