/* SPDX-License-Identifier: MIT */
/*
 * Lines of text cut to a width and a height, with colours and bars, on the screen or in a file.
 * Control characters in the text are replaced.
 */
#ifndef GOVER_CTL_TOP_CANVAS_H
#define GOVER_CTL_TOP_CANVAS_H

#include <stdbool.h>
#include <stdio.h>

#include "gover-ctl/writer.h"

struct canvas {
	FILE *out;		     /* NULL: the screen (screen.h) */
	const struct writer *writer; /* colours and characters */
	int width, height;	     /* 0: no limit */
	int row, column;	     /* where the next text goes */
};

/* Appends text to the line, as much as fits. */
void canvas_put(struct canvas *canvas, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same in exactly @columns, cut or filled up with spaces. */
void canvas_field(struct canvas *canvas, int columns, const char *text);
void canvas_colour(struct canvas *canvas, enum writer_colour colour);
/* A bar of @columns, filled up to @fraction (cut to 0..1; NAN: empty). */
void canvas_bar(struct canvas *canvas, int columns, double fraction);
/* The last @columns of @n values as a line of that many columns, full height at @full; NAN is a
 * gap, and so is what is not there yet. */
void canvas_spark(struct canvas *canvas, int columns, const float *values, int n, double full);
/* Ends the line. */
void canvas_end_line(struct canvas *canvas);
/* Lines that still fit; a large number where there is no limit. */
int canvas_lines_left(const struct canvas *canvas);

#endif
