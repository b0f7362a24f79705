/* SPDX-License-Identifier: MIT */
/*
 * Tables (with libsmartcols) and records on standard output. A table that is wider than the
 * terminal has its long texts below each row, wrapped between words, or becomes records.
 */
#include <libsmartcols/libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/terminal/writer.h"
#include "base/xalloc.h"

#define COLUMNS_MAX  40 /* maximum number of columns of a table */
#define BELOW_INDENT 4	/* spaces before a long text below its row */

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
		int widest = is_long(&columns[i]) && !all
				     ? -1
				     : writer_width(head_of(&columns[i], rows));

		json_array_foreach (rows, r, row) {
			int width;

			if (widest < 0)
				break;
			writer_format_cell(writer, &columns[i], row, text);
			width = writer_width(text);
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
