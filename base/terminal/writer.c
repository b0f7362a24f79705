/* SPDX-License-Identifier: MIT */
/*
 * Cells, lines, paragraphs, tables (with libsmartcols), records and JSON on standard output. Escape
 * sequences are written to terminals only. A table that is wider than the terminal has its long
 * texts below each row, wrapped between words, or becomes records.
 */
#include <langinfo.h>
#include <libsmartcols/libsmartcols.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/http/client.h"
#include "base/parse.h"
#include "base/rfc3339.h"
#include "base/terminal/field.h"
#include "base/terminal/writer.h"
#include "base/text.h"
#include "base/xalloc.h"

#define LINE_MAX_BYTES 4096 /* maximum bytes of a line; a text of the daemon has at most 1024 */
#define COLUMNS_MAX    40   /* maximum number of columns of a table */
#define BELOW_INDENT   4    /* spaces before a long text below its row */
#define MINUTE_S       60
#define HOUR_S	       3600
#define DAY_S	       86400
#define AHEAD_MS       1000 /* a time up to this far in the future counts as now */

/*
 * Formats whole seconds with at most two units, and from ten days on with one. @gap is between a
 * number and its unit.
 */
static void format_units(int64_t s, const char *gap, const char *minute, char text[AGE_MAX])
{
	const struct {
		int64_t below, unit, second_unit;
		const char *name, *second_name;
	} scales[] = {
		{MINUTE_S, 1, 0, "s", NULL},
		{HOUR_S, MINUTE_S, 0, minute, NULL},
		{DAY_S, HOUR_S, MINUTE_S, "h", minute},
		{10 * DAY_S, DAY_S, HOUR_S, "d", "h"},
		{INT64_MAX, DAY_S, 0, "d", NULL},
	};
	size_t i = 0;

	while (s >= scales[i].below && i + 1 < ARRAY_SIZE(scales))
		i++;
	if (scales[i].second_name)
		snprintf(text, AGE_MAX, "%lld%s%s%s%lld%s%s", (long long)(s / scales[i].unit), gap,
			 scales[i].name, gap,
			 (long long)(s % scales[i].unit / scales[i].second_unit), gap,
			 scales[i].second_name);
	else
		snprintf(text, AGE_MAX, "%lld%s%s", (long long)(s / scales[i].unit), gap,
			 scales[i].name);
}

void age_format(int64_t ms, char text[AGE_MAX])
{
	format_units(ms < 0 ? 0 : ms / 1000, "", "m", text);
}

/* Formats a time relative to now. @gap and @minute as in format_units(). */
static void format_when(int64_t ms, const char *gap, const char *minute, char text[AGE_MAX])
{
	char units[AGE_MAX];

	if (ms < 0 && ms >= -AHEAD_MS)
		ms = 0;
	format_units((ms < 0 ? -ms : ms) / 1000, gap, minute, units);
	snprintf(text, AGE_MAX, ms < 0 ? "in %.27s" : "%.27s ago", units);
}

void age_format_when(int64_t ms, char text[AGE_MAX])
{
	format_when(ms, "", "m", text);
}

void age_tell(const char *time, int64_t now_ms, char text[AGE_MAX])
{
	int64_t then_ms;

	if (rfc3339_parse(time, &then_ms) == 0)
		format_when(now_ms - then_ms, " ", "min", text);
	else
		snprintf(text, AGE_MAX, "at an unknown time");
}

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
	text_mask_controls(text);
}

/* Returns the width of @text in terminal columns. */
static int width_of(const char *text)
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
		if (next >= sizeof(part) || width_of(part) > columns)
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
	text_mask_controls(masked);
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
	writer_wrap(writer, width_of(first), indent, text);
	fputc('\n', writer->out);
}

__attribute__((format(printf, 2, 0))) static void print_line(const struct writer *writer,
							     const char *format, va_list ap)
{
	char text[LINE_MAX_BYTES];

	vsnprintf(text, sizeof(text), format, ap);
	text_mask_controls(text);
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

/* --- tables and records --- */

/* Returns the heading of @column in a table with @rows. */
static const char *head_of(const struct writer_column *column, const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row)
		if (writer_is_other(column, row))
			return column->other_head;
	return column->head;
}

