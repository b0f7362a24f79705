/* SPDX-License-Identifier: MIT */
/*
 * A hub under test with a fake clock, and programs that send correct or wrong reports to the hub.
 */
#ifndef TESTS_UNIT_MONITOR_FPS_TEST_FPS_H
#define TESTS_UNIT_MONITOR_FPS_TEST_FPS_H
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "monitor/fps/fps.h"
#include "tests/unit/unit.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static struct instant fake_now;
static char folder[] = "/tmp/gover-test-fps.XXXXXX", path[64];
static struct fps_hub *hub;
static const char *owner; /* vGPU of every process; NULL: no vGPU */
static int asked;
static pid_t asked_pid;			 /* argument of the last call of owner_of() */
static void (*during_lookup)(pid_t pid); /* called by owner_of(); NULL: nothing */

/* Replaces the function of base/clock.c. */
struct instant clock_now(void)
{
	return fake_now;
}

static inline void pass(double s)
{
	fake_now.mono_ns += (uint64_t)(s * 1e9);
}

static inline int owner_of(void *userdata, pid_t pid, char ret_id[ID_MAX])
{
	(void)userdata;
	assert_true(pid >= 0);
	asked++;
	asked_pid = pid;
	if (during_lookup)
		during_lookup(pid);
	return owner ? id_copy(ret_id, owner) : -ENOENT;
}

static inline int setup(void)
{
	struct err err;

	fake_now.mono_ns = 1000 * NS_PER_S;
	owner = "a";
	asked = 0;
	during_lookup = NULL;
	strcpy(strrchr(folder, '.'), ".XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/fps.sock", folder);
	return fps_hub_new(path, owner_of, NULL, &hub, &err);
}

static inline int teardown(void)
{
	hub = fps_hub_free(hub);
	return rmdir(folder); /* fails if the hub has left its socket there */
}

static inline struct fps_hub_stats stats(void)
{
	struct fps_hub_stats now;

	fps_hub_stats(hub, &now);
	return now;
}

static inline uint64_t frames_of(const char *id)
{
	const struct fps_totals *totals = fps_hub_totals(hub, id);

	return totals ? totals->frames : 0;
}

/* Lets the hub read all pages. Returns the frames of vGPU @id so far. */
static inline uint64_t collect(const char *id)
{
	fps_hub_collect(hub);
	return frames_of(id);
}

/* Lets the hub handle all pending events. */
static inline void pump(void)
{
	struct pollfd readable = {.fd = fps_hub_fd(hub), .events = POLLIN};

	for (int i = 0; i < 10000 && poll(&readable, 1, 0) > 0; i++)
		fps_hub_dispatch(hub);
	assert_int_equal(poll(&readable, 1, 0), 0);
}

/* Lets @s pass until the next tick of the hub. */
static inline void tick(double s)
{
	pass(s);
	fps_hub_collect(hub);
}

static inline int make_memfd(off_t size, int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	assert_true(seals == 0 || fcntl(fd, F_ADD_SEALS, seals) == 0);
	return fd;
}

struct program {
	int sock, memfd;
	struct fps_page *page;
};

static inline struct program program_new(void)
{
	struct program p = {.sock = -1, .memfd = make_memfd(FPS_WIRE_PAGE_SIZE, SEALS)};

	p.page = mmap(NULL, FPS_WIRE_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, p.memfd, 0);
	assert_ptr_not_equal(p.page, MAP_FAILED);
	p.page->magic = FPS_WIRE_MAGIC;
	p.page->version = FPS_WIRE_VERSION;
	p.page->lanes = 1;
	p.page->first_ns = fake_now.mono_ns;
	return p;
}

static inline int connect_only(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	strcpy(address.sun_path, path);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static const struct fps_hello good_hello = {
	.magic = FPS_WIRE_MAGIC,
	.version = FPS_WIRE_VERSION,
	.page_bytes = FPS_WIRE_PAGE_SIZE,
	.pid = 1,
};

static inline void send_hello(int sock, const void *hello, size_t length, const int *fds,
			      size_t n_fds)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(4 * sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)hello, .iov_len = length};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};

	if (n_fds > 0) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, n_fds * sizeof(int));
	}
	assert_int_equal(sendmsg(sock, &message, 0), (ssize_t)length);
}

static inline void program_connect(struct program *p)
{
	p->sock = connect_only();
	send_hello(p->sock, &good_hello, sizeof(good_hello), &p->memfd, 1);
}

/* Connects the program, and lets the hub accept it. */
static inline void program_join(struct program *p)
{
	program_connect(p);
	pump();
}

static inline void program_draw(struct program *p, uint64_t frames)
{
	p->page->lane[0].frames += frames;
	p->page->lane[0].frame_time[20] += (uint32_t)frames;
	p->page->lane[0].last_ns = fake_now.mono_ns;
}

static inline void program_end(struct program *p)
{
	if (p->sock >= 0)
		assert_int_equal(close(p->sock), 0);
	assert_int_equal(close(p->memfd), 0);
	assert_int_equal(munmap(p->page, FPS_WIRE_PAGE_SIZE), 0);
}

/* Ends the program, and lets the hub notice it. */
static inline void program_leave(struct program *p)
{
	program_end(p);
	pump();
}

static inline int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	assert_int_equal(closedir(dir), 0);
	return n;
}

#endif
