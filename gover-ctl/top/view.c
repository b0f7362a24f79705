/* SPDX-License-Identifier: MIT */
/* Sorting, filtering and keys of `top`. The cursor stays on its vGPU while the vGPU exists. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/terminal/field.h"
#include "base/xalloc.h"
#include "gover-ctl/shared/describe.h"
#include "gover-ctl/top/screen.h"
#include "gover-ctl/top/view.h"

#define MISSED_STEP_PCT 5  /* step of the missed share of a target, in percent */
#define LOAD_STEP_PCT	10 /* step of the load, in percent of the GPU */

static const struct column {
	const char *name, *key;
	const char *other; /* key of the number if @key has none; NULL: no other key */
	bool text;
	int letter; /* key that sorts by this column */
} columns[TOP_COLUMNS] = {
	[TOP_WORST] = {"worst", NULL, NULL, false, 'w'},
	[TOP_VGPU] = {"vgpu", "id", NULL, true, 'n'},
	[TOP_VM] = {"vm", "vm", NULL, true, 'm'},
	[TOP_GPU] = {"gpu", "gpu", NULL, true, 'g'},
	[TOP_USED] = {"used", "util_pct", NULL, false, 'u'},
	[TOP_LOAD] = {"load", "load_pct", NULL, false, 'l'},
	[TOP_FPS] = {"fps", "fps", "rate", false, 'f'},
	[TOP_TARGET] = {"target", "target_fps", "target_rate", false, 't'},
	[TOP_CAP] = {"cap", "cap_pct", NULL, false, 'c'},
	[TOP_SOLD] = {"sold", "initial_cap_pct", NULL, false, 's'},
	[TOP_BROKEN] = {"broken", "broken_time_pct", NULL, false, 'b'},
};

static const struct {
	const char *key, *what;
} help_lines[] = {
	{"F1 ? h", "show this help; any key closes it"},
	{"q F10", "quit"},
	{"/", "filter by id, VM, GPU, label or note; Enter keeps the filter"},
	{"Esc", "clear the filter; again: show all decisions"},
	{"w", "sort the worst first: broken promise, short or overloaded, far below the target"},
	{"< >", "sort by the previous or next column"},
	{"n m g", "sort by vGPU, VM, GPU"},
	{"u l f t", "sort by use of the cap, load, frames or work units per second, target"},
	{"c s b", "sort by cap, sold cap, broken time"},
	{"I r", "reverse the order"},
	{"Up Down", "move the cursor (also k, j, PgUp, PgDn, Home, End)"},
	{"Enter", "show only decisions about the selected vGPU; again: all decisions"},
	{"p Space", "pause or resume"},
	{"+ -", "refresh less often (+) or more often (-)"},
	{"Ctrl-L", "redraw the screen"},
	{"", ""},
	{"USED%", "share of the cap in use"},
	{"LOAD%", "share of the GPU; the sparkline has its full height at the sold cap"},
	{"FPS RATE", "the sparkline has its full height at the target (none: at its maximum)"},
	{"BROKEN%", "share of the observed time in which the promise was broken"},
};

const char *top_view_help(size_t index, const char **ret_what)
{
	if (index >= ARRAY_SIZE(help_lines))
		return NULL;
	*ret_what = help_lines[index].what;
	return help_lines[index].key;
}

const char *top_view_column(enum top_column column)
{
	return columns[column].name;
}

int top_view_sort(struct top_view *view, const char *text, struct err *reterr)
{
	bool reverse = text[0] == '-';
	const char *name =
		strcmp(text + reverse, "util") == 0 ? "used" : text + reverse; /* its former name */
	char list[160] = "";

	for (int i = 0; i < TOP_COLUMNS; i++) {
		size_t used = strlen(list);

		if (strcmp(columns[i].name, name) == 0) {
			view->sort = (enum top_column)i;
			view->reverse = reverse;
			return 0;
		}
		snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
			 columns[i].name);
	}
	return err_fail(
		reterr, EINVAL,
		"--sort '%.60s': not allowed (allowed: %s; - before a name reverses the order)",
		text, list);
}

static bool holds(const char *text, const char *part)
{
	return strcasestr(text, part);
}

static bool passes(const json_t *vgpu, const char *filter)
{
	json_t *labels = json_object_get(vgpu, "labels"), *value;
	char text[DESCRIBE_MAX];
	const char *key;

	if (!filter[0])
		return true;
	describe_notes(vgpu, text);
	if (holds(field_text(vgpu, "id"), filter) || holds(field_text(vgpu, "vm"), filter) ||
	    holds(field_text(vgpu, "gpu"), filter) || holds(text, filter))
		return true;
	json_object_foreach (labels, key, value) {
		snprintf(text, sizeof(text), "%s=%s", key,
			 json_is_string(value) ? json_string_value(value) : "");
		if (holds(text, filter))
			return true;
	}
	return false;
}