/* The numeric formats are adjacent in enum writer_format. */
static bool is_number(const struct writer_column *column)
{
	return !column->cell && column->format >= WRITER_WHOLE && column->format <= WRITER_RATIO;
}

static struct libscols_table *new_table(const struct writer *writer)
{
	struct libscols_table *table = scols_new_table();

	if (!table)
		xalloc_fail(0);
	scols_table_set_stream(table, writer->out);
	scols_table_enable_colors(table, writer->colours);
	scols_table_enable_noheadings(table, writer->no_head);
	scols_table_set_termforce(table,
				  writer->tty ? SCOLS_TERMFORCE_ALWAYS : SCOLS_TERMFORCE_NEVER);
	if (writer->tty && writer->width > 0)
		scols_table_set_termwidth(table, (size_t)writer->width);
	return table;
}

static void add_line(const struct writer *writer, struct libscols_table *table,
		     const struct writer_column *columns, size_t n, const json_t *row)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	char text[WRITER_CELL_MAX];

	if (!line)
		xalloc_fail(0);
	for (size_t i = 0; i < n; i++) {
		enum writer_colour colour =
			columns[i].colour ? columns[i].colour(row) : WRITER_PLAIN;

		writer_format_cell(writer, &columns[i], row, text);
		if (scols_line_set_data(line, i, text) < 0)
			xalloc_fail(0);
		if (colour != WRITER_PLAIN && writer->colours &&
		    scols_cell_set_color(scols_line_get_cell(line, i),
					 writer_colour(writer, colour)) < 0)
			xalloc_fail(0);
	}
}

static bool is_long(const struct writer_column *column)
{
	return column->format == WRITER_LONG;
}

/*
 * Returns the width of a table, including the gaps between its columns. If @all is false, columns
 * of long texts are not counted.
 */
static int table_width(const struct writer *writer, const struct writer_column *columns, size_t n,
		       const json_t *rows, bool all)
{
	char text[WRITER_CELL_MAX];
	const json_t *row;
	size_t r;
	int sum = 0;

	for (size_t i = 0; i < n; i++) {
		int widest =
			is_long(&columns[i]) && !all ? -1 : width_of(head_of(&columns[i], rows));

		json_array_foreach (rows, r, row) {
			int width;

			if (widest < 0)
				break;
			writer_format_cell(writer, &columns[i], row, text);
			width = width_of(text);
			widest = width > widest ? width : widest;
		}
		sum += widest + 1;
	}
	return sum;
}

/* How rows are laid out to fit the width of a terminal. */
enum layout {
	LAYOUT_TABLE,	/* one line per row */
	LAYOUT_BELOW,	/* one line per row, and each long text on lines of its own below */
	LAYOUT_RECORDS, /* each field of a row on a line of its own */
};

static enum layout lay_out(const struct writer *writer, const struct writer_column *columns,
			   size_t n, const json_t *rows)
{
	if (!writer->tty || writer->width <= 0 ||
	    table_width(writer, columns, n, rows, true) <= writer->width + 1)
		return LAYOUT_TABLE;
	return table_width(writer, columns, n, rows, false) <= writer->width + 1 ? LAYOUT_BELOW
										 : LAYOUT_RECORDS;
}

static void print_records(const struct writer *writer, const struct writer_column *columns,
			  size_t n, const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		if (i > 0)
			fputc('\n', writer->out);
		writer_record(writer, columns, n, row);
	}
}

/* Prints the value of a field in its colour, wrapped on a terminal. @at: the terminal column at
 * which it begins. */
static void print_value(const struct writer *writer, const struct writer_column *column,
			const json_t *row, int at, const char *text)
{
	enum writer_colour colour = column->colour ? column->colour(row) : WRITER_PLAIN;
	struct writer fitted = *writer;

	if (!writer->tty)
		fitted.width = 0;
	fputs(writer_colour(writer, colour), writer->out);
	writer_wrap(&fitted, at, at, text);
	fprintf(writer->out, "%s\n", writer_colour(writer, WRITER_PLAIN));
}

