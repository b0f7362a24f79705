/* SPDX-License-Identifier: MIT */
/* How a metric is written, in Prometheus' text format or as OpenMetrics. Knows no metric. */
#ifndef GOVER_D_API_METRICS_FORMAT_H
#define GOVER_D_API_METRICS_FORMAT_H

#include <stdio.h>

enum metrics_format { METRICS_TEXT, METRICS_OPEN };

struct metrics_out {
	FILE *file;
	enum metrics_format format;
};

/* What @accept (NULL: no such header) asks for: OpenMetrics where it is named and liked as well as
 * the text. */
enum metrics_format metrics_format_choose(const char *accept);
const char *metrics_format_type(enum metrics_format format); /* Content-Type */

/*
 * Begins the metric @name of @type "gauge", "counter" (its name ends in _total), "histogram" or
 * "info" (its name ends in _info). Its unit is the last word of its name, where that is one.
 */
void metrics_format_head(const struct metrics_out *out, const char *name, const char *type,
			 const char *help);
/* A label; @before is "{" for the first and "," for others. The caller closes with "} VALUE\n". */
void metrics_format_label(const struct metrics_out *out, const char *before, const char *name,
			  const char *value);
/* What ends the text. */
void metrics_format_end(const struct metrics_out *out);

#endif
