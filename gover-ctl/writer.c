/* SPDX-License-Identifier: MIT */
/* Tables (with libsmartcols), lines and JSON on standard output. Escape sequences are written to
 * terminals only. */
#include <errno.h>
#include <langinfo.h>
#include <libsmartcols/libsmartcols.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "base/parse.h"
#include "gover-ctl/client.h"
#include "gover-ctl/field.h"
#include "gover-ctl/writer.h"

#define LONG_MIN_COLUMNS 24   /* minimum width of a long text; a narrower text is not readable */
#define LINE_MAX_BYTES	 4096 /* maximum bytes of a line; a text of the daemon has at most 1024 */

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

/* Returns true if the other heading and key of @column apply to @row. */
static bool is_other(const struct writer_column *column, const json_t *row)
{
	return column->other_key && json_is_number(json_object_get(row, column->other_key));
}

/* Returns the heading of @column in a table with @rows. */
static const char *head_of(const struct writer_column *column, const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row)
		if (is_other(column, row))
			return column->other_head;
	return column->head;
}

void writer_format_cell(const struct writer_column *column, const json_t *row,
			char text[WRITER_CELL_MAX])
{
	const char *key = is_other(column, row) ? column->other_key : column->key;
	const json_t *value = json_object_get(row, key);

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
		case WRITER_YES:
			if (json_is_boolean(value))
				strcpy(text, json_is_true(value) ? "yes" : "no");
			break;
		}
	}
	if (text[0] == '\0')
		strcpy(text, "-");
	writer_mask_controls(text);
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
		return NULL;
	scols_table_set_stream(table, writer->out);
	scols_table_enable_colors(table, writer->colours);
	scols_table_set_termforce(table,
				  writer->tty ? SCOLS_TERMFORCE_ALWAYS : SCOLS_TERMFORCE_NEVER);
	if (writer->tty && writer->width > 0)
		scols_table_set_termwidth(table, (size_t)writer->width);
	return table;
}

static int add_line(const struct writer *writer, struct libscols_table *table,
		    const struct writer_column *columns, size_t n, const json_t *row)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	char text[WRITER_CELL_MAX];

	if (!line)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		enum writer_colour colour =
			columns[i].colour ? columns[i].colour(row) : WRITER_PLAIN;

		writer_format_cell(&columns[i], row, text);
		if (scols_line_set_data(line, i, text) < 0)
			return -ENOMEM;
		if (colour != WRITER_PLAIN && writer->colours &&
		    scols_cell_set_color(scols_line_get_cell(line, i), sequences[colour]) < 0)
			return -ENOMEM;
	}
	return 0;
}

static bool is_long(const struct writer_column *column)
{
	return column->format == WRITER_LONG;
}

/* Returns the width of @text in terminal columns. */
static int width_of(const char *text)
{
	wchar_t wide[WRITER_CELL_MAX];
	size_t n = mbstowcs(wide, text, WRITER_CELL_MAX);
	int width = n == (size_t)-1 ? -1 : wcswidth(wide, n);

	return width < 0 ? (int)strlen(text) : width;
}

/*
 * Returns the width of a table, including the gaps between its columns. If @all is false, columns
 * of long texts are not counted.
 */
static int table_width(const struct writer_column *columns, size_t n, const json_t *rows, bool all)
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
			writer_format_cell(&columns[i], row, text);
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
	LAYOUT_BELOW,	/* one line per row, and each long text on a line of its own below */
	LAYOUT_RECORDS, /* each field of a row on a line of its own */
};

