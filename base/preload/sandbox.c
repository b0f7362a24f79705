/* SPDX-License-Identifier: MIT */
/* Reads the number of seccomp filters in status files of threads: see sandbox.h. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/preload/owned-fd.h"
#include "base/preload/sandbox.h"

#define OF_THREAD      "/proc/thread-self/status"
#define OF_LEADER      "/proc/self/status" /* of the first thread of the process */
#define ADOPTION_TRIES 1000000		   /* of a thread whose sibling adopts the child */
#define UNCOUNTED      UINT32_MAX	   /* filters are in force, their number is not known */

/* Written by sandbox_start(), constant afterwards. */
static void (*log_last)(const char *why, const char *detail);
static uint32_t trusted; /* number of filters that end no program */
/* In memory that the kernel clears in a forked child (MADV_WIPEONFORK). */
static struct {
	bool ready; /* the descriptors are those of this process, not of its parent */
	bool adopting;
} * own;
static pthread_key_t exit_key;
static bool has_exit_key;

static bool closed = true; /* no system calls in this process any more */
/* A descriptor was still open after the constructor: the program does not close all at its start.
 */
static bool proven;
/* Answers for threads without a descriptor. A filter for the whole process includes this thread. */
static struct owned_fd leader = {.fd = -1};
static __thread __attribute__((tls_model("initial-exec"))) struct owned_fd mine = {.fd = -1};

/* The lines of a status file, of which only the beginnings are kept. */
struct scan {
	char line[32];
	size_t n;
	bool named; /* the file has the first line of a status file */
	bool complete;
	uint32_t mode, filters;
};

static bool starts(const char *line, const char *key, uint32_t *ret_number)
{
	size_t length = strlen(key);

	if (strncmp(line, key, length) != 0)
		return false;
	*ret_number = (uint32_t)strtoul(line + length, NULL, 10);
	return true;
}

static void scan_line(struct scan *scan)
{
	scan->line[scan->n] = '\0';
	scan->n = 0;
	scan->named |= strncmp(scan->line, "Name:\t", 6) == 0;
	if (starts(scan->line, "Seccomp:\t", &scan->mode))
		scan->complete = scan->mode == 0;
	else if (starts(scan->line, "Seccomp_filters:\t", &scan->filters))
		scan->complete = true;
}

/*
 * Reads a status file. @first: from its beginning with read(), which the loader has used as well.
 * Returns 0 and the number of filters, -ESRCH if the thread has ended, -EBADF if @fd is no status
 * file any more, or another negative errno.
 */
static int read_filters(int fd, bool first, uint32_t *ret_filters)
{
	struct scan scan = {.filters = UNCOUNTED};
	char bytes[2048];
	off_t at = 0;
	ssize_t n = 0;

	while (!scan.complete && (n = first ? read(fd, bytes, sizeof(bytes))
					    : pread(fd, bytes, sizeof(bytes), at)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			if (bytes[i] == '\n')
				scan_line(&scan);
			else if (scan.n < sizeof(scan.line) - 1)
				scan.line[scan.n++] = bytes[i];
		at += n;
		if (!scan.named)
			return -EBADF;
	}
	if (n < 0)
		return errno == ESPIPE ? -EBADF : -errno;
	if (!scan.named)
		return -EBADF;
	/* A kernel without seccomp has neither line. */
	*ret_filters = scan.mode == 0 ? 0 : scan.filters;
	return 0;
}

static int check(int fd, bool first)
{
	uint32_t filters = UNCOUNTED;
	int r = read_filters(fd, first, &filters);

	if (r < 0)
		return r;
	return filters <= trusted && filters != UNCOUNTED ? 0 : -EPERM;
}

/* Makes no other calls than open() and read() before the file shows no filter. */
static int open_status(const char *path, struct owned_fd *ret_status)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	r = check(fd, /* first= */ true);
	if (r == 0)
		return owned_fd_take(fd, ret_status);
	/* Later than the loader, close() would be a further call under a filter. */
	if (r != -EPERM || !own)
		(void)close(fd);
	return r;
}

static int open_mine(void)
{
	int r = open_status(OF_THREAD, &mine);

	if (r == 0 && has_exit_key)
		(void)pthread_setspecific(exit_key, &mine);
	return r;
}

