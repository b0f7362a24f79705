/* SPDX-License-Identifier: MIT */
/*
 * The picture of `top`: the daemon, its GPUs, counts, the table of vGPUs, alerts, offers and the
 * newest decisions. On a low terminal the table shrinks first.
 */
#include <math.h>
#include <string.h>

#include "base/terminal/field.h"
#include "gover-ctl/verb/describe.h"
#include "gover-ctl/top/picture.h"

#define BAR_COLUMNS 16
#define EVENTS_MIN  3 /* minimum number of visible decisions; the table shrinks first */
#define ALERTS_MAX  3
#define OFFERS_MAX  2

static const char *number(double value, char text[32])
{
	if (isnan(value))
		return "-";
	snprintf(text, 32, "%.0f", value);
	return text;
}

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
	canvas_colour(canvas, WRITER_BOLD);
	canvas_put(canvas, "gover-d %s", field_text(host, "version"));
	canvas_colour(canvas, WRITER_PLAIN);
	canvas_put(canvas, "  %.8s UTC  up %s  %.0f ticks, %.0f late", clock_of(host, "time"), up,
		   field_number(host, "ticks"), field_number(host, "late_ticks"));
	canvas_colour(canvas, WRITER_YELLOW);
	if (field_true(host, "dry_run"))
		canvas_put(canvas, "  dry run");
	if (view->paused)
		canvas_put(canvas, "  paused");
	canvas_end_line(canvas);
	if (data->notice) {
		canvas_colour(canvas, WRITER_RED);
		canvas_put(canvas, "%s", data->notice);
		canvas_end_line(canvas);
	}
}

static void draw_gpu(struct canvas *canvas, const json_t *gpu)
{
	double util = field_number(gpu, "util_pct");
	char text[32];

	canvas_put(canvas, "%s %s ", field_text(gpu, "name"), field_text(gpu, "backend"));
	canvas_colour(canvas,
		      strcmp(field_text(gpu, "mode"), "act") == 0 ? WRITER_PLAIN : WRITER_YELLOW);
	canvas_put(canvas, "%s  ", field_text(gpu, "mode"));
	canvas_colour(canvas, WRITER_GREEN);
	canvas_bar(canvas, BAR_COLUMNS, util / 100);
	canvas_colour(canvas, WRITER_PLAIN);
	canvas_put(canvas,
		   " busy %3s %%  caps %.0f %%, free %.0f %%  sold %.0f %% (%.2f x)  selling %s",
		   number(util, text), field_number(gpu, "sum_cap_pct"),
		   field_number(gpu, "free_pct"), field_number(gpu, "sum_initial_cap_pct"),
		   field_number(gpu, "overbooking_ratio"), field_text(gpu, "selling"));
	if (!field_true(gpu, "telemetry_valid")) {
		canvas_colour(canvas, WRITER_RED);
		canvas_put(canvas, "  telemetry stale");
	}
	canvas_end_line(canvas);
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
		canvas_end_line(canvas);
	}
	if (n == 0) {
		canvas_put(canvas, "no GPUs (see `gover-ctl doctor`)");
		canvas_end_line(canvas);
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
	canvas_colour(canvas, critical ? WRITER_RED : warning ? WRITER_YELLOW : WRITER_PLAIN);
	canvas_put(canvas, "alerts %d critical, %d warning  ", critical, warning);
	canvas_colour(canvas, open ? WRITER_GREEN : WRITER_PLAIN);
	canvas_put(canvas, "offers %d open  ", open);
	canvas_colour(canvas, WRITER_PLAIN);
	canvas_put(canvas, "%d held, %d on probation", count(vgpus, "held", NULL),
		   count(offers, "state", "probation"));
	canvas_end_line(canvas);
}

static void draw_offers(struct canvas *canvas, const json_t *offers)
{
	const json_t *offer;
	size_t i;

	json_array_foreach (offers, i, offer) {
		double id = field_number(offer, "id");

		if (i == OFFERS_MAX || canvas_lines_left(canvas) < 1)
			return;
		canvas_colour(canvas, WRITER_GREEN);
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
		canvas_end_line(canvas);
	}
}

static void draw_alerts(struct canvas *canvas, const json_t *alerts)
{
	const json_t *alert;
	size_t i;

	json_array_foreach (alerts, i, alert) {
		const char *severity = field_text(alert, "severity");

		if (i == ALERTS_MAX || canvas_lines_left(canvas) < 1)
			return;
		canvas_colour(canvas,
			      strcmp(severity, "critical") == 0 ? WRITER_RED : WRITER_YELLOW);
		canvas_put(canvas, "%.8s %s: %s", clock_of(alert, "raised_at"), severity,
			   field_text(alert, "text"));
		canvas_end_line(canvas);
	}
}

static void draw_decisions(struct canvas *canvas, const json_t *decisions)
{
	char moves[DESCRIBE_MAX];

	if (canvas_lines_left(canvas) < 2)
		return;
	canvas_end_line(canvas);
	for (size_t i = json_array_size(decisions); i-- > 0 && canvas_lines_left(canvas) > 0;) {
		const json_t *decision = json_array_get(decisions, i);

		describe_moves(decision, moves);
		canvas_put(canvas, "%.8s ", clock_of(decision, "time"));
		canvas_colour(canvas, WRITER_BOLD);
		canvas_put(canvas, "%s ", field_text(decision, "kind"));
		canvas_colour(canvas, WRITER_PLAIN);
		canvas_put(canvas, "%s%s%s", moves, moves[0] ? ": " : "",
			   field_text(decision, "why"));
		canvas_end_line(canvas);
	}
}

/* Draws the last line: the keys, or the filter while the user types it. */
static void draw_keys(struct canvas *canvas, const struct top_view *view)
{
	while (canvas_lines_left(canvas) > 1)
		canvas_end_line(canvas);
	canvas_colour(canvas, WRITER_BOLD);
	if (view->mode == TOP_FILTER)
		canvas_put(canvas, "Filter: %s_  (Enter keeps it, Esc clears it)", view->filter);
	else
		canvas_put(canvas,
			   "F1 Help  / Filter%s%s  < > Sort: %s%s  p Pause  Enter Why%s%s  q Quit",
			   view->filter[0] ? ": " : "", view->filter, view->reverse ? "-" : "",
			   top_view_column(view->sort), view->focus[0] ? ": " : "", view->focus);
	canvas_end_line(canvas);
}

static void draw_help(struct canvas *canvas)
{
	const char *key, *what;

	canvas_colour(canvas, WRITER_BOLD);
	canvas_put(canvas, "gover-ctl top " GOVER_VERSION);
	canvas_end_line(canvas);
	canvas_end_line(canvas);
	for (size_t i = 0; (key = top_view_help(i, &what)); i++) {
		canvas_colour(canvas, WRITER_BOLD);
		canvas_field(canvas, 10, key);
		canvas_colour(canvas, WRITER_PLAIN);
		canvas_put(canvas, "%s", what);
		canvas_end_line(canvas);
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
	canvas_end_line(canvas);
	least = canvas->height / 2 > 2 ? canvas->height / 2 : 2;
	lines = canvas_lines_left(canvas) - below;
	picture_draw_table(canvas, data, view, lines > least ? lines : least);
	if (n_alerts + n_offers > 0 && canvas_lines_left(canvas) > 1) {
		canvas_end_line(canvas);
		draw_alerts(canvas, alerts);
		draw_offers(canvas, offers);
	}
	draw_decisions(canvas, json_object_get(data->decisions, "decisions"));
	canvas->height = height;
	if (keys)
		draw_keys(canvas, view);
}
