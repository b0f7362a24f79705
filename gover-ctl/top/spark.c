/* SPDX-License-Identifier: MIT */
/* Keeps the recent readings of each vGPU. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal/field.h"
#include "base/xalloc.h"
#include "gover-ctl/top/spark.h"

static void push(struct spark *spark, double load, double fps)
{
	if (spark->n == SPARK_READINGS_MAX) {
		memmove(spark->load, spark->load + 1, sizeof(spark->load) - sizeof(float));
		memmove(spark->fps, spark->fps + 1, sizeof(spark->fps) - sizeof(float));
		spark->n--;
	}
	spark->load[spark->n] = (float)load;
	spark->fps[spark->n] = (float)fps;
	spark->n++;
}

/*
 * Returns the readings of the vGPU @id, or NULL. Tries the index @near first, because the order of
 * vGPUs rarely changes between replies.
 */
static struct spark *find(const struct sparks *sparks, const char *id, size_t near)
{
	if (near < sparks->n && strcmp(sparks->of[near].id, id) == 0)
		return &sparks->of[near];
	for (size_t i = 0; i < sparks->n; i++)
		if (strcmp(sparks->of[i].id, id) == 0)
			return &sparks->of[i];
	return NULL;
}

void sparks_record(struct sparks *sparks, const json_t *vgpus)
{
	size_t n = json_array_size(vgpus), i;
	struct spark *fresh;
	const json_t *vgpu;

	if (!vgpus) {
		for (i = 0; i < sparks->n; i++)
			push(&sparks->of[i], (double)NAN, (double)NAN);
		return;
	}
	fresh = xcalloc(n ? n : 1, sizeof(*fresh));
	json_array_foreach (vgpus, i, vgpu) {
		const struct spark *known = find(sparks, field_text(vgpu, "id"), i);

		if (known)
			fresh[i] = *known;
		else
			snprintf(fresh[i].id, sizeof(fresh[i].id), "%s", field_text(vgpu, "id"));
		push(&fresh[i], field_number(vgpu, "load_pct"), field_either(vgpu, "fps", "rate"));
	}
	free(sparks->of);
	*sparks = (struct sparks){.of = fresh, .n = n};
}

void sparks_prepend_history(struct sparks *sparks, const char *id, const json_t *points)
{
	struct spark *spark = find(sparks, id, 0), now;
	const json_t *point;
	size_t i;

	if (!spark || spark->n > 1)
		return;
	now = *spark;
	spark->n = 0;
	json_array_foreach (points, i, point) {
		push(spark, field_number(point, "load_pct"), field_either(point, "fps", "rate"));
	}
	for (int k = 0; k < now.n; k++)
		push(spark, (double)now.load[k], (double)now.fps[k]);
}

const struct spark *sparks_find(const struct sparks *sparks, const char *id)
{
	return find(sparks, id, 0);
}

void sparks_fini(struct sparks *sparks)
{
	free(sparks->of);
	*sparks = (struct sparks){0};
}
