/* SPDX-License-Identifier: MIT */
/*
 * Prometheus text and OpenMetrics. In OpenMetrics, the header of a counter omits the suffix _total,
 * the header of a metric states its unit, and the text ends with "# EOF".
 */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/api/metrics-format.h"

#define OPEN_TYPE "application/openmetrics-text"
#define TEXT_TYPE "text/plain"

const char *metrics_format_type(enum metrics_format format)
{
	return format == METRICS_OPEN ? OPEN_TYPE "; version=1.0.0; charset=utf-8"
				      : TEXT_TYPE "; version=0.0.4; charset=utf-8";
}

enum metrics_format metrics_format_choose(const char *accept)
{
	const char *open = accept ? strcasestr(accept, OPEN_TYPE) : NULL;
	const char *text = accept ? strcasestr(accept, TEXT_TYPE) : NULL;

	return open && (!text || open < text) ? METRICS_OPEN : METRICS_TEXT;
}

static size_t without_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), end = strlen(suffix);

	return n > end && strcmp(name + n - end, suffix) == 0 ? n - end : n;
}

/*
 * Returns the unit in @name; "": no unit. @family is the length of @name without _total or _info.
 */
static const char *unit_of(const char *name, size_t family)
{
	static const char *const units[] = {"seconds", "percent", "ratio"};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		size_t n = strlen(units[i]);

		if (family > n && name[family - n - 1] == '_' &&
		    strncmp(name + family - n, units[i], n) == 0)
			return units[i];
	}
	return "";
}

static void write_text_head(FILE *file, const char *name, const char *type, const char *help)
{
	fprintf(file, "# HELP %s %s\n# TYPE %s %s\n", name, help, name,
		strcmp(type, "info") == 0 ? "gauge" : type);
}

void metrics_format_head(const struct metrics_out *out, const char *name, const char *type,
			 const char *help)
{
	size_t family = strcmp(type, "counter") == 0 ? without_suffix(name, "_total")
			: strcmp(type, "info") == 0  ? without_suffix(name, "_info")
						     : strlen(name);
	const char *unit = unit_of(name, family);

	if (out->format == METRICS_TEXT) {
		write_text_head(out->file, name, type, help);
		return;
	}
	fprintf(out->file, "# TYPE %.*s %s\n", (int)family, name, type);
	if (unit[0])
		fprintf(out->file, "# UNIT %.*s %s\n", (int)family, name, unit);
	fprintf(out->file, "# HELP %.*s %s\n", (int)family, name, help);
}

/* Labels are most of the text. The file belongs to one thread, so that it needs no lock. */
static void write_label(FILE *file, const char *before, const char *name, const char *value)
{
	fputs_unlocked(before, file);
	fputs_unlocked(name, file);
	fputs_unlocked("=\"", file);
	while (*value) {
		size_t plain = strcspn(value, "\n\\\"");

		fwrite_unlocked(value, 1, plain, file);
		value += plain;
		if (!*value)
			break;
		fputc_unlocked('\\', file);
		fputc_unlocked(*value == '\n' ? 'n' : *value, file);
		value++;
	}
	fputc_unlocked('"', file);
}

void metrics_format_line(const struct metrics_out *out, const char *name, double value, ...)
{
	const char *label, *before = "{";
	va_list ap;

	if (!isfinite(value))
		return;
	fputs_unlocked(name, out->file);
	va_start(ap, value);
	for (; (label = va_arg(ap, const char *)); before = ",")
		write_label(out->file, before, label, va_arg(ap, const char *));
	va_end(ap);
	fprintf(out->file, "%s %.15g\n", before[0] == ',' ? "}" : "", value);
}

void metrics_format_end(const struct metrics_out *out)
{
	if (out->format == METRICS_OPEN)
		fputs("# EOF\n", out->file);
}
