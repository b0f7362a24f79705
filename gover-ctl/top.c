/* SPDX-License-Identifier: MIT */
/*
 * The picture of `top`: the daemon, its GPUs, a line for each vGPU (use, frames against the target,
 * cap against what was sold), alerts, and what just happened. Gives up columns, then lines, as room
 * runs out: bars before numbers, vGPUs before the newest decisions.
 */
#include <math.h>
#include <string.h>

#include "gover-ctl/field.h"
#include "gover-ctl/tell.h"
#include "gover-ctl/top.h"

#define WIDTH_UNLIMITED 110 /* what to lay out for where there is no limit */
#define ID_COLUMNS_MAX	20
#define VM_COLUMNS	12
#define NOTE_COLUMNS	20
#define NUMBER_COLUMNS	29 /* "  97 %", " 52.1/60   ", "  34/50  " and gaps */
#define BAR_MIN		4
#define BAR_MAX		16
#define EVENTS_MIN	3 /* decisions that are shown however many vGPUs there are */
#define ALERTS_MAX	3

struct layout {
	int id, vm, bar; /* columns; 0: left out */
};

static struct layout lay_out(const struct canvas *canvas, const json_t *vgpus)
{
	int width = canvas->width > 0 ? canvas->width : WIDTH_UNLIMITED;
	struct layout layout = {.id = (int)strlen("VGPU")};
	const json_t *vgpu;
	bool any_vm = false;
	size_t i;
	int left;

	json_array_foreach (vgpus, i, vgpu) {
		int length = (int)strlen(field_text(vgpu, "id"));

		if (length > layout.id)
			layout.id = length < ID_COLUMNS_MAX ? length : ID_COLUMNS_MAX;
		any_vm = any_vm || field_text(vgpu, "vm")[0];
	}
	left = width - layout.id - NUMBER_COLUMNS - NOTE_COLUMNS;
	if (any_vm && left - VM_COLUMNS - 1 >= 3 * (BAR_MIN + 1)) {
		layout.vm = VM_COLUMNS;
		left -= VM_COLUMNS + 1;
	}
	layout.bar = left / 3 - 1;
	if (layout.bar < BAR_MIN)
		layout.bar = 0;
	else if (layout.bar > BAR_MAX)
		layout.bar = BAR_MAX;
	return layout;
}

/* "-" where it is not known. */
static const char *number(double value, int decimals, char text[32])
{
	if (isnan(value))
		return "-";
	snprintf(text, 32, "%.*f", decimals, value);
	return text;
}

/* "18:49:56" of an RFC 3339 time. */
static const char *clock_of(const json_t *object, const char *key)
{
	static const size_t date = 11; /* "2026-11-20T" */
	const char *time = field_text(object, key);

	return strlen(time) > date ? time + date : "";
}

static void draw_daemon(struct canvas *canvas, const json_t *host, const char *notice)
{
	char up[WRITER_SPAN_MAX];

	writer_span(field_number(host, "uptime_s"), up);
	canvas_colour(canvas, WRITER_BOLD);
	canvas_put(canvas, "gover-d %s", field_text(host, "version"));
	canvas_colour(canvas, WRITER_PLAIN);
	canvas_put(canvas, "  %.8s UTC  up %s  %.0f ticks, %.0f late", clock_of(host, "time"), up,
		   field_number(host, "ticks"), field_number(host, "late_ticks"));
	if (field_true(host, "dry_run")) {
		canvas_colour(canvas, WRITER_YELLOW);
		canvas_put(canvas, "  dry run");
	}
	canvas_end(canvas);
	if (notice) {
		canvas_colour(canvas, WRITER_RED);
		canvas_put(canvas, "%s", notice);
		canvas_end(canvas);
	}
}

static void draw_gpus(struct canvas *canvas, const json_t *gpus)
{
	const json_t *gpu;
	size_t i;

	json_array_foreach (gpus, i, gpu) {
		double util = field_number(gpu, "util_pct");
		bool valid = field_true(gpu, "telemetry_valid");
		char text[32];

		canvas_put(canvas, "%s %s %s  ", field_text(gpu, "name"),
			   field_text(gpu, "backend"), field_text(gpu, "mode"));
		canvas_bar(canvas, BAR_MAX, util / 100);
		canvas_put(canvas,
			   " %3s %%  caps %.0f %%, free %.0f %%  sold %.0f %% (%.2f x)  selling %s",
			   number(util, 0, text), field_number(gpu, "sum_cap_pct"),
			   field_number(gpu, "free_pct"), field_number(gpu, "sum_initial_cap_pct"),
			   field_number(gpu, "overbooking_ratio"), field_text(gpu, "selling"));
		if (!valid) {
			canvas_colour(canvas, WRITER_RED);
			canvas_put(canvas, "  telemetry stale");
		}
		canvas_end(canvas);
	}
	if (json_array_size(gpus) == 0) {
		canvas_put(canvas,
			   "no GPU is driven here: `gover-ctl doctor` says what this host lacks");
		canvas_end(canvas);
	}
}

