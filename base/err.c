/* SPDX-License-Identifier: MIT */
/* Errors told in a sentence. Must never allocate: it runs when memory is what is missing. */
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
