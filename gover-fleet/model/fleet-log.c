/* SPDX-License-Identifier: MIT */
/* A line is one write() of at most PIPE_BUF bytes, so that lines of several threads do not mix. */
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "gover-fleet/model/fleet-log.h"

void fleet_log_line(const char *priority, const char *format, ...)
{
	struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
	const char *prefix = getenv("JOURNAL_STREAM") ? priority : "gover-fleet: ";
	char text[1800], line[2048];
	va_list ap;
	int n;

	_Static_assert(sizeof(line) <= PIPE_BUF, "a writable pipe has room for a line");
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	text_mask_controls(text);
	n = snprintf(line, sizeof(line), "%s%s\n", prefix, text);
	if (poll(&out, 1, 0) != 0)
		(void)!write(STDERR_FILENO, line, (size_t)n);
}
