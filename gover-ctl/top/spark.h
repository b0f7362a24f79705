/* SPDX-License-Identifier: MIT */
/*
 * What `top` has seen of each vGPU lately: its load and its frames, one reading a refresh, oldest
 * first. Must never make up a reading: what was not seen is a gap.
 */
#ifndef GOVER_CTL_TOP_SPARK_H
#define GOVER_CTL_TOP_SPARK_H

#include <jansson.h>

#include "base/id.h"

#define SPARK_READINGS_MAX 120 /* readings of a vGPU that are kept */

struct spark {
	char id[ID_MAX];
	int n;
	float load[SPARK_READINGS_MAX], fps[SPARK_READINGS_MAX]; /* NAN: a gap */
};

struct sparks {
	struct spark *of; /* in the order of the list last noted */
	size_t n;
};

/* Notes the readings of @vgpus ("vgpus" of an answer; NULL: nobody answered, all get a gap). Those
 * that are not in the list are forgotten. 0 or -ENOMEM: all stays as it was. */
int sparks_record(struct sparks *sparks, const json_t *vgpus);

/* Puts recorded @points of a vGPU's history before what is there; where there is anything already,
 * it does nothing. */
void sparks_prepend_history(struct sparks *sparks, const char *id, const json_t *points);

/* NULL: nothing was ever noted of it. */
const struct spark *sparks_find(const struct sparks *sparks, const char *id);

void sparks_fini(struct sparks *sparks);

#endif
