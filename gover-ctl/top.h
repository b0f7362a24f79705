/* SPDX-License-Identifier: MIT */
/* The picture `top` shows, made from the daemon's answers. Must never ask the daemon or touch a
 * terminal. */
#ifndef GOVER_CTL_TOP_H
#define GOVER_CTL_TOP_H

#include "gover-ctl/canvas.h"

#define TOP_DECISIONS 20 /* as many as it is worth asking for */

/*
 * Draws GET /v1/host and GET /v1/decisions. @notice: a line to be shown in their stead where they
 * are old (NULL: none).
 */
void top_draw(struct canvas *canvas, const json_t *host, const json_t *decisions,
	      const char *notice);

#endif
