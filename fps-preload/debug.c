/* SPDX-License-Identifier: MIT */
/* Writes debug lines directly to stderr, without the stdio buffers of the host program. */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "fps-preload/debug.h"

static bool enabled; /* written by the constructor, constant afterwards */

void debug_enable(bool on)
{
	enabled = on;
}

void debug_log(const char *format, ...)
{
	char line[256];
	int head, length;
	va_list ap;

	if (!enabled)
		return;
	head = snprintf(line, sizeof(line), "gover-fps[%d]: ", (int)getpid());
	va_start(ap, format);
	length = head + vsnprintf(line + head, sizeof(line) - (size_t)head - 1, format, ap);
	va_end(ap);
	if (length > (int)sizeof(line) - 2)
		length = (int)sizeof(line) - 2;
	line[length++] = '\n';
	if (write(STDERR_FILENO, line, (size_t)length) < 0)
		return; /* stderr is closed */
}
