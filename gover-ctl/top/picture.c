/* SPDX-License-Identifier: MIT */
/*
 * The picture of `top`: the daemon, its GPUs, counts, the table of vGPUs, alerts, offers and the
 * newest decisions. On a low terminal the table shrinks first. On a narrow terminal the table omits
 * parts that do not fit: sparklines, VM, GPU, broken time. The width is in columns of the terminal:
 * a wide character has two.
 */
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/terminal/field.h"
#include "base/xalloc.h"
#include "gover-ctl/shared/describe.h"
#include "gover-ctl/top/picture.h"
#include "gover-ctl/top/screen.h"

#define BAR_COLUMNS	  16
#define EVENTS_MIN	  3 /* minimum number of visible decisions; the table shrinks first */
#define ALERTS_MAX	  3
#define OFFERS_MAX	  2
#define PUT_MAX		  2048
#define NAME_COLUMNS_MIN  4
#define NAME_COLUMNS_MAX  20
#define VM_MAX		  16
#define NOTE_MIN	  10
#define SPARK_COLUMNS_MIN 8
#define SPARK_COLUMNS_MAX 40

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

/* Returns the number of lines that still fit. */
static int lines_left(const struct canvas *canvas)
{
	return canvas->height - canvas->row;
}

static int columns_left(const struct canvas *canvas)
{
	return lines_left(canvas) > 0 ? canvas->width - canvas->column : 0;
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

static void set_colour(struct canvas *canvas, enum writer_colour colour)
{
	if (lines_left(canvas) > 0 && canvas->writer->colours)
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

/* Ends the line and resets the colour. */
static void end_line(struct canvas *canvas)
{
	if (lines_left(canvas) <= 0)
		return;
	set_colour(canvas, WRITER_PLAIN);
	canvas->row++;
	canvas->column = 0;
	screen_move(canvas->row);
}

/* --- the readings of each vGPU --- */

static void push(struct spark *spark, double load, double fps)
{
	if (spark->n == SPARK_READINGS_MAX) {
		memmove(spark->load, spark->load + 1, sizeof(spark->load) - sizeof(float));
		memmove(spark->fps, spark->fps + 1, sizeof(spark->fps) - sizeof(float));
		spark->n--;
	}
	spark->load[spark->n] = (float)load;
	spark->fps[spark->n] = (float)fps;
	spark->n++;
}

struct spark *sparks_find(const struct sparks *sparks, const char *id)
{
	for (size_t i = 0; i < sparks->n; i++)
		if (strcmp(sparks->of[i].id, id) == 0)
			return &sparks->of[i];
	return NULL;
}

void sparks_record(struct sparks *sparks, const json_t *vgpus)
{
	size_t n = json_array_size(vgpus), i;
	struct spark *fresh;
	const json_t *vgpu;

	if (!vgpus) {
		for (i = 0; i < sparks->n; i++)
			push(&sparks->of[i], (double)NAN, (double)NAN);
		return;
	}
	fresh = xcalloc(n ? n : 1, sizeof(*fresh));
	json_array_foreach (vgpus, i, vgpu) {
		const struct spark *known = sparks_find(sparks, field_text(vgpu, "id"));

		if (known)
			fresh[i] = *known;
		else
			snprintf(fresh[i].id, sizeof(fresh[i].id), "%s", field_text(vgpu, "id"));
		push(&fresh[i], field_number(vgpu, "load_pct"), field_either(vgpu, "fps", "rate"));
	}
	free(sparks->of);
	*sparks = (struct sparks){.of = fresh, .n = n};
}

void sparks_prepend_history(struct sparks *sparks, const char *id, const json_t *points)
{
	struct spark *spark = sparks_find(sparks, id), now;
	const json_t *point;
	size_t i;

	if (!spark || spark->n > 1)
		return;
	now = *spark;
	spark->n = 0;
	json_array_foreach (points, i, point) {
		push(spark, field_number(point, "load_pct"), field_either(point, "fps", "rate"));
	}
	for (int k = 0; k < now.n; k++)
		push(spark, (double)now.load[k], (double)now.fps[k]);
}

void sparks_fini(struct sparks *sparks)
{
	free(sparks->of);
	*sparks = (struct sparks){0};
}

/* --- the table of vGPUs, one line each --- */

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
	int id = widest(vgpus, "id", NAME_COLUMNS_MIN, NAME_COLUMNS_MAX), sparks;
	struct layout layout = {.id = id ? id : NAME_COLUMNS_MIN};
	int left = canvas->width - layout.id - numbers;

	layout.broken = take(&left, (int)strlen("BROKEN%"));
	if (json_array_size(json_object_get(host, "gpus")) > 1)
		layout.gpu = take(&left, widest(vgpus, "gpu", NAME_COLUMNS_MIN, VM_MAX));
	sparks = left >= 2 * (SPARK_COLUMNS_MIN + 1) ? 2 * (SPARK_COLUMNS_MIN + 1) : 0;
	left -= sparks;
	layout.vm = take(&left, widest(vgpus, "vm", NAME_COLUMNS_MIN, VM_MAX));
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

	set_colour(canvas, WRITER_BOLD);
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
	end_line(canvas);
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
	set_colour(canvas, field_true(vgpu, "overloaded") ? WRITER_RED : WRITER_PLAIN);
	canvas_put(canvas, "%5s ", number(field_number(vgpu, "util_pct"), 1, text));
	canvas_put(canvas, "%5s ", number(field_number(vgpu, "load_pct"), 1, text));
	put_spark(canvas, layout, spark->load, spark->n, sold);
	set_colour(canvas, field_true(vgpu, "short") ? WRITER_RED : WRITER_PLAIN);
	canvas_put(canvas, "%6s/%-4s ", number(field_either(vgpu, "fps", "rate"), 1, text),
		   number(target > 0 ? target : (double)NAN, 0, other));
	put_spark(canvas, layout, spark->fps, spark->n, target > 0 ? target : max_fps(spark));
	set_colour(canvas, field_true(vgpu, "held") ? WRITER_YELLOW : WRITER_PLAIN);
	canvas_put(canvas, "%4s/%-3.0f ", number(field_number(vgpu, "cap_pct"), 0, text), sold);
	set_colour(canvas, field_true(vgpu, "broken") ? WRITER_RED : WRITER_PLAIN);
	if (layout->broken)
		canvas_put(canvas, "%7s ", number(field_number(vgpu, "broken_time_pct"), 2, text));
	describe_notes(vgpu, notes);
	canvas_put(canvas, "%s", notes);
	end_line(canvas);
}

/* Draws the table of vGPUs in at most @lines lines, with its heading. */
static void draw_table(struct canvas *canvas, const struct picture_data *data,
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
		set_colour(canvas, WRITER_DIM);
		canvas_put(canvas, "  rows %d to %d of %zu", n > 0 ? view->first + 1 : 0,
			   (int)n < view->first + room ? (int)n : view->first + room, n);
		if (n < all)
			canvas_put(canvas, " that match \"%s\"; %zu vGPUs in all", view->filter,
				   all);
		end_line(canvas);
	}
	free(rows);
}

