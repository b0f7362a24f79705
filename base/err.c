/* SPDX-License-Identifier: MIT */
/* Writes error messages. Never allocates memory, because it also reports exhausted memory. */
#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"

int err_condition(struct err *err, int code, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	if (err)
		vsnprintf(err->msg, sizeof(err->msg), format, ap);
	va_end(ap);
	return code;
}
