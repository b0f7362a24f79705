/* SPDX-License-Identifier: MIT */
/*
 * Standard output: tables, lines of text, and replies as JSON. Control characters in text from
 * other programs never reach a terminal.
 */
#ifndef BASE_TERMINAL_WRITER_H
#define BASE_TERMINAL_WRITER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct reply;

struct writer {
	FILE *out;
	bool json;	/* true: replies are printed as JSON (--json) */
	bool wide;	/* true: tables have all columns (--output wide) */
	bool names;	/* true: lists print only the first column of each row (--output name) */
	bool no_head;	/* true: tables have no line of headings (--no-headers) */
	bool tty;	/* true: @out is a terminal; tables are fitted to its width */
	bool colours;	/* true: @out is a terminal with colours, and NO_COLOR is not set */
	bool utf8;	/* true: the locale is UTF-8 */
	int width;	/* width of the terminal, or COLUMNS; 0: unknown */
	int64_t now_ms; /* wall-clock time from which ages are counted */
};

void writer_init(struct writer *writer, FILE *out, bool json);

enum writer_colour {
	WRITER_PLAIN,
	WRITER_BOLD,
	WRITER_RED,
	WRITER_YELLOW,
	WRITER_GREEN,
	WRITER_DIM
};
/*
 * Returns the escape sequence of a colour, or "" without colours. The sequence of WRITER_PLAIN ends
 * any other colour.
 */
const char *writer_colour(const struct writer *writer, enum writer_colour colour);

/* The format of a field. A field without a value is printed as "-". */
enum writer_format {
	WRITER_TEXT,
	WRITER_WHOLE,	/* 34 */
	WRITER_TENTH,	/* 34.2 */
	WRITER_PROMISE, /* 60.0; the value 0 is printed as "-" */
	WRITER_MONEY,	/* 0.0125 */
	WRITER_RATIO,	/* 1.50 */
	WRITER_TIME,	/* RFC 3339 without a fraction of a second */
	WRITER_AGE,	/* the age of a time: "3d4h" */
	WRITER_WHEN,	/* a time relative to now: "in 12s", "3d4h ago" */
	WRITER_YES,	/* yes, no */
	WRITER_LONG,	/* text that may wrap */
};

#define WRITER_CELL_MAX 1024

/* When a table has a column. */
enum writer_show {
	WRITER_ALWAYS,
	WRITER_IF_ANY,	   /* if a row has a value */
	WRITER_IF_SEVERAL, /* if the rows have different values */
	WRITER_IF_WIDE,	   /* with --output wide */
};

struct writer_column {
	const char *head;
	const char *key;
	enum writer_format format;
	/*
	 * A heading and a key that apply instead if the row has a number in @other_key. A table has
	 * @other_head if one of its rows has. NULL: there is no other key.
	 */
	const char *other_head, *other_key;
	/* Computes the text of the cell from the whole row. NULL: the cell is the field @key. */
	void (*cell)(const json_t *row, char text[WRITER_CELL_MAX]);
	enum writer_colour (*colour)(const json_t *row);
	const char *none;      /* text of a cell without a value; NULL: "-" */
	enum writer_show show; /* not for writer_record(), which prints every column */
};

/*
 * Prints one line per object of @rows. On a terminal that is too narrow, long
 * texts are below each row, or each row is a record.
 */
void writer_table(const struct writer *writer, const struct writer_column *columns, size_t n,
		  const json_t *rows);

/* Prints one line per column: heading and value. */
void writer_record(const struct writer *writer, const struct writer_column *columns, size_t n,
		   const json_t *object);

/*
 * Prints @text without a newline, wrapped between words at the width of the terminal or at COLUMNS.
 * A word is never cut. @at: number of columns that the first line already has. Further lines begin
 * with @indent spaces.
 */
void writer_wrap(const struct writer *writer, int at, int indent, const char *text);

/* Prints @first and @text, wrapped, and a newline. Further lines begin with @indent spaces. */
void writer_paragraph(const struct writer *writer, const char *first, int indent, const char *text);

/* Prints a line. Control characters are replaced with '?'. */
void writer_line(const struct writer *writer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Prints compact JSON, or indented JSON on a terminal. */
void writer_json(const struct writer *writer, const json_t *json);

/* With --json prints the reply, otherwise the line @format, which describes the reply. */
void writer_result(const struct writer *writer, const struct reply *reply, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Prints the body of a reply unchanged, or indented on a terminal. */
void writer_reply(const struct writer *writer, const struct reply *reply);

/* Formats the text of one cell. */
void writer_format_cell(const struct writer *writer, const struct writer_column *column,
			const json_t *row, char text[WRITER_CELL_MAX]);

/*
 * Returns true if the heading and the key @other_head and @other_key of @column apply to @row.
 */
bool writer_is_other(const struct writer_column *column, const json_t *row);

#define WRITER_SPAN_MAX 32
/* Formats a duration: "4.2 s", "12 min", "2 h 13 min", "3 d 4 h"; "-" for NAN. */
void writer_format_span(double seconds, char text[WRITER_SPAN_MAX]);

/* --- times relative to now: "3d4h" in a table, "12 s ago" in a sentence --- */

#define AGE_MAX 64

/* Formats an age: "12s", "5m", "2h13m", "3d4h", "12d"; "0s" if it is negative. */
void age_format(int64_t ms, char text[AGE_MAX]);

/* Formats an age as "3d4h ago", and a negative age as "in 12s". */
void age_format_when(int64_t ms, char text[AGE_MAX]);

/*
 * Formats the age of @time at @now_ms: "12 s ago", "2 h 13 min ago", "in 12 s". A time of another
 * form is "at an unknown time".
 */
void age_tell(const char *time, int64_t now_ms, char text[AGE_MAX]);

#endif