/* --- the other parts --- */

/* Returns the part of an RFC 3339 time after the date: "18:49:56.123Z". */
static const char *clock_of(const json_t *object, const char *key)
{
	static const size_t date = 11; /* length of "2026-11-20T" */
	const char *time = field_text(object, key);

	return strlen(time) > date ? time + date : "";
}

static void draw_daemon(struct canvas *canvas, const struct picture_data *data,
			const struct top_view *view)
{
	const json_t *host = data->host;
	char up[WRITER_SPAN_MAX];

	writer_format_span(field_number(host, "uptime_s"), up);
	set_colour(canvas, WRITER_BOLD);
	canvas_put(canvas, "gover-d %s", field_text(host, "version"));
	set_colour(canvas, WRITER_PLAIN);
	canvas_put(canvas, "  %.8s UTC  up %s  %.0f ticks, %.0f late", clock_of(host, "time"), up,
		   field_number(host, "ticks"), field_number(host, "late_ticks"));
	set_colour(canvas, WRITER_YELLOW);
	if (field_true(host, "dry_run"))
		canvas_put(canvas, "  dry run");
	if (view->paused)
		canvas_put(canvas, "  paused");
	end_line(canvas);
	if (data->notice) {
		set_colour(canvas, WRITER_RED);
		canvas_put(canvas, "%s", data->notice);
		end_line(canvas);
	}
}