static double number_of(const json_t *vgpu, const struct column *column)
{
	return column->other ? field_either(vgpu, column->key, column->other)
			     : field_number(vgpu, column->key);
}

/* Returns how urgently a vGPU needs attention; 0 is the most urgent. */
static int rank_of(const json_t *vgpu)
{
	char promise[DESCRIBE_MAX];

	describe_promise(vgpu, promise);
	if (strcmp(promise, "broken") == 0)
		return 0;
	if (strcmp(promise, "missing") == 0)
		return 1;
	if (field_true(vgpu, "short") || field_true(vgpu, "overloaded"))
		return 2;
	return strcmp(promise, "unknown") == 0 ? 3 : 4;
}

/* Returns the share of the target that a vGPU misses, in steps; 0 without a target. */
static double missed_of(const json_t *vgpu)
{
	double target = field_either(vgpu, "target_fps", "target_rate");
	double rate = field_either(vgpu, "fps", "rate");

	if (!(target > 0) || isnan(rate) || rate >= target)
		return 0;
	return floor((target - rate) / target * 100 / MISSED_STEP_PCT);
}

static double load_of(const json_t *vgpu)
{
	double load = field_number(vgpu, "load_pct");

	return isnan(load) ? -1 : floor(load / LOAD_STEP_PCT);
}

/*
 * Compares by need for attention. Rates and loads are compared in steps, and equal vGPUs keep the
 * order of their ids, so that rows do not change places with each sample.
 */
static int compare_worst(const json_t *one, const json_t *other)
{
	int r = rank_of(one) - rank_of(other);
	double missed = missed_of(other) - missed_of(one), load = load_of(other) - load_of(one);

	if (r == 0)
		r = (missed > 0) - (missed < 0);
	return r ? r : (load > 0) - (load < 0);
}

/* Compares two vGPUs for qsort_r(). Unknown values come last in both orders. */
static int compare(const void *a, const void *b, void *userdata)
{
	const json_t *one = *(const json_t *const *)a, *other = *(const json_t *const *)b;
	const struct top_view *view = userdata;
	const struct column *column = &columns[view->sort];
	double x, y;
	int r;

	if (view->sort == TOP_WORST) {
		r = compare_worst(one, other);
		r = view->reverse ? -r : r;
	} else if (column->text) {
		r = strverscmp(field_text(one, column->key), field_text(other, column->key));
		r = view->reverse ? -r : r;
	} else {
		x = number_of(one, column);
		y = number_of(other, column);
		if (isnan(x) || isnan(y))
			r = isnan(x) - isnan(y);
		else
			r = (x < y) - (x > y);
		if (view->reverse && !isnan(x) && !isnan(y))
			r = -r;
	}
	return r ? r : strverscmp(field_text(one, "id"), field_text(other, "id"));
}

const json_t **top_view_rows(const struct top_view *view, const json_t *vgpus, size_t *ret_n)
{
	const json_t **rows = xcalloc(json_array_size(vgpus) + 1, sizeof(const json_t *));
	struct top_view copy = *view;
	const json_t *vgpu;
	size_t i, n = 0;

	json_array_foreach (vgpus, i, vgpu) {
		if (passes(vgpu, view->filter))
			rows[n++] = vgpu;
	}
	qsort_r(rows, n, sizeof(*rows), compare, &copy);
	*ret_n = n;
	return rows;
}

static size_t cursor_row(const struct top_view *view, const json_t *const *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(field_text(rows[i], "id"), view->cursor) == 0)
			return i;
	return 0;
}

int top_view_scroll(struct top_view *view, const json_t *const *rows, size_t n, int lines)
{
	int at = (int)cursor_row(view, rows, n);

	view->lines = lines;
	if (view->first > (int)n - lines)
		view->first = (int)n - lines;
	if (view->first < 0)
		view->first = 0;
	if (at < view->first)
		view->first = at;
	if (at >= view->first + lines)
		view->first = at - lines + 1;
	return at;
}

/* Moves the cursor down by @by rows (negative: up), but not beyond the list. */
static void move(struct top_view *view, const json_t *vgpus, long by)
{
	size_t n;
	const json_t **rows = top_view_rows(view, vgpus, &n);
	long at;

	if (n > 0) {
		at = (long)cursor_row(view, rows, n) + by;
		at = at < 0 ? 0 : at >= (long)n ? (long)n - 1 : at;
		snprintf(view->cursor, sizeof(view->cursor), "%s", field_text(rows[at], "id"));
	}
	free(rows);
}