static enum layout lay_out(const struct writer *writer, const struct writer_column *columns,
			   size_t n, const json_t *rows)
{
	int left, longs = 0;

	if (!writer->tty || writer->width <= 0 ||
	    table_width(columns, n, rows, true) <= writer->width + 1)
		return LAYOUT_TABLE;
	left = writer->width + 1 - table_width(columns, n, rows, false);
	for (size_t i = 0; i < n; i++)
		longs += is_long(&columns[i]);
	if (left < 0)
		return LAYOUT_RECORDS;
	return longs * LONG_MIN_COLUMNS <= left ? LAYOUT_TABLE : LAYOUT_BELOW;
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

/* Prints the long texts of a row that are not empty. */
static void print_below(const struct writer *writer, const struct writer_column *columns, size_t n,
			const json_t *row)
{
	char text[WRITER_CELL_MAX];

	for (size_t i = 0; i < n; i++) {
		enum writer_colour colour =
			columns[i].colour ? columns[i].colour(row) : WRITER_PLAIN;

		if (!is_long(&columns[i]))
			continue;
		writer_format_cell(&columns[i], row, text);
		if (strcmp(text, "-") != 0)
			fprintf(writer->out, "    %s%s%s\n", writer_colour(writer, colour), text,
				writer_colour(writer, WRITER_PLAIN));
	}
}

/* Prints @table with the long texts below each row. */
static int print_with_below(const struct writer *writer, struct libscols_table *table,
			    const struct writer_column *columns, size_t n, const json_t *rows)
{
	char *text = NULL, *rest = NULL;
	int r = scols_print_table_to_string(table, &text);
	size_t row = 0;

	for (char *line = r == 0 ? strtok_r(text, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest)) {
		fprintf(writer->out, "%s\n", line);
		if (row > 0) /* the first line has the headings */
			print_below(writer, columns, n, json_array_get(rows, row - 1));
		row++;
	}
	free(text);
	return r;
}

int writer_table(const struct writer *writer, const struct writer_column *columns, size_t n,
		 const json_t *rows)
{
	enum layout layout = lay_out(writer, columns, n, rows);
	struct libscols_table *table;
	const json_t *row;
	size_t i;
	int r;

	if (layout == LAYOUT_RECORDS) {
		print_records(writer, columns, n, rows);
		return 0;
	}
	table = new_table(writer);
	r = table ? 0 : -ENOMEM;
	for (i = 0; r == 0 && i < n; i++) {
		int flags = is_number(&columns[i])		    ? SCOLS_FL_RIGHT
			    : !is_long(&columns[i]) || !writer->tty ? 0
			    : layout == LAYOUT_BELOW		    ? SCOLS_FL_HIDDEN
								    : SCOLS_FL_WRAP;

		if (!scols_table_new_column(table, head_of(&columns[i], rows), 0, flags))
			r = -ENOMEM;
	}
	json_array_foreach (rows, i, row) {
		if (r == 0)
			r = add_line(writer, table, columns, n, row);
	}
	if (r == 0)
		r = layout == LAYOUT_BELOW ? print_with_below(writer, table, columns, n, rows)
					   : scols_print_table(table);
	scols_unref_table(table);
	return r;
}

void writer_record(const struct writer *writer, const struct writer_column *columns, size_t n,
		   const json_t *object)
{
	char text[WRITER_CELL_MAX];
	int width = 0;

	for (size_t i = 0; i < n; i++) {
		const char *head =
			is_other(&columns[i], object) ? columns[i].other_head : columns[i].head;

		if ((int)strlen(head) > width)
			width = (int)strlen(head);
	}
	for (size_t i = 0; i < n; i++) {
		enum writer_colour colour =
			columns[i].colour ? columns[i].colour(object) : WRITER_PLAIN;

		writer_format_cell(&columns[i], object, text);
		fprintf(writer->out, "%-*s  %s%s%s\n", width,
			is_other(&columns[i], object) ? columns[i].other_head : columns[i].head,
			writer_colour(writer, colour), text, writer_colour(writer, WRITER_PLAIN));
	}
}

static void print_line(const struct writer *writer, const char *format, va_list ap)
	__attribute__((format(printf, 2, 0)));

static void print_line(const struct writer *writer, const char *format, va_list ap)
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