static void draw_gpu(struct canvas *canvas, const json_t *gpu)
{
	double util = field_number(gpu, "util_pct");
	char text[32];

	canvas_put(canvas, "%s %s ", field_text(gpu, "name"), field_text(gpu, "backend"));
	set_colour(canvas,
		   strcmp(field_text(gpu, "mode"), "act") == 0 ? WRITER_PLAIN : WRITER_YELLOW);
	canvas_put(canvas, "%s  ", field_text(gpu, "mode"));
	set_colour(canvas, WRITER_GREEN);
	canvas_bar(canvas, BAR_COLUMNS, util / 100);
	set_colour(canvas, WRITER_PLAIN);
	canvas_put(canvas,
		   " busy %3s %%  caps %.0f %%, free %.0f %%  sold %.0f %% (%.2f x)  selling %s",
		   number(util, 0, text), field_number(gpu, "sum_cap_pct"),
		   field_number(gpu, "free_pct"), field_number(gpu, "sum_initial_cap_pct"),
		   field_number(gpu, "overbooking_ratio"), describe_selling(gpu));
	if (!field_true(gpu, "telemetry_valid")) {
		set_colour(canvas, WRITER_RED);
		canvas_put(canvas, "  telemetry stale");
	}
	end_line(canvas);
}

/* The GPUs use at most a third of the height. */
static void draw_gpus(struct canvas *canvas, const json_t *gpus)
{
	size_t n = json_array_size(gpus), shown = n;

	if (n > 1 && n > (size_t)canvas->height / 3)
		shown = canvas->height / 3 > 1 ? (size_t)canvas->height / 3 - 1 : 1;
	for (size_t i = 0; i < shown; i++)
		draw_gpu(canvas, json_array_get(gpus, i));
	if (shown < n) {
		canvas_put(canvas, "%zu more GPUs (`gover-ctl status` shows all)", n - shown);
		end_line(canvas);
	}
	if (n == 0) {
		canvas_put(canvas, "no GPUs (see `gover-ctl doctor`)");
		end_line(canvas);
	}
}

/* Counts the rows in which @key is true or, unless @text is NULL, this text. */
static int count(const json_t *rows, const char *key, const char *text)
{
	const json_t *row;
	size_t i;
	int n = 0;

	json_array_foreach (rows, i, row)
		n += text ? strcmp(field_text(row, key), text) == 0 : field_true(row, key);
	return n;
}

/*
 * Draws important counts first: at a width of 80 columns, the counts after the alerts are cut off.
 */
static void draw_counts(struct canvas *canvas, const json_t *host)
{
	const json_t *vgpus = json_object_get(host, "vgpus"),
		     *offers = json_object_get(host, "offers");
	const json_t *alerts = json_object_get(host, "alerts");
	int critical = count(alerts, "severity", "critical");
	int warning = count(alerts, "severity", "warning");
	int open = count(offers, "state", "open");

	canvas_put(canvas, "%zu vGPUs: %d broken, %d overloaded, %d short  ",
		   json_array_size(vgpus), count(vgpus, "broken", NULL),
		   count(vgpus, "overloaded", NULL), count(vgpus, "short", NULL));
	set_colour(canvas, critical ? WRITER_RED : warning ? WRITER_YELLOW : WRITER_PLAIN);
	canvas_put(canvas, "alerts %d critical, %d warning  ", critical, warning);
	set_colour(canvas, open ? WRITER_GREEN : WRITER_PLAIN);
	canvas_put(canvas, "offers %d open  ", open);
	set_colour(canvas, WRITER_PLAIN);
	canvas_put(canvas, "%d held, %d on probation", count(vgpus, "held", NULL),
		   count(offers, "state", "probation"));
	end_line(canvas);
}

static void draw_offers(struct canvas *canvas, const json_t *offers)
{
	const json_t *offer;
	size_t i;

	json_array_foreach (offers, i, offer) {
		double id = field_number(offer, "id");

		if (i == OFFERS_MAX || lines_left(canvas) < 1)
			return;
		set_colour(canvas, WRITER_GREEN);
		if (strcmp(field_text(offer, "state"), "open") == 0)
			canvas_put(
				canvas,
				"offer %.0f: %.0f %% on %s until %.8s (gover-ctl claim %.0f --id "
				"NAME)",
				id, field_number(offer, "initial_cap_pct"),
				field_text(offer, "gpu"), clock_of(offer, "expires_at"), id);
		else
			canvas_put(canvas, "offer %.0f: sold as vGPU %s on %s, %s", id,
				   field_text(offer, "vgpu"), field_text(offer, "gpu"),
				   field_text(offer, "state"));
		end_line(canvas);
	}
}

