/* SPDX-License-Identifier: MIT */
/* The picture of `top`, drawn from replies of the daemon. */
#ifndef GOVER_CTL_TOP_PICTURE_H
#define GOVER_CTL_TOP_PICTURE_H

#include <jansson.h>

#include "base/id.h"
#include "base/terminal/writer.h"
#include "gover-ctl/top/view.h"

/*
 * Lines of text cut to a width and a height, with colours and bars, on the screen (screen.h).
 * Control characters in the text are replaced.
 */
struct canvas {
	const struct writer *writer; /* decides whether colours and UTF-8 are used */
	int width, height;
	int row, column; /* position of the next text */
};

/* Appends text, cut at the width. */
void canvas_put(struct canvas *canvas, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Appends text in exactly @columns, cut or padded. */
void canvas_field(struct canvas *canvas, int columns, const char *text);
/* Appends a bar of @columns, of which @fraction is filled (clamped to 0..1; NAN: nothing). */
void canvas_bar(struct canvas *canvas, int columns, double fraction);
/*
 * Appends a sparkline of the last @columns of @n values. The value @full has the full height. NAN
 * and missing values are gaps.
 */
void canvas_spark(struct canvas *canvas, int columns, const float *values, int n, double full);

#define SPARK_READINGS_MAX 120 /* per vGPU */

/*
 * The recent load and frame rate of a vGPU for sparklines: one reading per refresh, oldest first. A
 * missing reading is a gap.
 */
struct spark {
	char id[ID_MAX];
	int n;
	float load[SPARK_READINGS_MAX], fps[SPARK_READINGS_MAX]; /* NAN: gap */
};

struct sparks {
	struct spark *of; /* one per vGPU, in the order of the last reply */
	size_t n;
};

/*
 * Adds the readings of @vgpus, the "vgpus" of a reply. If @vgpus is NULL (no reply), adds a gap to
 * every vGPU. Removes vGPUs that are not in the list.
 */
void sparks_record(struct sparks *sparks, const json_t *vgpus);

/*
 * Inserts the recorded history @points before the first reading of a vGPU. Does nothing if the vGPU
 * has more than one reading.
 */
void sparks_prepend_history(struct sparks *sparks, const char *id, const json_t *points);

/* Returns the readings of the vGPU @id; NULL: no readings. */
struct spark *sparks_find(const struct sparks *sparks, const char *id);

void sparks_fini(struct sparks *sparks);

#define TOP_DECISIONS 20 /* number of decisions requested for the picture */

struct picture_data {
	const json_t *host;	 /* reply to GET /v1/host */
	const json_t *decisions; /* reply to GET /v1/decisions */
	const struct sparks *sparks;
	const char *notice; /* message shown if the replies are out of date; NULL: none */
};

/* Draws the picture. Updates the scroll position in @view. */
void picture_draw(struct canvas *canvas, const struct picture_data *data, struct top_view *view);

#endif
