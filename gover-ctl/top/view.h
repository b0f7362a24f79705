/* SPDX-License-Identifier: MIT */
/*
 * How the picture of `top` is to be shown: sorted by what, which vGPUs, what is pressed and typed.
 * Pure; must never look at a terminal or ask the daemon.
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
	TOP_VGPU,
	TOP_VM,
	TOP_GPU,
	TOP_UTIL,
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
	bool reverse; /* of the column's own order: names upwards, numbers downwards */
	char filter[TOP_FILTER_MAX]; /* "": all */
	enum top_mode mode;
	bool live;	     /* keys are taken: there is a cursor and a line of keys */
	bool paused;	     /* nothing is asked */
	int delay_ms;	     /* from one picture to the next */
	char cursor[ID_MAX]; /* the vGPU it stands on; "": the first */
	char focus[ID_MAX];  /* only decisions about this vGPU; "": all */
	int first, lines;    /* of the table: which row is on top, how many fit */
};

/* "util", or "-util" for the other way round. -EINVAL with the names that are allowed. */
int top_view_sort(struct top_view *view, const char *text, struct err *reterr);
const char *top_view_column(enum top_column column); /* its name */

/* The vGPUs to be shown, in order. The caller frees the array; the rows are @vgpus'. NULL: out of
 * memory. */
const json_t **top_view_rows(const struct top_view *view, const json_t *vgpus, size_t *ret_n);

/* What a key (screen.h) changes. 1: quit; 0: draw again; TOP_REFRESH: ask the daemon at once. */
#define TOP_REFRESH 2
int top_view_key(struct top_view *view, int key, const json_t *vgpus);

/* Moves the window of @lines rows so that the cursor is in it; returns the cursor's row. */
int top_view_scroll(struct top_view *view, const json_t *const *rows, size_t n, int lines);

/* Lines of the help screen: the key and what it does. NULL past the end. */
const char *top_view_help(size_t index, const char **ret_what);

#endif
