/* SPDX-License-Identifier: MIT */
/* Writes error messages. Never allocates memory, because it also reports exhausted memory. */
#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"

__attribute__((format(printf, 2, 0))) static void write_message(struct err *err, const char *format,
								va_list ap)
{
	if (err)
		vsnprintf(err->msg, sizeof(err->msg), format, ap);
}

int err_fail(struct err *err, int errnum, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	write_message(err, format, ap);
	va_end(ap);
	return -errnum;
}

int err_condition(struct err *err, int code, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	write_message(err, format, ap);
	va_end(ap);
	return code;
}
