/* SPDX-License-Identifier: MIT */
/* Cells, lines, paragraphs and JSON on standard output. Escape sequences are written to terminals
 * only. */
#include <errno.h>
#include <langinfo.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "base/clock.h"
#include "base/parse.h"
#include "base/rfc3339.h"
#include "base/terminal/age.h"
#include "base/terminal/field.h"
#include "base/terminal/writer.h"
#include "client/client.h"

#define LINE_MAX_BYTES 4096 /* maximum bytes of a line; a text of the daemon has at most 1024 */

void writer_init(struct writer *writer, FILE *out, bool json)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	int64_t width;
	bool tty = isatty(fileno(out));

	*writer = (struct writer){
		.out = out,
		.json = json,
		.tty = tty,
		.colours = tty && !(no_color && no_color[0]) && term && strcmp(term, "dumb") != 0,
		.now_ms = clock_now().wall_ms,
		.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
	};
	if (tty && ioctl(fileno(out), TIOCGWINSZ, &size) == 0)
		writer->width = size.ws_col;
	else if (columns && parse_int(columns, 20, 1000, &width) == 0)
		writer->width = (int)width;
}

static const char *const sequences[] = {
	[WRITER_PLAIN] = "\033[0m",   [WRITER_BOLD] = "\033[1m",   [WRITER_RED] = "\033[31m",
	[WRITER_YELLOW] = "\033[33m", [WRITER_GREEN] = "\033[32m", [WRITER_DIM] = "\033[2m",
};

const char *writer_colour(const struct writer *writer, enum writer_colour colour)
{
	return writer->colours ? sequences[colour] : "";
}

void writer_mask_controls(char *text)
{
	for (unsigned char *c = (unsigned char *)text; *c; c++) {
		if (*c < 0x20 || *c == 0x7f)
			*c = '?';
		else if (*c == 0xc2 && c[1] >= 0x80 &&
			 c[1] <= 0x9f) /* a C1 control character in UTF-8 */
			*c = c[1] = '?';
	}
}

void writer_format_span(double seconds, char text[WRITER_SPAN_MAX])
{
	long long s = isfinite(seconds) && fabs(seconds) < 1e15 ? (long long)seconds : 0;

	if (!isfinite(seconds))
		snprintf(text, WRITER_SPAN_MAX, "-");
	else if (s < 60)
		snprintf(text, WRITER_SPAN_MAX, "%.1f s", seconds);
	else if (s < 3600)
		snprintf(text, WRITER_SPAN_MAX, "%lld min", s / 60);
	else if (s < 86400)
		snprintf(text, WRITER_SPAN_MAX, "%lld h %lld min", s / 3600, s / 60 % 60);
	else
		snprintf(text, WRITER_SPAN_MAX, "%lld d %lld h", s / 86400, s / 3600 % 24);
}

static void format_number(double value, int decimals, char text[WRITER_CELL_MAX])
{
	if (isnan(value))
		strcpy(text, "-");
	else
		snprintf(text, WRITER_CELL_MAX, "%.*f", decimals, value);
}

/* Formats "2026-11-20T18:49:56.123Z" without the milliseconds. */
static void format_time(const char *value, char text[WRITER_CELL_MAX])
{
	const char *dot = strchr(value, '.');

	if (dot && strlen(value) < WRITER_CELL_MAX)
		snprintf(text, WRITER_CELL_MAX, "%.*sZ", (int)(dot - value), value);
	else
		snprintf(text, WRITER_CELL_MAX, "%s", value[0] ? value : "-");
}

bool writer_is_other(const struct writer_column *column, const json_t *row)
{
	return column->other_key && json_is_number(json_object_get(row, column->other_key));
}

