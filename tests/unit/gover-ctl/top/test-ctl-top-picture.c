/* SPDX-License-Identifier: MIT */
/*
 * The picture and the view of `top`: the content, the fit to terminals of every size, sorting,
 * filter, cursor and keys.
 */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-ctl/top/picture.h"
#include "gover-ctl/top/screen.h"
#include "tests/unit/unit.h"

static FILE *screen; /* receives the picture */

/* The screen, as a text. */
void screen_put(const char *text, size_t length)
{
	fwrite(text, 1, length, screen);
}

void screen_colour(enum writer_colour colour)
{
	fputs(writer_colour(&(struct writer){.colours = true}, colour), screen);
}

void screen_move(int row)
{
	(void)row;
	fputc('\n', screen);
}

static json_t *make_vgpu(int i)
{
	char id[16];

	snprintf(id, sizeof(id), "vgpu%d", i);
	return json_pack("{s:s, s:s, s:s, s:i, s:i, s:f, s:f, s:f, s:f, s:i, s:s, s:b}", "id", id,
			 "gpu", "gpu0", "vm", "db-7", "initial_cap_pct", 50, "cap_pct", 25,
			 "util_pct", 97.4, "load_pct", 48.7, "broken_time_pct", 1.25, "fps", 30.0,
			 "target_fps", 60, "state", "active", "overloaded", 1);
}

static json_t *make_host(int vgpus, int alerts)
{
	json_t *list = json_array(), *alert_list = json_array();

	for (int i = 0; i < vgpus; i++)
		json_array_append_new(list, make_vgpu(i));
	for (int i = 0; i < alerts; i++)
		json_array_append_new(alert_list,
				      json_pack("{s:s, s:s, s:s}", "severity", "critical", "text",
						"two want more", "raised_at",
						"2026-11-20T18:49:50.123Z"));
	return json_pack(
		"{s:s, s:s, s:f, s:i, s:i, s:[{s:s, s:s, s:s, s:s, s:f, s:b, s:i, s:i, s:i, "
		"s:f}], s:o, s:o}",
		"version", "0.1.0", "time", "2026-11-20T18:49:56.123Z", "uptime_s", 7980.0, "ticks",
		7985, "late_ticks", 0, "gpus", "name", "gpu0", "backend", "softgpu", "mode", "act",
		"selling", "on", "util_pct", 83.0, "telemetry_valid", 1, "sum_cap_pct", 90,
		"free_pct", 10, "sum_initial_cap_pct", 150, "overbooking_ratio", 1.5, "vgpus", list,
		"alerts", alert_list);
}

static json_t *make_decisions(int n)
{
	json_t *list = json_array();

	for (int i = 0; i < n; i++) {
		char why[64];

		snprintf(why, sizeof(why), "reason number %d", i);
		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:[]}", "time",
						      "2026-11-20T18:49:55.123Z", "kind", "steal",
						      "why", why, "moves"));
	}
	return json_pack("{s:o}", "decisions", list);
}

struct size {
	int width, height;
	bool utf8, colours;
};

/* Returns the picture as text, which the caller frees. */
static char *draw(struct size size, int vgpus, int alerts, int decisions, const char *notice)
{
	struct top_view view = {.first = 0};
	struct writer writer = {.utf8 = size.utf8, .colours = size.colours};
	json_t *host = make_host(vgpus, alerts), *list = make_decisions(decisions);
	struct sparks sparks = {0};
	struct picture_data data = {
		.host = host, .decisions = list, .sparks = &sparks, .notice = notice};
	size_t length;
	char *text = NULL;
	struct canvas canvas = {
		.writer = &writer,
		.width = size.width,
		.height = size.height,
	};

	screen = open_memstream(&text, &length);
	assert_non_null(screen);
	sparks_record(&sparks, json_object_get(host, "vgpus"));
	picture_draw(&canvas, &data, &view);
	fclose(screen);
	sparks_fini(&sparks);
	json_decref(host);
	json_decref(list);
	return text;
}

