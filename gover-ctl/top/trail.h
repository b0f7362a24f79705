/* SPDX-License-Identifier: MIT */
/*
 * What `top` has seen of each vGPU lately: its load and its frames, one reading a refresh, oldest
 * first. Must never make up a reading: what was not seen is a gap.
 */
#ifndef GOVER_CTL_TOP_TRAIL_H
#define GOVER_CTL_TOP_TRAIL_H

#include <jansson.h>

#include "base/id.h"

#define TRAIL_MAX 120 /* readings of a vGPU that are kept */

struct trail {
	char id[ID_MAX];
	int n;
	float load[TRAIL_MAX], fps[TRAIL_MAX]; /* NAN: a gap */
};

struct trails {
	struct trail *of; /* in the order of the list last noted */
	size_t n;
};

/* Notes the readings of @vgpus ("vgpus" of an answer; NULL: nobody answered, all get a gap). Those
 * that are not in the list are forgotten. 0 or -ENOMEM: all stays as it was. */
int trails_note(struct trails *trails, const json_t *vgpus);

/* Puts recorded @points of a vGPU's history before what is there; where there is anything already,
 * it does nothing. */
void trails_recall(struct trails *trails, const char *id, const json_t *points);

/* NULL: nothing was ever noted of it. */
const struct trail *trails_find(const struct trails *trails, const char *id);

void trails_fini(struct trails *trails);

#endif