static int toggle_focus(struct top_view *view, const json_t *vgpus)
{
	if (view->focus[0]) {
		view->focus[0] = '\0';
		return TOP_REFRESH;
	}
	move(view, vgpus, 0);
	memcpy(view->focus, view->cursor, sizeof(view->focus));
	return TOP_REFRESH;
}

static void erase_last(char *text)
{
	size_t n = strlen(text);

	while (n > 0 && ((unsigned char)text[n - 1] & 0xc0) == 0x80)
		n--;
	text[n > 0 ? n - 1 : 0] = '\0';
}

static void type_filter(struct top_view *view, int key)
{
	size_t n = strlen(view->filter);

	if (key == '\n' || key == '\r') {
		view->mode = TOP_TABLE;
	} else if (key == SCREEN_ESCAPE) {
		view->filter[0] = '\0';
		view->mode = TOP_TABLE;
	} else if (key == 0x7f || key == '\b') {
		erase_last(view->filter);
	} else if (key == 'U' - '@') {
		view->filter[0] = '\0';
	} else if (key >= ' ' && key < 256 && n + 1 < sizeof(view->filter)) {
		view->filter[n] = (char)key;
		view->filter[n + 1] = '\0';
	}
}

static void change_delay(struct top_view *view, bool slower)
{
	int ms = slower ? view->delay_ms * 2 : view->delay_ms / 2;

	view->delay_ms = ms < TOP_DELAY_MIN_MS	 ? TOP_DELAY_MIN_MS
			 : ms > TOP_DELAY_MAX_MS ? TOP_DELAY_MAX_MS
						 : ms;
}

/* Changes the sort order if @key is a key for sorting; otherwise returns false. */
static bool sort_key(struct top_view *view, int key)
{
	int by = key == '>' || key == '.' ? 1 : key == '<' || key == ',' ? -1 : 0;

	if (by != 0) {
		view->sort = (enum top_column)(((int)view->sort + by + TOP_COLUMNS) % TOP_COLUMNS);
		view->reverse = false;
		return true;
	}
	for (int i = 0; i < TOP_COLUMNS; i++) {
		if (columns[i].letter != key)
			continue;
		view->reverse = view->sort == (enum top_column)i && !view->reverse;
		view->sort = (enum top_column)i;
		return true;
	}
	return false;
}

static bool move_key(struct top_view *view, int key, const json_t *vgpus)
{
	long page = view->lines > 1 ? view->lines - 1 : 1, all = (long)json_array_size(vgpus);
	const struct {
		int key, vi;
		long by;
	} moves[] = {
		{SCREEN_UP, 'k', -1},	     {SCREEN_DOWN, 'j', 1},  {SCREEN_PAGE_UP, 0, -page},
		{SCREEN_PAGE_DOWN, 0, page}, {SCREEN_HOME, 0, -all}, {SCREEN_END, 0, all},
	};

	for (size_t i = 0; i < ARRAY_SIZE(moves); i++) {
		if (key != moves[i].key && (!moves[i].vi || key != moves[i].vi))
			continue;
		move(view, vgpus, moves[i].by);
		return true;
	}
	return false;
}

static int table_key(struct top_view *view, int key, const json_t *vgpus)
{
	switch (key) {
	case 'q':
	case 'Q':
	case SCREEN_F10:
		return 1;
	case '?':
	case 'h':
	case SCREEN_F1:
		view->mode = TOP_HELP;
		return 0;
	case '/':
		view->mode = TOP_FILTER;
		return 0;
	case SCREEN_ESCAPE:
		if (view->filter[0]) {
			view->filter[0] = '\0';
			return 0;
		}
		return view->focus[0] ? toggle_focus(view, vgpus) : 0;
	case 'I':
	case 'r':
		view->reverse = !view->reverse;
		return 0;
	case 'p':
	case ' ':
		view->paused = !view->paused;
		return view->paused ? 0 : TOP_REFRESH;
	case '+':
	case '-':
		change_delay(view, key == '+');
		return 0;
	case '\n':
	case '\r':
		return toggle_focus(view, vgpus);
	default:
		if (!sort_key(view, key))
			move_key(view, key, vgpus);
		return 0;
	}
}

int top_view_key(struct top_view *view, int key, const json_t *vgpus)
{
	switch (view->mode) {
	case TOP_FILTER:
		if (!move_key(view, key < 256 ? 0 : key, vgpus))
			type_filter(view, key);
		return 0;
	case TOP_HELP:
		view->mode = TOP_TABLE;
		return 0;
	case TOP_TABLE:
		break;
	}
	return table_key(view, key, vgpus);
}
