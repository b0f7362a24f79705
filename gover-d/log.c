/* SPDX-License-Identifier: MIT */
/* The daemon's log. Must never fail its caller: a log that cannot be written is lost in silence. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "gover-d/log.h"

void log_line(const char *priority, const char *format, ...)
{
	int saved = errno;
	char line[2048];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	fprintf(stderr, "%s%s\n", getenv("JOURNAL_STREAM") ? priority : "gover-d: ", line);
	errno = saved;
}
