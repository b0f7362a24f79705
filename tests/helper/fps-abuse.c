/* SPDX-License-Identifier: MIT */
/*
 * fps-abuse SOCKET HOW [ARGUMENT...]: a program that abuses the socket for frame reports, until a
 * signal ends it.
 *
 * crowd N: opens N connections, each with a page, and opens the refused ones again every 0.1 s.
 * flood: connects and disconnects at full speed.
 * outlive PROCS_A PROCS_B: a child joins the control group of PROCS_A (a file cgroup.procs),
 * connects and reports frames. After a line on stdin the child exits, but its connection stays
 * open. Another process with the same pid joins the control group of PROCS_B. Then frames are added
 * to the page of the first process. Exits with 77 if no process can get a chosen pid.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/sched.h>

#include "fps-preload/wire.h"

#define CROWD_MAX 100000

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static int memfd;
static struct fps_page *page;

_Noreturn static void fail(const char *what)
{
	fprintf(stderr, "fps-abuse: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void make_page(void)
{
	struct timespec now;

	memfd = memfd_create("fps-abuse", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (memfd < 0 || ftruncate(memfd, FPS_WIRE_PAGE_SIZE) < 0 ||
	    fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		fail("memfd");
	page = mmap(NULL, FPS_WIRE_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	if (page == MAP_FAILED)
		fail("mmap");
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	page->magic = FPS_WIRE_MAGIC;
	page->version = FPS_WIRE_VERSION;
	page->lanes = 1;
	page->first_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void draw(unsigned int frames)
{
	struct fps_lane *lane = &page->lane[0];

	__atomic_fetch_add(&lane->frame_time[20], frames, __ATOMIC_RELAXED);
	__atomic_fetch_add(&lane->frames, frames, __ATOMIC_RELAXED);
}

static int make_socket(void)
{
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (sock < 0)
		fail("socket");
	return sock;
}

/* Connects @sock and sends the page. Returns 0 or a negative errno. */
static int report_over(int sock)
{
	struct fps_hello hello = {
		.magic = FPS_WIRE_MAGIC,
		.version = FPS_WIRE_VERSION,
		.page_bytes = FPS_WIRE_PAGE_SIZE,
		.pid = (uint32_t)getpid(),
	};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.header = {.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS,
				.cmsg_len = CMSG_LEN(sizeof(int))}};
	struct iovec iov = {.iov_base = &hello, .iov_len = sizeof(hello)};
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.bytes),
	};

	memcpy(CMSG_DATA(&control.header), &memfd, sizeof(int));
	if (connect(sock, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    sendmsg(sock, &message, MSG_NOSIGNAL) < 0)
		return -errno;
	return 0;
}

static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		fail("getrlimit");
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* Opens the connection again if it was closed by the daemon. */
static void keep_open(int *sock)
{
	char bytes[64];
	ssize_t n = 0;

	while (*sock >= 0 && (n = recv(*sock, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		; /* a limit */
	if (*sock >= 0 && n < 0 && errno == EAGAIN)
		return;
	if (*sock >= 0)
		(void)close(*sock);
	*sock = make_socket();
	if (report_over(*sock) == 0)
		return;
	(void)close(*sock);
	*sock = -1;
}

_Noreturn static void crowd(long n)
{
	static int socks[CROWD_MAX];

	raise_file_limit();
	memset(socks, -1, sizeof(socks));
	for (;;) {
		for (long i = 0; i < n; i++)
			keep_open(&socks[i]);
		(void)poll(NULL, 0, 100);
	}
}

_Noreturn static void flood(void)
{
	for (;;) {
		int sock = make_socket();

		(void)connect(sock, (const struct sockaddr *)&address, sizeof(address));
		(void)close(sock);
	}
}

/* Moves this process to a control group. */
static void join(const char *procs)
{
	int fd = open(procs, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "0", 1) != 1)
		fail(procs);
	(void)close(fd);
}

_Noreturn static void wait_for_end(void)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		(void)pause();
}

/* Starts a process with the id @pid in a control group. */
static void reuse(pid_t pid, const char *procs)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (uint64_t)(uintptr_t)&pid,
		.set_tid_size = 1,
	};
	long child = syscall(SYS_clone3, &args, sizeof(args));

	if (child == 0) {
		join(procs);
		puts("reused");
		(void)fflush(stdout);
		wait_for_end();
	}
	if (child < 0) {
		fprintf(stderr, "fps-abuse: no process can get pid %d: %s\n", (int)pid,
			strerror(errno));
		exit(77);
	}
}

_Noreturn static void outlive(const char *procs_a, const char *procs_b)
{
	int sock = make_socket();
	pid_t child = fork();

	if (child < 0)
		fail("fork");
	if (child == 0) {
		join(procs_a);
		if (report_over(sock) < 0)
			fail(address.sun_path);
		draw(100);
		puts("connected");
		(void)fflush(stdout);
		wait_for_end();
	}
	(void)getchar();
	(void)kill(child, SIGKILL);
	if (waitpid(child, NULL, 0) != child)
		fail("waitpid");
	reuse(child, procs_b);
	for (;;) {
		draw(10);
		(void)poll(NULL, 0, 20);
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	long n = argc == 4 ? strtol(argv[3], NULL, 10) : 0;

	if (argc > 1)
		(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", argv[1]);
	make_page();
	if (strcmp(how, "crowd") == 0 && n > 0 && n <= CROWD_MAX)
		crowd(n);
	if (strcmp(how, "flood") == 0 && argc == 3)
		flood();
	if (strcmp(how, "outlive") == 0 && argc == 5)
		outlive(argv[3], argv[4]);
	fprintf(stderr, "usage: fps-abuse SOCKET crowd N|flood|outlive PROCS_A PROCS_B\n");
	return 2;
}