TEST(a_vgpu_has_one_line_of_numbers)
{
	CLEANUP_FREE char *text = draw((struct size){.width = 100, .height = 8}, 1, 0, 1, NULL);

	assert_string_equal(
		text,
		"gover-d 0.1.0  18:49:56 UTC  up 2 h 13 min  7985 ticks, 0 late\n"
		"gpu0 softgpu act  #############... busy  83 %  caps 90 %, free 10 %  sold 150 % "
		"(1.50 "
		"x)  selling on\n"
		"1 vGPUs: 0 broken, 1 overloaded, 0 short  alerts 0 critical, 0 warning  offers 0 "
		"open  0 held, 0 on \n\n"
		"  VGPU  VM   USED% LOAD%                 FPS/TARGET                CAP/SOLD "
		"BROKEN% "
		"NOTE\n"
		"> vgpu0 db-7  97.4  48.7              #   30.0/60                =   25/50     "
		"1.25 "
		"overloaded\n\n"
		"18:49:55 steal reason number 0\n");
}

TEST(the_picture_fits_every_size)
{
	for (int width = 1; width <= 140; width += 7) {
		for (int height = 1; height <= 40; height += 3) {
			CLEANUP_FREE char *text =
				draw((struct size){.width = width, .height = height}, 9, 4, 20,
				     "no answer");
			int rows = 0, columns = 0;

			for (const char *c = text; *c; c++) {
				columns = *c == '\n' ? 0 : columns + 1;
				rows += *c == '\n';
				if (columns > width)
					fail_msg("%d x %d: a line is wider", width, height);
			}
			if (rows > height)
				fail_msg("%d x %d: %d lines", width, height, rows);
		}
	}
}

TEST(the_last_line_of_the_screen_has_the_keys)
{
	CLEANUP_FREE char *text = draw((struct size){.width = 80, .height = 10}, 3, 1, 20, NULL);
	const char *line = text;

	for (int i = 1; i < 10; i++) {
		line = strchr(line, '\n');
		assert_non_null(line++);
	}
	assert_int_equal(strncmp(line, "F1 Help", 7), 0);
	assert_string_equal(strchr(line, '\n'), "\n");
}

TEST(rows_that_do_not_fit_are_counted)
{
	CLEANUP_FREE char *text = draw((struct size){.width = 100, .height = 24}, 40, 2, 20, NULL);

	assert_non_null(strstr(text, "vgpu0 "));
	assert_non_null(strstr(text, "1 to 11 of 40\n"));
	assert_non_null(strstr(text, "two want more"));
	assert_non_null(strstr(text, "reason number 19"));
}

TEST(the_newest_decision_comes_first)
{
	CLEANUP_FREE char *text = draw((struct size){.width = 100, .height = 24}, 1, 0, 5, NULL);
	const char *newest = strstr(text, "reason number 4"),
		   *oldest = strstr(text, "reason number 0");

	assert_non_null(newest);
	assert_non_null(oldest);
	assert_true(newest < oldest);
}

TEST(a_narrow_screen_omits_the_sparklines)
{
	CLEANUP_FREE char *text = draw((struct size){.width = 60, .height = 24}, 1, 0, 0, NULL);
	const char *line = strstr(text, "vgpu0 ");

	assert_non_null(line);
	assert_null(strchr(line, '#'));
	assert_non_null(strstr(line, "97.4"));
	assert_non_null(strstr(line, "30.0/60"));
	assert_non_null(strstr(line, "25/50"));
}

TEST(a_missing_reply_is_shown_above_the_old_picture)
{
	CLEANUP_FREE char *text =
		draw((struct size){.width = 100, .height = 24}, 1, 0, 0, "no answer from gover-d");

	assert_non_null(strstr(text, "\nno answer from gover-d\n"));
	assert_non_null(strstr(text, "vgpu0 "));
}

