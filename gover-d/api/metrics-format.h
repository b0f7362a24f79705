/* SPDX-License-Identifier: MIT */
/* Formats metrics as Prometheus text or OpenMetrics. */
#ifndef GOVER_D_API_METRICS_FORMAT_H
#define GOVER_D_API_METRICS_FORMAT_H

#include <stdio.h>

enum metrics_format { METRICS_TEXT, METRICS_OPEN };

/*
 * Returns OpenMetrics if the header @accept names it, and not before text/plain. Scrapers name the
 * format that they prefer first. @accept NULL: text.
 */
enum metrics_format metrics_format_choose(const char *accept);
const char *metrics_format_type(enum metrics_format format); /* value of the header Content-Type */

struct metrics_out {
	FILE *file;
	enum metrics_format format;
};

/*
 * Writes the header lines of metric @name. @type is "gauge", "counter" (@name ends in _total),
 * "histogram" or "info" (@name ends in _info). The unit of the metric is the last word of @name
 * without _total, if this word is a known unit.
 */
void metrics_format_head(const struct metrics_out *out, const char *name, const char *type,
			 const char *help);
/*
 * Writes a line, unless @value is not finite. The further arguments are the name and the value of
 * each label, and METRICS_END at the end, because a plain NULL need not be a pointer.
 */
#define METRICS_END ((const char *)NULL)
void metrics_format_line(const struct metrics_out *out, const char *name, double value, ...)
	__attribute__((sentinel));
/* Writes the last line of the text: "# EOF" in OpenMetrics, none in Prometheus text. */
void metrics_format_end(const struct metrics_out *out);

#endif