/* Prints the long texts of a row that are not empty. */
static void print_below(const struct writer *writer, const struct writer_column *columns, size_t n,
			const json_t *row)
{
	char text[WRITER_CELL_MAX];

	for (size_t i = 0; i < n; i++) {
		if (!is_long(&columns[i]))
			continue;
		writer_format_cell(writer, &columns[i], row, text);
		if (strcmp(text, "-") == 0)
			continue;
		fprintf(writer->out, "%*s", BELOW_INDENT, "");
		print_value(writer, &columns[i], row, BELOW_INDENT, text);
	}
}

/* Prints @table with the long texts below each row. */
static void print_with_below(const struct writer *writer, struct libscols_table *table,
			     const struct writer_column *columns, size_t n, const json_t *rows)
{
	char *text, *rest = NULL;
	bool head = !writer->no_head;
	size_t row = 0;

	if (scols_print_table_to_string(table, &text) < 0)
		xalloc_fail(0);
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		fprintf(writer->out, "%s\n", line);
		if (!head)
			print_below(writer, columns, n, json_array_get(rows, row++));
		head = false;
	}
	free(text);
}

/* Returns true if the table of @rows has @column. */
static bool is_shown(const struct writer *writer, const struct writer_column *column,
		     const json_t *rows)
{
	char first[WRITER_CELL_MAX] = "", text[WRITER_CELL_MAX];
	const json_t *row;
	size_t i;

	if (column->show == WRITER_ALWAYS || writer->wide)
		return true;
	json_array_foreach (rows, i, row) {
		if (column->show == WRITER_IF_WIDE)
			return false;
		writer_format_cell(writer, column, row, text);
		if (column->show == WRITER_IF_ANY && strcmp(text, "-") != 0)
			return true;
		if (column->show == WRITER_IF_SEVERAL && i > 0 && strcmp(text, first) != 0)
			return true;
		if (i == 0)
			strcpy(first, text);
	}
	return false;
}

static void fill_table(const struct writer *writer, struct libscols_table *table,
		       const struct writer_column *columns, size_t n, const json_t *rows,
		       bool below)
{
	const json_t *row;
	size_t i;

	for (i = 0; i < n; i++) {
		int flags = is_number(&columns[i])	    ? SCOLS_FL_RIGHT
			    : below && is_long(&columns[i]) ? SCOLS_FL_HIDDEN
							    : 0;

		if (!scols_table_new_column(table, head_of(&columns[i], rows), 0, flags))
			xalloc_fail(0);
	}
	json_array_foreach (rows, i, row) {
		add_line(writer, table, columns, n, row);
	}
}

void writer_table(const struct writer *writer, const struct writer_column *columns, size_t n,
		  const json_t *rows)
{
	struct writer_column shown[COLUMNS_MAX];
	struct libscols_table *table;
	enum layout layout;
	size_t n_shown = 0;

	for (size_t i = 0; i < n && n_shown < ARRAY_SIZE(shown); i++)
		if (is_shown(writer, &columns[i], rows))
			shown[n_shown++] = columns[i];
	layout = lay_out(writer, shown, n_shown, rows);
	if (layout == LAYOUT_RECORDS) {
		print_records(writer, shown, n_shown, rows);
		return;
	}
	table = new_table(writer);
	fill_table(writer, table, shown, n_shown, rows, layout == LAYOUT_BELOW);
	if (layout == LAYOUT_BELOW)
		print_with_below(writer, table, shown, n_shown, rows);
	else if (scols_print_table(table) < 0)
		xalloc_fail(0);
	scols_unref_table(table);
}

void writer_record(const struct writer *writer, const struct writer_column *columns, size_t n,
		   const json_t *object)
{
	char text[WRITER_CELL_MAX];
	int width = 0;

	for (size_t i = 0; i < n; i++) {
		int head = (int)strlen(writer_is_other(&columns[i], object) ? columns[i].other_head
									    : columns[i].head);

		width = head > width ? head : width;
	}
	for (size_t i = 0; i < n; i++) {
		writer_format_cell(writer, &columns[i], object, text);
		fprintf(writer->out, "%-*s  ", width,
			writer_is_other(&columns[i], object) ? columns[i].other_head
							     : columns[i].head);
		print_value(writer, &columns[i], object, width + 2, text);
	}
}