void writer_format_cell(const struct writer *writer, const struct writer_column *column,
			const json_t *row, char text[WRITER_CELL_MAX])
{
	const char *key = writer_is_other(column, row) ? column->other_key : column->key;
	const json_t *value = json_object_get(row, key);
	int64_t then_ms;

	text[0] = '\0';
	if (column->cell) {
		column->cell(row, text);
	} else {
		switch (column->format) {
		case WRITER_TEXT:
		case WRITER_LONG:
			snprintf(text, WRITER_CELL_MAX, "%s", field_text(row, key));
			break;
		case WRITER_WHOLE:
			format_number(field_number(row, key), 0, text);
			break;
		case WRITER_TENTH:
			format_number(field_number(row, key), 1, text);
			break;
		case WRITER_PROMISE:
			format_number(field_number(row, key), 1, text);
			if (strcmp(text, "0.0") == 0)
				strcpy(text, "-");
			break;
		case WRITER_MONEY:
			format_number(field_number(row, key), 4, text);
			break;
		case WRITER_RATIO:
			format_number(field_number(row, key), 2, text);
			break;
		case WRITER_TIME:
			format_time(field_text(row, key), text);
			break;
		case WRITER_AGE:
			if (rfc3339_parse(field_text(row, key), &then_ms) == 0)
				age_format(writer->now_ms - then_ms, text);
			break;
		case WRITER_WHEN:
			if (rfc3339_parse(field_text(row, key), &then_ms) == 0)
				age_format_when(writer->now_ms - then_ms, text);
			break;
		case WRITER_YES:
			if (json_is_boolean(value))
				strcpy(text, json_is_true(value) ? "yes" : "no");
			break;
		}
	}
	if (text[0] == '\0')
		strcpy(text, column->none ? column->none : "-");
	writer_mask_controls(text);
}

int writer_width(const char *text)
{
	wchar_t wide[WRITER_CELL_MAX];
	size_t n = mbstowcs(wide, text, WRITER_CELL_MAX);
	int width = n == (size_t)-1 ? -1 : wcswidth(wide, n);

	return width < 0 ? (int)strlen(text) : width;
}

/* Returns the number of bytes of the word at @text; "45 %" is one word. */
static size_t word_length(const char *text)
{
	size_t length = strcspn(text, " ");

	return strncmp(text + length, " %", 2) == 0 ? length + 1 + strcspn(text + length + 1, " ")
						    : length;
}

/*
 * Returns the number of bytes of @text that fit into @columns, up to the end of a word; at least
 * one word.
 */
static size_t fit_words(const char *text, int columns)
{
	char part[WRITER_CELL_MAX];
	size_t end = word_length(text), next = end;

	while (text[next]) {
		next += strspn(text + next, " ");
		next += word_length(text + next);
		snprintf(part, sizeof(part), "%.*s", (int)next, text);
		if (next >= sizeof(part) || writer_width(part) > columns)
			break;
		end = next;
	}
	return end;
}

void writer_wrap(const struct writer *writer, int at, int indent, const char *text)
{
	char masked[LINE_MAX_BYTES];
	const char *rest = masked;
	int left = writer->width - at;

	snprintf(masked, sizeof(masked), "%s", text);
	writer_mask_controls(masked);
	while (writer->width > 0 && *rest) {
		size_t n = fit_words(rest, left);

		fprintf(writer->out, "%.*s", (int)n, rest);
		rest += n;
		rest += strspn(rest, " ");
		if (*rest)
			fprintf(writer->out, "\n%*s", indent, "");
		left = writer->width - indent;
	}
	fputs(rest, writer->out);
}

void writer_paragraph(const struct writer *writer, const char *first, int indent, const char *text)
{
	fputs(first, writer->out);
	writer_wrap(writer, writer_width(first), indent, text);
	fputc('\n', writer->out);
}

__attribute__((format(printf, 2, 0))) static void print_line(const struct writer *writer,
							     const char *format, va_list ap)
{
	char text[LINE_MAX_BYTES];

	vsnprintf(text, sizeof(text), format, ap);
	writer_mask_controls(text);
	fprintf(writer->out, "%s\n", text);
}

void writer_line(const struct writer *writer, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	print_line(writer, format, ap);
	va_end(ap);
}

void writer_result(const struct writer *writer, const struct reply *reply, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	if (writer->json)
		writer_reply(writer, reply);
	else
		print_line(writer, format, ap);
	va_end(ap);
}

void writer_json(const struct writer *writer, const json_t *json)
{
	/* 15 digits: with more, 0.1 would be printed as 0.10000000000000001 */
	json_dumpf(json, writer->out,
		   JSON_REAL_PRECISION(15) | (writer->tty ? JSON_INDENT(2) : JSON_COMPACT));
	fputc('\n', writer->out);
}

void writer_reply(const struct writer *writer, const struct reply *reply)
{
	if (writer->tty && reply->json) {
		writer_json(writer, reply->json);
	} else if (reply->length > 0) {
		fwrite(reply->text, 1, reply->length, writer->out);
		if (reply->text[reply->length - 1] != '\n')
			fputc('\n', writer->out);
	}
}
