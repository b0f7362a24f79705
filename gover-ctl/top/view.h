/* SPDX-License-Identifier: MIT */
/*
 * The state of the view in `top`: order, filter and cursor, and the keys that change them.
 */
#ifndef GOVER_CTL_TOP_VIEW_H
#define GOVER_CTL_TOP_VIEW_H

#include <stdbool.h>
#include <jansson.h>

#include "base/err.h"
#include "base/id.h"

#define TOP_FILTER_MAX	 64
#define TOP_DELAY_MIN_MS 100
#define TOP_DELAY_MAX_MS 3600000

enum top_column {
	TOP_WORST, /* no column: the vGPU that most needs attention comes first */
	TOP_VGPU,
	TOP_VM,
	TOP_GPU,
	TOP_USED,
	TOP_LOAD,
	TOP_FPS,
	TOP_TARGET,
	TOP_CAP,
	TOP_SOLD,
	TOP_BROKEN,
	TOP_COLUMNS
};

enum top_mode { TOP_TABLE, TOP_FILTER, TOP_HELP };

struct top_view {
	enum top_column sort;
	/* true: the default order is reversed (names: ascending, numbers: descending) */
	bool reverse;
	char filter[TOP_FILTER_MAX]; /* "": all vGPUs are shown */
	enum top_mode mode;
	bool paused;	     /* true: the data is not refreshed */
	int delay_ms;	     /* time between refreshes */
	char cursor[ID_MAX]; /* the selected vGPU; "": the first vGPU */
	char focus[ID_MAX];  /* vGPU whose decisions are shown; "": all decisions */
	int first;	     /* index of the first visible row */
	int lines;	     /* number of visible rows */
};

/*
 * Sorts by the column @text, such as "used"; "-used" reverses the order. Returns -EINVAL if the
 * column is unknown.
 */
int top_view_sort(struct top_view *view, const char *text, struct err *reterr);
const char *top_view_column(enum top_column column); /* returns the name: "used" */

/*
 * Returns the vGPUs that pass the filter, sorted, as references into @vgpus. The caller frees the
 * array.
 */
const json_t **top_view_rows(const struct top_view *view, const json_t *vgpus, size_t *ret_n);

/* Handles a key (screen.h). Returns 0: redraw; 1: quit; TOP_REFRESH: request new data at once. */
#define TOP_REFRESH 2
int top_view_key(struct top_view *view, int key, const json_t *vgpus);

/*
 * Scrolls the table so that the cursor is in its @lines visible rows. Returns the row of the
 * cursor.
 */
int top_view_scroll(struct top_view *view, const json_t *const *rows, size_t n, int lines);

/* Returns a line of the help screen (a key and its effect), or NULL past the last line. */
const char *top_view_help(size_t index, const char **ret_what);

#endif
