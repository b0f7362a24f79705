/* SPDX-License-Identifier: MIT */
/* Readings of each vGPU. Pure; must never keep more than TRAIL_MAX of one. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gover-ctl/verb/field.h"
#include "gover-ctl/top/trail.h"

static void push(struct trail *trail, double load, double fps)
{
	if (trail->n == TRAIL_MAX) {
		memmove(trail->load, trail->load + 1, sizeof(trail->load) - sizeof(float));
		memmove(trail->fps, trail->fps + 1, sizeof(trail->fps) - sizeof(float));
		trail->n--;
	}
	trail->load[trail->n] = (float)load;
	trail->fps[trail->n] = (float)fps;
	trail->n++;
}

/* Lists keep their order from one answer to the next: @near is tried first. */
static struct trail *find(const struct trails *trails, const char *id, size_t near)
{
	if (near < trails->n && strcmp(trails->of[near].id, id) == 0)
		return &trails->of[near];
	for (size_t i = 0; i < trails->n; i++)
		if (strcmp(trails->of[i].id, id) == 0)
			return &trails->of[i];
	return NULL;
}

int trails_note(struct trails *trails, const json_t *vgpus)
{
	size_t n = json_array_size(vgpus), i;
	struct trail *fresh;
	const json_t *vgpu;

	if (!vgpus) {
		for (i = 0; i < trails->n; i++)
			push(&trails->of[i], (double)NAN, (double)NAN);
		return 0;
	}
	fresh = calloc(n ? n : 1, sizeof(*fresh));
	if (!fresh)
		return -ENOMEM;
	json_array_foreach (vgpus, i, vgpu) {
		const struct trail *known = find(trails, field_text(vgpu, "id"), i);

		if (known)
			fresh[i] = *known;
		else
			snprintf(fresh[i].id, sizeof(fresh[i].id), "%s", field_text(vgpu, "id"));
		push(&fresh[i], field_number(vgpu, "load_pct"), field_number(vgpu, "fps"));
	}
	free(trails->of);
	*trails = (struct trails){.of = fresh, .n = n};
	return 0;
}

void trails_recall(struct trails *trails, const char *id, const json_t *points)
{
	struct trail *trail = find(trails, id, 0), now;
	const json_t *point;
	size_t i;

	if (!trail || trail->n > 1)
		return;
	now = *trail;
	trail->n = 0;
	json_array_foreach (points, i, point) {
		push(trail, field_number(point, "load_pct"), field_number(point, "fps"));
	}
	for (int k = 0; k < now.n; k++)
		push(trail, (double)now.load[k], (double)now.fps[k]);
}

const struct trail *trails_find(const struct trails *trails, const char *id)
{
	return find(trails, id, 0);
}

void trails_fini(struct trails *trails)
{
	free(trails->of);
	*trails = (struct trails){0};
}