static void draw_heads(struct canvas *canvas, const struct layout *layout)
{
	int gap = layout->bar ? layout->bar + 1 : 0;

	canvas_end(canvas);
	canvas_colour(canvas, WRITER_BOLD);
	canvas_field(canvas, layout->id, "VGPU");
	if (layout->vm) {
		canvas_put(canvas, " ");
		canvas_field(canvas, layout->vm, "VM");
	}
	canvas_put(canvas, " ");
	canvas_field(canvas, gap + 6, "  UTIL");
	canvas_put(canvas, "  ");
	canvas_field(canvas, gap + 11, "  FPS/TARGET");
	canvas_put(canvas, "  ");
	canvas_field(canvas, gap + 7, "CAP/SOLD");
	canvas_put(canvas, "  NOTE");
	canvas_end(canvas);
}

static void draw_bar(struct canvas *canvas, const struct layout *layout, double fraction)
{
	if (!layout->bar)
		return;
	canvas_bar(canvas, layout->bar, fraction);
	canvas_put(canvas, " ");
}

static void draw_vgpu(struct canvas *canvas, const struct layout *layout, const json_t *vgpu)
{
	double util = field_number(vgpu, "util_pct"), fps = field_number(vgpu, "fps");
	double target = field_number(vgpu, "target_fps"), cap = field_number(vgpu, "cap_pct");
	double sold = field_number(vgpu, "initial_cap_pct");
	char text[32], target_text[32], notes[TELL_MAX];

	canvas_field(canvas, layout->id, field_text(vgpu, "id"));
	if (layout->vm) {
		canvas_put(canvas, " ");
		canvas_field(canvas, layout->vm, field_text(vgpu, "vm"));
	}
	canvas_put(canvas, " ");
	canvas_colour(canvas, field_true(vgpu, "overloaded") ? WRITER_RED : WRITER_PLAIN);
	draw_bar(canvas, layout, util / 100);
	canvas_put(canvas, "%4s %%  ", number(util, 0, text));

	canvas_colour(canvas, field_true(vgpu, "short") ? WRITER_RED : WRITER_PLAIN);
	draw_bar(canvas, layout, target > 0 ? fps / target : NAN);
	canvas_put(canvas, "%5s/%-5s  ", number(fps, 1, text),
		   number(target > 0 ? target : NAN, 0, target_text));

	canvas_colour(canvas, field_true(vgpu, "held") ? WRITER_YELLOW : WRITER_PLAIN);
	draw_bar(canvas, layout, cap / sold);
	canvas_put(canvas, "%3s/%-3.0f  ", number(cap, 0, text), sold);

	tell_notes(vgpu, notes);
	canvas_put(canvas, "%s", notes);
	canvas_end(canvas);
}

static void draw_vgpus(struct canvas *canvas, const json_t *vgpus, int lines)
{
	struct layout layout = lay_out(canvas, vgpus);
	int n = (int)json_array_size(vgpus);
	int shown = n <= lines ? n : lines - 1;

	draw_heads(canvas, &layout);
	for (int i = 0; i < shown; i++)
		draw_vgpu(canvas, &layout, json_array_get(vgpus, (size_t)i));
	if (shown < n) {
		canvas_put(canvas, "and %d more: `gover-ctl vgpu list` shows all", n - shown);
		canvas_end(canvas);
	}
}

static void draw_alerts(struct canvas *canvas, const json_t *alerts)
{
	const json_t *alert;
	size_t i;

	json_array_foreach (alerts, i, alert) {
		const char *severity = field_text(alert, "severity");

		if (i == ALERTS_MAX || canvas_left(canvas) < 1)
			return;
		canvas_colour(canvas,
			      strcmp(severity, "critical") == 0 ? WRITER_RED : WRITER_YELLOW);
		canvas_put(canvas, "%.8s %s: %s", clock_of(alert, "raised_at"), severity,
			   field_text(alert, "text"));
		canvas_end(canvas);
	}
}

static void draw_decisions(struct canvas *canvas, const json_t *decisions)
{
	char moves[TELL_MAX];

	if (canvas_left(canvas) < 2)
		return;
	canvas_end(canvas);
	for (size_t i = json_array_size(decisions); i-- > 0 && canvas_left(canvas) > 0;) {
		const json_t *decision = json_array_get(decisions, i);

		tell_moves(decision, moves);
		canvas_put(canvas, "%.8s ", clock_of(decision, "time"));
		canvas_colour(canvas, WRITER_BOLD);
		canvas_put(canvas, "%s ", field_text(decision, "kind"));
		canvas_colour(canvas, WRITER_PLAIN);
		canvas_put(canvas, "%s%s%s", moves, moves[0] ? ": " : "",
			   field_text(decision, "why"));
		canvas_end(canvas);
	}
}

void top_draw(struct canvas *canvas, const json_t *host, const json_t *decisions,
	      const char *notice)
{
	const json_t *alerts = json_object_get(host, "alerts");
	int n_alerts = (int)json_array_size(alerts);
	int below = (n_alerts < ALERTS_MAX ? n_alerts : ALERTS_MAX) + 1 + EVENTS_MIN;
	int lines;

	draw_daemon(canvas, host, notice);
	draw_gpus(canvas, json_object_get(host, "gpus"));
	lines = canvas_left(canvas) - 2 - below;
	draw_vgpus(canvas, json_object_get(host, "vgpus"), lines > 1 ? lines : 1);
	if (n_alerts > 0 && canvas_left(canvas) > 1) {
		canvas_end(canvas);
		draw_alerts(canvas, alerts);
	}
	draw_decisions(canvas, json_object_get(decisions, "decisions"));
}
