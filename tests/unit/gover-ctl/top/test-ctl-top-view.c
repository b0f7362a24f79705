/* SPDX-License-Identifier: MIT */
/* The view of `top`: sorting, filter, cursor, keys and sparklines. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-ctl/top/screen.h"
#include "gover-ctl/top/picture.h"
#include "tests/unit/unit.h"

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
