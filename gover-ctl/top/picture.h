/* SPDX-License-Identifier: MIT */
/* The picture `top` shows, made from the daemon's answers. Must never ask the daemon or touch a
 * terminal. */
#ifndef GOVER_CTL_TOP_PICTURE_H
#define GOVER_CTL_TOP_PICTURE_H

#include "gover-ctl/top/canvas.h"
#include "gover-ctl/top/view.h"
#include "gover-ctl/top/spark.h"

#define TOP_DECISIONS 20 /* as many as it is worth asking for */

/* What is known. */
struct picture_data {
	const json_t *host, *decisions; /* GET /v1/host, GET /v1/decisions */
	const struct sparks *sparks;
	const char *notice; /* a line that is shown where the others are old; NULL: none */
};

/* Draws it. @view learns how many rows fit and where they begin. */
void picture_draw(struct canvas *canvas, const struct picture_data *facts, struct top_view *view);

/* The table of vGPUs, in at most @lines lines with its head; for top.c. */
void picture_draw_table(struct canvas *canvas, const struct picture_data *facts,
			struct top_view *view, int lines);

#endif
