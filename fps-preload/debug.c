/* SPDX-License-Identifier: MIT */
/* Debug lines. Must never print unasked, allocate, or go through the host program's stdio. */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "fps-preload/debug.h"

static bool enabled; /* written by the constructor, constant after it */

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
		return; /* nobody to tell */
}
