/* SPDX-License-Identifier: MIT */
/* Stores the silences and tests whether an alert matches one of them. */
#include <errno.h>
#include <string.h>

#include "gover-d/alert/silence.h"

int silences_adopt(struct silences *silences, const struct db_silence *silence)
{
	if (silence->id > silences->last_id)
		silences->last_id = silence->id;
	if (silences->n == SILENCES_MAX)
		return -ENOSPC;
	silences->list[silences->n++] = *silence;
	return 0;
}

int silences_add(struct silences *silences, struct db_silence *silence)
{
	if (silences->n == SILENCES_MAX)
		return -ENOSPC;
	silence->id = silences->last_id + 1;
	return silences_adopt(silences, silence);
}

static void drop(struct silences *silences, int at)
{
	silences->n--;
	memmove(&silences->list[at], &silences->list[at + 1],
		(size_t)(silences->n - at) * sizeof(silences->list[0]));
}

const struct db_silence *silences_find(const struct silences *silences, int64_t id)
{
	for (int i = 0; i < silences->n; i++)
		if (silences->list[i].id == id)
			return &silences->list[i];
	return NULL;
}

int silences_remove(struct silences *silences, int64_t id, struct db_silence *ret_silence)
{
	const struct db_silence *found = silences_find(silences, id);

	if (!found)
		return -ENOENT;
	*ret_silence = *found;
	drop(silences, (int)(found - silences->list));
	return 0;
}

bool silences_expire(struct silences *silences, int64_t now_ms, struct db_silence *ret_silence)
{
	for (int i = 0; i < silences->n; i++) {
		if (silences->list[i].until_ms > now_ms)
			continue;
		*ret_silence = silences->list[i];
		drop(silences, i);
		return true;
	}
	return false;
}

static bool selects(const char *selector, const char *value)
{
	return selector[0] == '\0' || strcmp(selector, value) == 0;
}

bool silences_match(const struct silences *silences, const struct alert *alert)
{
	for (int i = 0; i < silences->n; i++) {
		const struct db_silence *s = &silences->list[i];

		if (selects(s->alert, alert->name) && selects(s->gpu, alert->gpu) &&
		    selects(s->vgpu, alert->vgpu))
			return true;
	}
	return false;
}
