/* SPDX-License-Identifier: MIT */
/*
 * The table of `top`, one line per vGPU. On a narrow terminal it omits parts that do not fit:
 * sparklines, VM, GPU, broken time.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal/field.h"
#include "gover-ctl/verb/describe.h"
#include "gover-ctl/top/picture.h"

#define NAME_MIN	  4
#define NAME_MAX	  20
#define VM_MAX		  16
#define NOTE_MIN	  10
#define SPARK_COLUMNS_MIN 8
#define SPARK_COLUMNS_MAX 40

struct layout {
	int id, vm, gpu, spark, broken; /* width of each part in columns; 0: part omitted */
};

static int widest(const json_t *vgpus, const char *key, int least, int most)
{
	const json_t *vgpu;
	size_t i;
	int width = 0;

	json_array_foreach (vgpus, i, vgpu) {
		int length = (int)strlen(field_text(vgpu, key));

		width = length > width ? length : width;
	}
	if (width == 0)
		return 0;
	return width < least ? least : width > most ? most : width;
}

/*
 * Subtracts @columns and a gap from the free width *@left. Returns @columns, or 0 if they do not
 * fit.
 */
static int take(int *left, int columns)
{
	if (columns <= 0 || *left < columns + 1)
		return 0;
	*left -= columns + 1;
	return columns;
}

static struct layout lay_out(const struct canvas *canvas, const json_t *host)
{
	/* width of "> ", USED%, LOAD%, FPS/TARGET, CAP/SOLD and NOTE; each column has a gap */
	static const int numbers = 2 + 6 + 6 + 12 + 9 + 1 + NOTE_MIN;
	const json_t *vgpus = json_object_get(host, "vgpus");
	int id = widest(vgpus, "id", NAME_MIN, NAME_MAX), sparks;
	struct layout layout = {.id = id ? id : NAME_MIN};
	int left = canvas->width - layout.id - numbers;

	layout.broken = take(&left, (int)strlen("BROKEN%"));
	if (json_array_size(json_object_get(host, "gpus")) > 1)
		layout.gpu = take(&left, widest(vgpus, "gpu", NAME_MIN, VM_MAX));
	sparks = left >= 2 * (SPARK_COLUMNS_MIN + 1) ? 2 * (SPARK_COLUMNS_MIN + 1) : 0;
	left -= sparks;
	layout.vm = take(&left, widest(vgpus, "vm", NAME_MIN, VM_MAX));
	if (sparks) {
		layout.spark = (sparks + left * 2 / 3) / 2 - 1;
		if (layout.spark > SPARK_COLUMNS_MAX)
			layout.spark = SPARK_COLUMNS_MAX;
	}
	return layout;
}

/* Formats a number; "-" if the number is unknown. */
static const char *number(double value, int decimals, char text[32])
{
	if (isnan(value))
		return "-";
	snprintf(text, 32, "%.*f", decimals, value);
	return text;
}

/* Prints a heading, with a mark if the table is sorted by one of the columns @first to @last. */
static void put_head(struct canvas *canvas, const struct top_view *view, enum top_column first,
		     enum top_column last, int columns, bool right, const char *head)
{
	bool sorted = view->sort >= first && view->sort <= last;
	bool text = view->sort <= TOP_GPU;
	char mark = !sorted ? ' ' : text != view->reverse ? '^' : 'v';
	char both[32];

	if (columns <= 0)
		return;
	if (right)
		snprintf(both, sizeof(both), "%*s%c", columns, head, mark);
	else
		snprintf(both, sizeof(both), "%.*s%c", columns, head, mark);
	canvas_field(canvas, columns + 1, both);
}

/* Returns true if a vGPU delivers units of work instead of frames. */
static bool has_work(const json_t *vgpus)
{
	const json_t *vgpu;
	size_t i;

	json_array_foreach (vgpus, i, vgpu)
		if (json_is_number(json_object_get(vgpu, "target_rate")))
			return true;
	return false;
}

static void draw_heads(struct canvas *canvas, const struct layout *layout,
		       const struct top_view *view, const json_t *vgpus)
{
	const char *rate = has_work(vgpus) ? "RATE/TARGET" : " FPS/TARGET";

	canvas_colour(canvas, WRITER_BOLD);
	canvas_put(canvas, "  ");
	put_head(canvas, view, TOP_VGPU, TOP_VGPU, layout->id, false, "VGPU");
	put_head(canvas, view, TOP_VM, TOP_VM, layout->vm, false, "VM");
	put_head(canvas, view, TOP_GPU, TOP_GPU, layout->gpu, false, "GPU");
	put_head(canvas, view, TOP_USED, TOP_USED, 5, true, "USED%");
	put_head(canvas, view, TOP_LOAD, TOP_LOAD, 5, true, "LOAD%");
	if (layout->spark)
		canvas_field(canvas, layout->spark + 1, "");
	put_head(canvas, view, TOP_FPS, TOP_TARGET, 11, false, rate);
	if (layout->spark)
		canvas_field(canvas, layout->spark + 1, "");
	put_head(canvas, view, TOP_CAP, TOP_SOLD, 8, false, "CAP/SOLD");
	put_head(canvas, view, TOP_BROKEN, TOP_BROKEN, layout->broken, true, "BROKEN%");
	canvas_put(canvas, "NOTE");
	canvas_end_line(canvas);
}

