/* SPDX-License-Identifier: MIT */
/* The picture `top` shows, made from the daemon's answers. Must never ask the daemon or touch a
 * terminal. */
#ifndef GOVER_CTL_TOP_TOP_H
#define GOVER_CTL_TOP_TOP_H

#include "gover-ctl/top/canvas.h"
#include "gover-ctl/top/view.h"
#include "gover-ctl/top/trail.h"

#define TOP_DECISIONS 20 /* as many as it is worth asking for */

/* What is known. */
struct top_facts {
	const json_t *host, *decisions; /* GET /v1/host, GET /v1/decisions */
	const struct trails *trails;
	const char *notice; /* a line that is shown where the others are old; NULL: none */
};

/* Draws it. @view learns how many rows fit and where they begin. */
void top_draw(struct canvas *canvas, const struct top_facts *facts, struct top_view *view);

/* The table of vGPUs, in at most @lines lines with its head; for top.c. */
void top_table_draw(struct canvas *canvas, const struct top_facts *facts, struct top_view *view,
		    int lines);

#endif
