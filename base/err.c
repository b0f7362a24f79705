/* SPDX-License-Identifier: MIT */
/* Messages of errors. Never allocates, because it also reports that memory is exhausted. */
#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"

int err_fail(struct err *err, int errnum, const char *format, ...)
{
	va_list ap;

	if (err) {
		va_start(ap, format);
		vsnprintf(err->msg, sizeof(err->msg), format, ap);
		va_end(ap);
	}
	return -errnum;
}
