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

/*
 * Returns the format that the header @accept (may be NULL) requests: OpenMetrics if its quality is
 * not below the quality of text.
 */
enum metrics_format metrics_format_choose(const char *accept);
const char *metrics_format_type(enum metrics_format format); /* Content-Type */

/*
 * Writes the header lines of metric @name. @type is "gauge", "counter" (@name ends in _total),
 * "histogram" or "info" (@name ends in _info). If the last word of @name is a unit, it is the unit
 * of the metric.
 */
void metrics_format_head(const struct metrics_out *out, const char *name, const char *type,
			 const char *help);
/*
 * Writes a label. @before is "{" for the first label of a line and "," for the other labels. The
 * caller then writes "} VALUE\n".
 */
void metrics_format_label(const struct metrics_out *out, const char *before, const char *name,
			  const char *value);
/* Writes the end of the text: "# EOF" in OpenMetrics. */
void metrics_format_end(const struct metrics_out *out);

#endif
