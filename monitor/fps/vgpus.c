/* SPDX-License-Identifier: MIT */
/* A sorted array, which is searched for each connection and at every tick. */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "monitor/fps/vgpus.h"

static int compare(const void *id, const void *entry)
{
	return strcmp(id, (*(struct fps_vgpu *const *)entry)->id);
}

static struct fps_vgpu **find(const struct fps_vgpus *vgpus, const char *id)
{
	if (vgpus->n == 0)
		return NULL;
	return bsearch(id, vgpus->list, vgpus->n, sizeof(struct fps_vgpu *), compare);
}

struct fps_vgpu *fps_vgpus_find(const struct fps_vgpus *vgpus, const char *id)
{
	struct fps_vgpu **known = find(vgpus, id);

	return known ? *known : NULL;
}

struct fps_vgpu *fps_vgpus_get(struct fps_vgpus *vgpus, const char *id)
{
	struct fps_vgpu **known = find(vgpus, id), **list;
	struct fps_vgpu *fresh;
	size_t at = 0;

	if (known)
		return *known;
	vgpus->list = list = xreallocarray(vgpus->list, vgpus->n + 1, sizeof(struct fps_vgpu *));
	fresh = xcalloc(1, sizeof(*fresh));
	(void)id_copy(fresh->id, id);
	while (at < vgpus->n && strcmp(list[at]->id, id) < 0)
		at++;
	memmove(&list[at + 1], &list[at], (vgpus->n - at) * sizeof(struct fps_vgpu *));
	list[at] = fresh;
	vgpus->n++;
	return fresh;
}

void fps_vgpus_remove(struct fps_vgpus *vgpus, struct fps_vgpu *vgpu)
{
	struct fps_vgpu **known = find(vgpus, vgpu->id);

	vgpus->n--;
	memmove(known, known + 1, (size_t)(vgpus->list + vgpus->n - known) * sizeof(*known));
	free(vgpu);
}

void fps_vgpus_free(struct fps_vgpus *vgpus)
{
	for (size_t i = 0; i < vgpus->n; i++)
		free(vgpus->list[i]);
	free(vgpus->list);
	*vgpus = (struct fps_vgpus){.n = 0};
}