TEST(colours_end_with_their_line)
{
	CLEANUP_FREE char *text =
		draw((struct size){.width = 100, .height = 24, .colours = true}, 2, 1, 2, "away");
	const char *reset = "\033[0m";

	assert_non_null(strstr(text, "\033[31m"));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		const char *last = strrchr(line, '\033');

		if (last && strncmp(last, reset, strlen(reset)) != 0)
			fail_msg("a line leaves its colour on: %s", line);
	}
}

static char *line; /* the text that was drawn on the canvas of begin_line() */

/* Returns an empty canvas of one line; end_line() compares its text. */
static struct canvas begin_line(const struct writer *writer, int width)
{
	static size_t length;

	screen = open_memstream(&line, &length);
	assert_non_null(screen);
	return (struct canvas){.writer = writer, .width = width, .height = 1};
}

static void end_line(const char *wanted)
{
	fclose(screen);
	assert_string_equal(line, wanted);
	free(line);
}

TEST(bars_use_characters_of_the_locale)
{
	static const struct {
		bool utf8;
		double fraction;
		const char *bar;
	} rows[] = {
		{false, 0, "...."},
		{false, 0.5, "##.."},
		{false, 1, "####"},
		{false, 7, "####"},
		{false, -1, "...."},
		{false, (double)NAN, "...."},
		{true, 0.5, "\u2588\u2588\u00b7\u00b7"},
		{true, 0.53125, "\u2588\u2588\u258f\u00b7"},
		{true, 0.71875, "\u2588\u2588\u2589\u00b7"},
		{true, 1, "\u2588\u2588\u2588\u2588"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct writer writer = {.utf8 = rows[i].utf8};
		struct canvas canvas = begin_line(&writer, 4);

		canvas_bar(&canvas, 4, rows[i].fraction);
		assert_int_equal(canvas.column, 4);
		end_line(rows[i].bar);
	}
}

TEST(sparklines_use_characters_of_the_locale)
{
	static const float values[] = {0, 25, 50, (float)NAN, 100, 700};
	static const struct {
		bool utf8;
		int columns;
		double full;
		const char *text;
	} rows[] = {
		{false, 6, 100, "_:= ##"},	{false, 8, 100, "  _:= ##"},
		{false, 2, 100, "##"},		{false, 3, 0, "   "},
		{false, 3, (double)NAN, "   "}, {true, 6, 100, "\u2581\u2583\u2585 \u2588\u2588"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct writer writer = {.utf8 = rows[i].utf8};
		struct canvas canvas = begin_line(&writer, 8);

		canvas_spark(&canvas, rows[i].columns, values, ARRAY_SIZE(values), rows[i].full);
		end_line(rows[i].text);
	}
}

TEST(text_is_cut_by_columns_and_controls_are_masked)
{
	const struct writer writer = {.utf8 = true};
	struct canvas canvas;

	if (!setlocale(LC_CTYPE, "C.UTF-8")) {
		print_message("# no locale C.UTF-8\n");
		skip();
	}
	canvas = begin_line(&writer, 12);
	canvas_field(&canvas, 4, "\u00e4\u00f6\u00fc");
	canvas_field(&canvas, 3,
		     "\033\xff"
		     "cd");
	canvas_field(&canvas, 3, "\u4e16\u754c");
	canvas_put(&canvas, "%s", "long");
	setlocale(LC_CTYPE, "C");
	assert_int_equal(canvas.column, 12);
	end_line("\u00e4\u00f6\u00fc ??c\u4e16 lo");
}

/* --- the view of `top`: sorting, filter, cursor, keys and sparklines --- */

/* Returns four vGPUs; the last vGPU has no frame rate. */
static json_t *make_vgpus(void)
{
	return json_pack("[{s:s, s:s, s:s, s:f, s:f, s:{s:s}}, {s:s, s:s, s:s, s:f, s:f, s:b}, "
			 "{s:s, s:s, s:s, s:f, s:f}, {s:s, s:s, s:s, s:f, s:n}]",
			 "id", "vgpu10", "vm", "Alpha", "gpu", "gpu0", "util_pct", 10.0, "fps",
			 60.0, "labels", "tenant", "blue", "id", "vgpu2", "vm", "beta", "gpu",
			 "gpu1", "util_pct", 90.0, "fps", 30.0, "held", 1, "id", "vgpu1", "vm",
			 "gamma", "gpu", "gpu0", "util_pct", 50.0, "fps", 45.0, "id", "web", "vm",
			 "", "gpu", "gpu0", "util_pct", 90.0, "fps");
}

static void assert_order(const struct top_view *view, const json_t *vgpus, const char *wanted)
{
	size_t n = 0;
	const json_t **rows = top_view_rows(view, vgpus, &n);
	char text[256] = "";

	assert_non_null(rows);
	for (size_t i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
			 json_string_value(json_object_get(rows[i], "id")));
	free(rows);
	assert_string_equal(text, wanted);
}

TEST(every_column_sorts_in_both_orders_with_unknown_values_last)
{
	static const struct {
		const char *sort, *order;
	} rows[] = {
		{"vgpu", "vgpu1 vgpu2 vgpu10 web"}, {"-vgpu", "web vgpu10 vgpu2 vgpu1"},
		{"vm", "web vgpu10 vgpu2 vgpu1"},   {"gpu", "vgpu1 vgpu10 web vgpu2"},
		{"used", "vgpu2 web vgpu1 vgpu10"}, {"-used", "vgpu10 vgpu1 vgpu2 web"},
		{"util", "vgpu2 web vgpu1 vgpu10"}, /* the former name */
		{"fps", "vgpu10 vgpu1 vgpu2 web"},  {"-fps", "vgpu2 vgpu1 vgpu10 web"},
	};
	json_t *vgpus = make_vgpus();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct top_view view = {0};
		struct err err;

		assert_int_equal(top_view_sort(&view, rows[i].sort, &err), 0);
		assert_order(&view, vgpus, rows[i].order);
	}
	json_decref(vgpus);
}

/* Each row is a vGPU: id, promise, short, overloaded, fps, target_fps, load_pct. */
static json_t *make_states(void)
{
	static const struct {
		const char *id, *promise;
		int is_short, overloaded;
		double fps, target, load;
	} rows[] = {
		{"idle", "kept", 0, 0, 60, 60, 2},	 {"busy", "kept", 0, 0, 60, 60, 41},
		{"over", "kept", 0, 1, 60, 60, 10},	 {"short", "kept", 1, 0, 50, 60, 10},
		{"broken9", "broken", 1, 1, 54, 60, 90}, {"broken10", "broken", 1, 0, 53.9, 60, 95},
		{"far", "broken", 0, 0, 20, 60, 5},	 {"mute", "missing", 0, 0, 0, 60, 0},
		{"busier", "kept", 0, 0, 60, 60, 49},	 {"new", "unknown", 0, 0, 60, 60, 0},
	};
	json_t *vgpus = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		json_array_append_new(
			vgpus, json_pack("{s:s, s:s, s:b, s:b, s:f, s:f, s:f}", "id", rows[i].id,
					 "promise", rows[i].promise, "short", rows[i].is_short,
					 "overloaded", rows[i].overloaded, "fps", rows[i].fps,
					 "target_fps", rows[i].target, "load_pct", rows[i].load));
	return vgpus;
}

TEST(the_default_order_begins_with_the_worst_and_is_stable)
{
	static const char order[] = "far broken9 broken10 mute short over new busier busy idle";
	json_t *vgpus = make_states(), *vgpu;
	struct top_view view = {0};

	assert_order(&view, vgpus, order);
	/* a small change of rate and load moves no row */
	vgpu = json_array_get(vgpus, 8);
	json_object_set_new(vgpu, "load_pct", json_real(40.1));
	vgpu = json_array_get(vgpus, 6);
	json_object_set_new(vgpu, "fps", json_real(20.5));
	assert_order(&view, vgpus, order);
	json_decref(vgpus);
}

TEST(without_a_promise_field_the_flags_decide)
{
	json_t *vgpus = json_pack("[{s:s, s:f}, {s:s, s:b}, {s:s, s:b}]", "id", "a", "load_pct",
				  9.0, "id", "b", "overloaded", 1, "id", "c", "broken", 1);
	struct top_view view = {0};

	assert_order(&view, vgpus, "c b a");
	view.reverse = true;
	assert_order(&view, vgpus, "a b c");
	json_decref(vgpus);
}

TEST(an_unknown_column_is_rejected)
{
	struct top_view view = {0};
	struct err err;

	assert_true(top_view_sort(&view, "size", &err) < 0);
	assert_string_equal(
		err.msg, "--sort 'size': not allowed (allowed: worst, vgpu, vm, gpu, used, load, "
			 "fps, target, cap, sold, broken; - before a name reverses the order)");
}

TEST(a_filter_matches_names_labels_and_notes)
{
	static const struct {
		const char *filter, *order;
	} rows[] = {
		{"ALPHA", "vgpu10"},	 {"gpu1", "vgpu1 vgpu2 vgpu10"},
		{"tenant=bl", "vgpu10"}, {"held", "vgpu2"},
		{"missing", ""},
	};
	json_t *vgpus = make_vgpus();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct top_view view = {0};

		strcpy(view.filter, rows[i].filter);
		assert_order(&view, vgpus, rows[i].order);
	}
	json_decref(vgpus);
}

