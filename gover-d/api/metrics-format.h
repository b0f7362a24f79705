/* SPDX-License-Identifier: MIT */
/* Formats metrics as Prometheus text or OpenMetrics. */
#ifndef GOVER_D_API_METRICS_FORMAT_H
#define GOVER_D_API_METRICS_FORMAT_H

#include <stdio.h>

enum metrics_format { METRICS_TEXT, METRICS_OPEN };

struct metrics_out {
	FILE *file;
	enum metrics_format format;
};

/* The format requested by the header @accept (may be NULL): OpenMetrics if its quality is not below
 * that of text. */
enum metrics_format metrics_format_choose(const char *accept);
const char *metrics_format_type(enum metrics_format format); /* Content-Type */

/* Writes the header of metric @name of @type "gauge", "counter" (its name ends in _total),
 * "histogram" or "info" (its name ends in _info). Its unit is the last word of its name, if that is
 * a unit.
 */
void metrics_format_head(const struct metrics_out *out, const char *name, const char *type,
			 const char *help);
/* A label; @before is "{" for the first and "," for others. The caller closes with "} VALUE\n". */
void metrics_format_label(const struct metrics_out *out, const char *before, const char *name,
			  const char *value);
/* Writes the end of the text. */
void metrics_format_end(const struct metrics_out *out);

#endif