/*
 * In a forked child, the inherited descriptors belong to the parent. It had the filters of the
 * child when it forked. If it has ended, only open() can answer. Returns -EAGAIN while another
 * thread of the child does the same.
 */
static int adopt_child(void)
{
	struct owned_fd of_parent[] = {mine, leader};
	int r;

	if (__atomic_exchange_n(&own->adopting, true, __ATOMIC_ACQUIRE))
		return -EAGAIN;
	r = check(mine.fd >= 0 ? mine.fd : leader.fd, /* first= */ false);
	if (r < 0 && r != -ESRCH && !(r == -EBADF && proven))
		return r;
	r = open_mine();
	if (r == 0)
		r = open_status(OF_LEADER, &leader);
	if (r < 0)
		return r;
	owned_fd_close(&of_parent[0]);
	owned_fd_close(&of_parent[1]);
	__atomic_store_n(&own->ready, true, __ATOMIC_RELEASE);
	return 0;
}

static int check_thread(void)
{
	int r;

	if (!__atomic_load_n(&own->ready, __ATOMIC_ACQUIRE))
		return adopt_child();
	r = check(mine.fd >= 0 ? mine.fd : leader.fd, /* first= */ false);
	if (r == 0)
		__atomic_store_n(&proven, true, __ATOMIC_RELAXED);
	if (r == 0 && mine.fd >= 0)
		return 0;
	/* @leader: of a first thread that has ended, or the program has closed the descriptor. */
	if (r == 0 || r == -ESRCH || (r == -EBADF && __atomic_load_n(&proven, __ATOMIC_RELAXED)))
		return open_mine();
	return r;
}

static void stay_out(int error)
{
	__atomic_store_n(&closed, true, __ATOMIC_RELAXED);
	log_last(error == -EPERM ? "a seccomp filter is in force"
				 : "it is not known whether a seccomp filter is in force",
		 error == -EPERM ? "see GOVER_SANDBOX" : strerrordesc_np(-error));
}

bool sandbox_allows_calls(void)
{
	int saved_errno = errno, cancel_state, r;

	if (__atomic_load_n(&closed, __ATOMIC_RELAXED))
		return false;
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	for (int tries = 0; (r = check_thread()) == -EAGAIN && tries < ADOPTION_TRIES; tries++)
		if (__atomic_load_n(&closed, __ATOMIC_RELAXED))
			break;
	if (r < 0 && r != -EAGAIN)
		stay_out(r);
	(void)pthread_setcancelstate(cancel_state, NULL);
	errno = saved_errno;
	return r == 0;
}

static void thread_exits(void *status)
{
	if (sandbox_allows_calls())
		owned_fd_close(status);
}

/* At this time, the filters of the child are still those of the parent. */
static void after_fork(void)
{
	(void)sandbox_allows_calls();
}

static int start(void)
{
	const char *trust = getenv("GOVER_SANDBOX");
	size_t size;
	int r;

	trusted = trust && strcmp(trust, "errno") == 0 ? UNCOUNTED - 1 : 0;
	r = open_status(OF_THREAD, &mine);
	if (r == 0)
		r = open_status(OF_LEADER, &leader);
	if (r == 0 && trusted > 0)
		r = read_filters(mine.fd, /* first= */ false, &trusted);
	if (r < 0)
		return r;
	size = (size_t)sysconf(_SC_PAGESIZE);
	own = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (own == MAP_FAILED || madvise(own, size, MADV_WIPEONFORK) < 0)
		return -errno;
	own->ready = true;
	has_exit_key = pthread_key_create(&exit_key, thread_exits) == 0;
	(void)pthread_atfork(/* prepare= */ NULL, /* parent= */ NULL, after_fork);
	return 0;
}

bool sandbox_start(void (*log_end)(const char *why, const char *detail))
{
	static bool started;
	int saved_errno = errno, r;

	if (!started) {
		started = true;
		log_last = log_end;
		r = start();
		if (r < 0)
			stay_out(r);
		else
			closed = false;
	}
	errno = saved_errno;
	return !__atomic_load_n(&closed, __ATOMIC_RELAXED);
}