/* Presses the keys in @keys one after the other. */
static int press(struct top_view *view, const char *keys, const json_t *vgpus)
{
	int r = 0;

	for (; *keys; keys++)
		r = top_view_key(view, (unsigned char)*keys, vgpus);
	return r;
}

TEST(keys_do_what_the_help_says)
{
	struct top_view view = {.delay_ms = 1000, .lines = 10};
	json_t *vgpus = make_vgpus();

	press(&view, "u", vgpus);
	assert_int_equal(view.sort, TOP_USED);
	press(&view, "u", vgpus);
	assert_true(view.reverse);
	press(&view, "I>", vgpus);
	assert_int_equal(view.sort, TOP_LOAD);
	press(&view, "n<", vgpus);
	assert_int_equal(view.sort, TOP_WORST);
	press(&view, "<", vgpus);
	assert_int_equal(view.sort, TOP_BROKEN);
	press(&view, "w", vgpus);
	assert_int_equal(view.sort, TOP_WORST);
	assert_int_equal(press(&view, "p", vgpus), 0);
	assert_true(view.paused);
	assert_int_equal(press(&view, " ", vgpus), TOP_REFRESH);
	assert_false(view.paused);
	press(&view, "++-", vgpus);
	assert_int_equal(view.delay_ms, 2000);
	press(&view, "-----------", vgpus);
	assert_int_equal(view.delay_ms, TOP_DELAY_MIN_MS);
	assert_int_equal(top_view_key(&view, SCREEN_F1, vgpus), 0);
	assert_int_equal(view.mode, TOP_HELP);
	/* this key closes the help and does not quit */
	assert_int_equal(press(&view, "q", vgpus), 0);
	assert_int_equal(view.mode, TOP_TABLE);
	assert_int_equal(press(&view, "q", vgpus), 1);
	assert_int_equal(top_view_key(&view, SCREEN_F10, vgpus), 1);
	json_decref(vgpus);
}

