/* SPDX-License-Identifier: MIT */
/* The recent load and frame rate of each vGPU for sparklines: one reading per refresh, oldest
 * first. A missing reading is a gap. */
#ifndef GOVER_CTL_TOP_SPARK_H
#define GOVER_CTL_TOP_SPARK_H

#include <jansson.h>

#include "base/id.h"

#define SPARK_READINGS_MAX 120 /* per vGPU */

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
const struct spark *sparks_find(const struct sparks *sparks, const char *id);

void sparks_fini(struct sparks *sparks);

#endif
