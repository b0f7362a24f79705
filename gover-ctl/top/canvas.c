/* SPDX-License-Identifier: MIT */
/*
 * Draws lines of text, cut to a width. The width is in columns of the terminal: a wide character
 * has two.
 */
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <wchar.h>

#include "gover-ctl/top/canvas.h"
#include "gover-ctl/top/screen.h"

#define PUT_MAX 2048

/* Writes @text, at most @limit columns. Returns the number of written columns. */
static int put_cut(const char *text, int limit)
{
	mbstate_t state = {0};
	int columns = 0;

	while (*text && columns < limit) {
		wchar_t c;
		size_t n = mbrtowc(&c, text, strlen(text), &state);
		bool bad = n == 0 || n > MB_LEN_MAX;
		int width = bad ? -1 : wcwidth(c);

		if (bad) {
			state = (mbstate_t){0};
			n = 1;
		}
		if (width > limit - columns)
			break;
		if (width < 0)
			screen_put("?", 1);
		else
			screen_put(text, n);
		columns += width < 0 ? 1 : width;
		text += n;
	}
	return columns;
}

static int columns_left(const struct canvas *canvas)
{
	return canvas_lines_left(canvas) > 0 ? canvas->width - canvas->column : 0;
}

void canvas_put(struct canvas *canvas, const char *format, ...)
{
	char text[PUT_MAX];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	canvas->column += put_cut(text, columns_left(canvas));
}

void canvas_field(struct canvas *canvas, int columns, const char *text)
{
	int limit = columns < columns_left(canvas) ? columns : columns_left(canvas);
	int used = put_cut(text, limit);

	for (int i = used; i < limit; i++)
		screen_put(" ", 1);
	canvas->column += limit;
}

void canvas_colour(struct canvas *canvas, enum writer_colour colour)
{
	if (canvas_lines_left(canvas) > 0 && canvas->writer->colours)
		screen_colour(colour);
}

void canvas_bar(struct canvas *canvas, int columns, double fraction)
{
	/* parts[N] fills N eighths of a column. */
	static const char *const parts[] = {"",	      "\u258f", "\u258e", "\u258d",
					    "\u258c", "\u258b", "\u258a", "\u2589"};
	bool utf8 = canvas->writer->utf8;
	int eighths, full;

	if (columns > columns_left(canvas))
		return;
	fraction = isnan(fraction) || fraction < 0 ? 0 : fraction > 1 ? 1 : fraction;
	eighths = (int)lround(fraction * columns * 8);
	full = utf8 ? eighths / 8 : (eighths + 4) / 8;
	for (int i = 0; i < columns; i++) {
		const char *part = i < full			      ? utf8 ? "\u2588" : "#"
				   : i == full && utf8 && eighths % 8 ? parts[eighths % 8]
				   : utf8			      ? "\u00b7"
								      : ".";

		screen_put(part, strlen(part));
	}
	canvas->column += columns;
}

void canvas_spark(struct canvas *canvas, int columns, const float *values, int n, double full)
{
	/*
	 * Characters of increasing height. The character for the value 0 is visible, so that it
	 * differs from a gap.
	 */
	static const char *const blocks[] = {"\u2581", "\u2582", "\u2583", "\u2584",
					     "\u2585", "\u2586", "\u2587", "\u2588"};
	static const char *const letters[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
	const char *const *heights = canvas->writer->utf8 ? blocks : letters;

	if (columns > columns_left(canvas))
		return;
	for (int i = n - columns; i < n; i++) {
		double part = i >= 0 && full > 0 ? (double)values[i] / full : (double)NAN;
		double height = part < 0 ? 0 : part > 1 ? 1 : part;

		if (isnan(part))
			screen_put(" ", 1);
		else
			screen_put(heights[lround(height * 7)],
				   strlen(heights[lround(height * 7)]));
	}
	canvas->column += columns;
}

void canvas_end_line(struct canvas *canvas)
{
	if (canvas_lines_left(canvas) <= 0)
		return;
	canvas_colour(canvas, WRITER_PLAIN);
	canvas->row++;
	canvas->column = 0;
	screen_move(canvas->row);
}

int canvas_lines_left(const struct canvas *canvas)
{
	return canvas->height - canvas->row;
}