TEST(a_filter_applies_while_it_is_typed)
{
	struct top_view view = {0};
	json_t *vgpus = make_vgpus();

	press(&view, "/w", vgpus);
	assert_int_equal(view.mode, TOP_FILTER);
	assert_order(&view, vgpus, "web");
	press(&view, "q\x7f\x7f", vgpus);
	assert_string_equal(view.filter, "");
	press(&view, "\xc3\xa4", vgpus);
	assert_string_equal(view.filter, "\xc3\xa4");
	press(&view, "\x7f", vgpus);
	assert_string_equal(view.filter, "");
	press(&view, "beta\r", vgpus);
	assert_int_equal(view.mode, TOP_TABLE);
	assert_order(&view, vgpus, "vgpu2");
	top_view_key(&view, SCREEN_ESCAPE, vgpus);
	assert_string_equal(view.filter, "");
	for (int i = 0; i < 200; i++)
		press(&view, i == 0 ? "/" : "x", vgpus);
	assert_int_equal(strlen(view.filter), TOP_FILTER_MAX - 1);
	json_decref(vgpus);
}

TEST(the_cursor_stays_on_its_vgpu)
{
	struct top_view view = {0};
	json_t *vgpus = make_vgpus();
	size_t n;
	const json_t **rows;

	press(&view, "jj", vgpus); /* order of the rows: vgpu1 vgpu2 vgpu10 web */
	assert_string_equal(view.cursor, "vgpu10");
	press(&view, "u", vgpus);
	assert_string_equal(view.cursor, "vgpu10");
	rows = top_view_rows(&view, vgpus, &n);
	assert_non_null(rows);
	assert_int_equal(top_view_scroll(&view, rows, n, 2), 3);
	assert_int_equal(view.first, 2);
	free(rows);
	top_view_key(&view, SCREEN_HOME, vgpus);
	assert_string_equal(view.cursor, "vgpu2");
	top_view_key(&view, SCREEN_END, vgpus);
	assert_string_equal(view.cursor, "vgpu10");
	assert_int_equal(press(&view, "\r", vgpus), TOP_REFRESH);
	assert_string_equal(view.focus, "vgpu10");
	assert_int_equal(press(&view, "\r", vgpus), TOP_REFRESH);
	assert_string_equal(view.focus, "");
	json_decref(vgpus);
}

