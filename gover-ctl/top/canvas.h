/* SPDX-License-Identifier: MIT */
/*
 * Lines of text cut to a width and a height, with colours and bars, on the screen (screen.h).
 * Control characters in the text are replaced.
 */
#ifndef GOVER_CTL_TOP_CANVAS_H
#define GOVER_CTL_TOP_CANVAS_H

#include "base/terminal/writer.h"

struct canvas {
	const struct writer *writer; /* decides whether colours and UTF-8 are used */
	int width, height;
	int row, column; /* position of the next text */
};

/* Appends text, cut at the width. */
void canvas_put(struct canvas *canvas, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Appends text in exactly @columns, cut or padded. */
void canvas_field(struct canvas *canvas, int columns, const char *text);
void canvas_colour(struct canvas *canvas, enum writer_colour colour);
/* Appends a bar of @columns, of which @fraction is filled (clamped to 0..1; NAN: nothing). */
void canvas_bar(struct canvas *canvas, int columns, double fraction);
/*
 * Appends a sparkline of the last @columns of @n values. The value @full has the full height. NAN
 * and missing values are gaps.
 */
void canvas_spark(struct canvas *canvas, int columns, const float *values, int n, double full);
/* Ends the line and resets the colour. */
void canvas_end_line(struct canvas *canvas);
/* Returns the number of lines that still fit. */
int canvas_lines_left(const struct canvas *canvas);

#endif