static void draw_alerts(struct canvas *canvas, const json_t *alerts)
{
	const json_t *alert;
	size_t i;

	json_array_foreach (alerts, i, alert) {
		const char *severity = field_text(alert, "severity");

		if (i == ALERTS_MAX || lines_left(canvas) < 1)
			return;
		set_colour(canvas, strcmp(severity, "critical") == 0 ? WRITER_RED : WRITER_YELLOW);
		canvas_put(canvas, "%.8s %s: %s", clock_of(alert, "raised_at"), severity,
			   field_text(alert, "text"));
		end_line(canvas);
	}
}

static void draw_decisions(struct canvas *canvas, const json_t *decisions)
{
	char moves[DESCRIBE_MAX];

	if (lines_left(canvas) < 2)
		return;
	end_line(canvas);
	for (size_t i = json_array_size(decisions); i-- > 0 && lines_left(canvas) > 0;) {
		const json_t *decision = json_array_get(decisions, i);

		describe_moves(decision, moves);
		canvas_put(canvas, "%.8s ", clock_of(decision, "time"));
		set_colour(canvas, WRITER_BOLD);
		canvas_put(canvas, "%s ", field_text(decision, "kind"));
		set_colour(canvas, WRITER_PLAIN);
		canvas_put(canvas, "%s%s%s", moves, moves[0] ? ": " : "",
			   field_text(decision, "why"));
		end_line(canvas);
	}
}

/* Draws the last line: the keys, or the filter while the user types it. */
static void draw_keys(struct canvas *canvas, const struct top_view *view)
{
	while (lines_left(canvas) > 1)
		end_line(canvas);
	set_colour(canvas, WRITER_BOLD);
	if (view->mode == TOP_FILTER)
		canvas_put(canvas, "Filter: %s_  (Enter keeps it, Esc clears it)", view->filter);
	else
		canvas_put(canvas,
			   "F1 Help  / Filter%s%s  < > Sort: %s%s  p Pause  Enter Why%s%s  q Quit",
			   view->filter[0] ? ": " : "", view->filter, view->reverse ? "-" : "",
			   top_view_column(view->sort), view->focus[0] ? ": " : "", view->focus);
	end_line(canvas);
}

static void draw_help(struct canvas *canvas)
{
	const char *key, *what;

	set_colour(canvas, WRITER_BOLD);
	canvas_put(canvas, "gover-ctl top " GOVER_VERSION);
	end_line(canvas);
	end_line(canvas);
	for (size_t i = 0; (key = top_view_help(i, &what)); i++) {
		set_colour(canvas, WRITER_BOLD);
		canvas_field(canvas, 10, key);
		set_colour(canvas, WRITER_PLAIN);
		canvas_put(canvas, "%s", what);
		end_line(canvas);
	}
}

void picture_draw(struct canvas *canvas, const struct picture_data *data, struct top_view *view)
{
	const json_t *alerts = json_object_get(data->host, "alerts");
	const json_t *offers = json_object_get(data->host, "offers");
	int n_alerts = (int)json_array_size(alerts), n_offers = (int)json_array_size(offers);
	int keys = canvas->height > 8 ? 1 : 0;
	int below = (n_alerts < ALERTS_MAX ? n_alerts : ALERTS_MAX) +
		    (n_offers < OFFERS_MAX ? n_offers : OFFERS_MAX) + 1 + EVENTS_MIN;
	int lines, least, height = canvas->height;

	if (view->mode == TOP_HELP) {
		draw_help(canvas);
		return;
	}
	canvas->height -= keys;
	draw_daemon(canvas, data, view);
	draw_gpus(canvas, json_object_get(data->host, "gpus"));
	draw_counts(canvas, data->host);
	end_line(canvas);
	least = canvas->height / 2 > 2 ? canvas->height / 2 : 2;
	lines = lines_left(canvas) - below;
	draw_table(canvas, data, view, lines > least ? lines : least);
	if (n_alerts + n_offers > 0 && lines_left(canvas) > 1) {
		end_line(canvas);
		draw_alerts(canvas, alerts);
		draw_offers(canvas, offers);
	}
	draw_decisions(canvas, json_object_get(data->decisions, "decisions"));
	canvas->height = height;
	if (keys)
		draw_keys(canvas, view);
}
