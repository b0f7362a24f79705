/* SPDX-License-Identifier: MIT */
/* The picture of `top`, drawn from replies of the daemon. */
#ifndef GOVER_CTL_TOP_PICTURE_H
#define GOVER_CTL_TOP_PICTURE_H

#include "gover-ctl/top/canvas.h"
#include "gover-ctl/top/view.h"
#include "gover-ctl/top/spark.h"

#define TOP_DECISIONS 20 /* number of decisions requested for the picture */

struct picture_data {
	const json_t *host;	 /* reply to GET /v1/host */
	const json_t *decisions; /* reply to GET /v1/decisions */
	const struct sparks *sparks;
	const char *notice; /* message shown if the replies are out of date; NULL: none */
};

/* Draws the picture. Updates the scroll position in @view. */
void picture_draw(struct canvas *canvas, const struct picture_data *data, struct top_view *view);

/* Draws the table of vGPUs in at most @lines lines, with its heading. */
void picture_draw_table(struct canvas *canvas, const struct picture_data *data,
			struct top_view *view, int lines);

#endif
