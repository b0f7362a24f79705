/* SPDX-License-Identifier: MIT */
/*
 * What people and programs read on standard output: tables, sentences, and the daemon's answer as
 * JSON. Must never let a control character of a stranger's text reach a terminal.
 */
#ifndef GOVER_CTL_WRITER_H
#define GOVER_CTL_WRITER_H

#include <stdbool.h>
#include <stdio.h>
#include <jansson.h>

struct reply;

struct writer {
	FILE *out;
	bool json;    /* answers go out as they came */
	bool tty;     /* @out is a terminal: tables fit its width */
	bool colours; /* a terminal, and NO_COLOR is not set */
	bool utf8;    /* the locale's characters */
	int width;    /* of the terminal, or COLUMNS; 0: neither */
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
/* The terminal's sequence for it, "" where there are no colours. WRITER_PLAIN ends the others. */
const char *writer_colour(const struct writer *writer, enum writer_colour colour);

/* How the member @key of a row is told. What has no value is told as "-". */
enum writer_format {
	WRITER_TEXT,
	WRITER_WHOLE,	/* 34 */
	WRITER_TENTH,	/* 34.2 */
	WRITER_PROMISE, /* 60.0; 0 is none */
	WRITER_MONEY,	/* 0.0125 */
	WRITER_RATIO,	/* 1.50 */
	WRITER_TIME,	/* RFC 3339 without its fraction */
	WRITER_YES,	/* yes, no */
	WRITER_LONG,	/* text that may be broken into lines */
};

#define WRITER_CELL_MAX 1024

struct writer_column {
	const char *head;
	const char *key;
	enum writer_format format;
	/* What one key cannot say; instead of @key. */
	void (*cell)(const json_t *row, char text[WRITER_CELL_MAX]);
	enum writer_colour (*colour)(const json_t *row);
};

/* One line for each object of @rows. 0, or -ENOMEM. */
int writer_table(const struct writer *writer, const struct writer_column *columns, size_t n,
		 const json_t *rows);

/* One line for each column: its head and its value. */
void writer_record(const struct writer *writer, const struct writer_column *columns, size_t n,
		   const json_t *object);

/* A line, defused. */
void writer_line(const struct writer *writer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* In one line, or on a terminal with indents. */
void writer_json(const struct writer *writer, const json_t *json);

/* The answer as it came; on a terminal with indents. */
void writer_reply(const struct writer *writer, const struct reply *reply);

/* The text of one cell. */
void writer_format_cell(const struct writer_column *column, const json_t *row,
			char text[WRITER_CELL_MAX]);

/* Puts '?' in the place of every control character. */
void writer_mask_controls(char *text);

#define WRITER_SPAN_MAX 32
/* "4.2 s", "12 min", "2 h 13 min", "3 d 4 h"; "-" for NAN. */
void writer_format_span(double seconds, char text[WRITER_SPAN_MAX]);

#endif
