/* SPDX-License-Identifier: MIT */
/*
 * The daemon's log. Must never fail its caller nor make it wait: a line that nobody takes now is
 * lost, and how many were is said with the next that can be written.
 *
 * Standard error is often shared, with the shell that started us or with other programs in a pipe,
 * and O_NONBLOCK would be set for all of them. So a pipe or socket is asked each time whether it
 * takes a line: one that is ready has a page free, and a line is shorter. A terminal may be ready
 * and yet have room for half a line only: it is opened once more, non-blocking, for us alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "gover-d/log.h"

#define LINE_SIZE 2048

static unsigned long lost; /* lines since the last that was written */

/* A file always does, and a pipe that nobody has open to read says so by an error. */
static bool takes_a_line(void)
{
	struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};

	return poll(&out, 1, 0) != 0;
}

/* One write, so that lines of several programs do not mix. */
static bool put(const char *text, size_t length)
{
	CLEANUP_CLOSE int terminal = -1;

	if (!takes_a_line())
		return false;
	if (isatty(STDERR_FILENO))
		terminal = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return write(terminal >= 0 ? terminal : STDERR_FILENO, text, length) > 0;
}

void log_line(const char *priority, const char *format, ...)
{
	const char *prefix = getenv("JOURNAL_STREAM") ? priority : "gover-d: ";
	int saved = errno, n = 0;
	char line[LINE_SIZE], text[LINE_SIZE + 128];
	va_list ap;

	_Static_assert(sizeof(text) <= PIPE_BUF, "what is written at once fits a ready pipe");
	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	if (lost)
		n = snprintf(text, sizeof(text), "%s%lu lines of this log could not be written\n",
			     prefix, lost);
	n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%s\n", prefix, line);
	if (put(text, (size_t)n))
		lost = 0;
	else
		lost++;
	errno = saved;
}
