/* SPDX-License-Identifier: MIT */
/*
 * A library for LD_PRELOAD that shifts the clocks of a program. The file named by the environment
 * variable CLOCK_SHIFT contains one or two numbers: the seconds that are added to CLOCK_REALTIME,
 * and the seconds that are added to CLOCK_BOOTTIME. A suspended host is simulated by the same
 * number for both. CLOCK_MONOTONIC is never shifted. A program may write the file at any time:
 * while the file is missing or empty, the last shift stays in force. Timers of the kernel are not
 * shifted. If CLOCK_FIXED is set, CLOCK_REALTIME is always this number of seconds.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static _Atomic long long real_s, boot_s; /* the shift in force */

/* Reads the file. Leaves errno unchanged, because the wrapped functions do so. */
static void read_shift(void)
{
	const char *path = getenv("CLOCK_SHIFT");
	int errnum = errno, fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	char text[64], *end;
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;

	if (n > 0) {
		text[n] = '\0';
		real_s = strtoll(text, &end, 10);
		boot_s = strtoll(end, NULL, 10);
	}
	if (fd >= 0)
		(void)close(fd);
	errno = errnum;
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	const char *fixed = getenv("CLOCK_FIXED");
	int r = (int)syscall(SYS_clock_gettime, clock, ts);

	if (r < 0)
		return r;
	read_shift();
	if (fixed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		*ts = (struct timespec){.tv_sec = strtoll(fixed, NULL, 10)};
	else if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
		ts->tv_sec += real_s;
	else if (clock == CLOCK_BOOTTIME)
		ts->tv_sec += boot_s;
	return 0;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	*tv = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
	return 0;
}

time_t time(time_t *ret_s)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (ret_s)
		*ret_s = now.tv_sec;
	return now.tv_sec;
}