static void put_spark(struct canvas *canvas, const struct layout *layout, const float *values,
		      int n, double full)
{
	if (!layout->spark)
		return;
	canvas_spark(canvas, layout->spark, values, n, full);
	canvas_put(canvas, " ");
}

/* Returns the maximum rate. It sets the scale of the sparkline if the vGPU has no target. */
static double max_fps(const struct spark *spark)
{
	double max = 0;

	for (int i = 0; i < spark->n; i++)
		if ((double)spark->fps[i] > max)
			max = (double)spark->fps[i];
	return max;
}

static void put_name(struct canvas *canvas, int columns, const char *text)
{
	if (columns <= 0)
		return;
	canvas_field(canvas, columns, text);
	canvas_put(canvas, " ");
}

static void draw_row(struct canvas *canvas, const struct layout *layout, const json_t *vgpu,
		     const struct sparks *sparks)
{
	static const struct spark nothing;
	const struct spark *spark = sparks_find(sparks, field_text(vgpu, "id"));
	double target = field_either(vgpu, "target_fps", "target_rate"),
	       sold = field_number(vgpu, "initial_cap_pct");
	char text[32], other[32], notes[DESCRIBE_MAX];

	spark = spark ? spark : &nothing;
	put_name(canvas, layout->id, field_text(vgpu, "id"));
	put_name(canvas, layout->vm, field_text(vgpu, "vm"));
	put_name(canvas, layout->gpu, field_text(vgpu, "gpu"));
	canvas_colour(canvas, field_true(vgpu, "overloaded") ? WRITER_RED : WRITER_PLAIN);
	canvas_put(canvas, "%5s ", number(field_number(vgpu, "util_pct"), 1, text));
	canvas_put(canvas, "%5s ", number(field_number(vgpu, "load_pct"), 1, text));
	put_spark(canvas, layout, spark->load, spark->n, sold);
	canvas_colour(canvas, field_true(vgpu, "short") ? WRITER_RED : WRITER_PLAIN);
	canvas_put(canvas, "%6s/%-4s ", number(field_either(vgpu, "fps", "rate"), 1, text),
		   number(target > 0 ? target : (double)NAN, 0, other));
	put_spark(canvas, layout, spark->fps, spark->n, target > 0 ? target : max_fps(spark));
	canvas_colour(canvas, field_true(vgpu, "held") ? WRITER_YELLOW : WRITER_PLAIN);
	canvas_put(canvas, "%4s/%-3.0f ", number(field_number(vgpu, "cap_pct"), 0, text), sold);
	canvas_colour(canvas, field_true(vgpu, "broken") ? WRITER_RED : WRITER_PLAIN);
	if (layout->broken)
		canvas_put(canvas, "%7s ", number(field_number(vgpu, "broken_time_pct"), 2, text));
	describe_notes(vgpu, notes);
	canvas_put(canvas, "%s", notes);
	canvas_end_line(canvas);
}

void picture_draw_table(struct canvas *canvas, const struct picture_data *data,
			struct top_view *view, int lines)
{
	const json_t *vgpus = json_object_get(data->host, "vgpus");
	struct layout layout = lay_out(canvas, data->host);
	size_t n = 0, all = json_array_size(vgpus);
	const json_t **rows = top_view_rows(view, vgpus, &n);
	int room = lines - 1, at;

	draw_heads(canvas, &layout, view, vgpus);
	if (n < all || (int)n > room)
		room = room > 1 ? room - 1 : 1; /* leaves a line for "rows 1 to 5 of 9" */
	at = top_view_scroll(view, rows, n, room);
	for (int i = view->first; i < (int)n && i < view->first + room; i++) {
		canvas_put(canvas, "%s", i == at ? "> " : "  ");
		draw_row(canvas, &layout, rows[i], data->sparks);
	}
	if (n < all || (int)n > room) {
		canvas_colour(canvas, WRITER_DIM);
		canvas_put(canvas, "  rows %d to %d of %zu", n > 0 ? view->first + 1 : 0,
			   (int)n < view->first + room ? (int)n : view->first + room, n);
		if (n < all)
			canvas_put(canvas, " that match \"%s\"; %zu vGPUs in all", view->filter,
				   all);
		canvas_end_line(canvas);
	}
	free(rows);
}