TEST(keys_work_without_vgpus)
{
	struct top_view view = {.delay_ms = 1000};

	for (int key = 1; key <= SCREEN_UNKNOWN; key++)
		(void)top_view_key(&view, key, NULL);
	assert_string_equal(view.cursor, "");
}

TEST(readings_are_kept_with_gaps)
{
	struct sparks sparks = {0};
	json_t *vgpus = make_vgpus(), *less, *points;
	const struct spark *spark;

	sparks_record(&sparks, vgpus);
	points = json_pack("[{s:f, s:n}, {s:f, s:f}]", "load_pct", 7.0, "fps", "load_pct", 8.0,
			   "fps", 9.0);
	sparks_prepend_history(&sparks, "vgpu2", points);
	sparks_prepend_history(&sparks, "missing", points);
	sparks_record(&sparks, NULL);
	sparks_prepend_history(&sparks, "vgpu2", points);
	spark = sparks_find(&sparks, "vgpu2");
	assert_non_null(spark);
	/* expected: two points of the history, one reading of a reply, one gap */
	assert_int_equal(spark->n, 4);
	assert_true(isnan(spark->fps[0]));
	assert_true(fabs((double)spark->load[1] - 8) < 0.01);
	assert_true(fabs((double)spark->fps[2] - 30) < 0.01);
	assert_true(isnan(spark->fps[3]));
	for (int i = 0; i < 2 * SPARK_READINGS_MAX; i++)
		sparks_record(&sparks, vgpus);
	assert_int_equal(sparks_find(&sparks, "web")->n, SPARK_READINGS_MAX);
	less = json_pack("[O]", json_array_get(vgpus, 1));
	sparks_record(&sparks, less);
	assert_null(sparks_find(&sparks, "web"));
	assert_int_equal(sparks_find(&sparks, "vgpu2")->n, SPARK_READINGS_MAX);
	sparks_fini(&sparks);
	json_decref(less);
	json_decref(points);
	json_decref(vgpus);
}
