/* SPDX-License-Identifier: MIT */
/* Writes debug lines directly to stderr, without the stdio buffers of the host program. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/preload/debug.h"
#include "base/preload/sandbox.h"

static const char *debug_library; /* written before the first line, then constant; NULL: off */

void debug_enable(const char *library)
{
	debug_library = library;
}

void debug_log(const char *format, ...)
{
	char line[256];
	int head, length, saved_errno = errno;
	va_list ap;

	if (!debug_library || !sandbox_allows_calls())
		return;
	head = snprintf(line, sizeof(line), "%s[%d]: ", debug_library, (int)getpid());
	va_start(ap, format);
	length = head + vsnprintf(line + head, sizeof(line) - (size_t)head - 1, format, ap);
	va_end(ap);
	if (length > (int)sizeof(line) - 2)
		length = (int)sizeof(line) - 2;
	line[length++] = '\n';
	(void)!write(STDERR_FILENO, line, (size_t)length); /* stderr may be closed */
	errno = saved_errno;
}

void debug_log_end(const char *why, const char *detail)
{
	char line[256];
	int length;

	if (!debug_library)
		return;
	length = snprintf(line, sizeof(line), "%s: %s (%s); no further system calls, no reports\n",
			  debug_library, why, detail);
	(void)!write(STDERR_FILENO, line, (size_t)length); /* stderr may be closed */
}
