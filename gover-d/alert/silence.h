/* SPDX-License-Identifier: MIT */
/*
 * Silences. A silence mutes the alerts that match all its selectors, until a given time. A silenced
 * alert is raised, listed and recorded as usual, but neither hooks nor the webhook are called for
 * it. The module reads no clock: the caller passes the time.
 */
#ifndef GOVER_D_ALERT_SILENCE_H
#define GOVER_D_ALERT_SILENCE_H

#include "db/rows.h"
#include "gover-d/alert/alerts.h"

#define SILENCES_MAX	   256
#define SILENCE_ALERT_MAX  sizeof(((struct db_silence *)NULL)->alert)
#define SILENCE_REASON_MAX sizeof(((struct db_silence *)NULL)->reason)

struct silences {
	/*
	 * Sorted by ascending id. The alert, the GPU and the vGPU of a silence are selectors: an
	 * alert matches if it has the value of each selector that is not empty. At least one
	 * selector is not empty.
	 */
	struct db_silence list[SILENCES_MAX];
	int n;
	int64_t last_id;
};

/* Assigns the next id to @silence and stores a copy of it. -ENOSPC: SILENCES_MAX reached. */
int silences_add(struct silences *silences, struct db_silence *silence);
/*
 * Restores a silence of an earlier run of the daemon. Silences must be restored in ascending order
 * of their ids. -ENOSPC: SILENCES_MAX reached.
 */
int silences_adopt(struct silences *silences, const struct db_silence *silence);
/* Returns the silence; NULL: no such silence. */
const struct db_silence *silences_find(const struct silences *silences, int64_t id);
/* Removes a silence. -ENOENT: no such silence. */
int silences_remove(struct silences *silences, int64_t id, struct db_silence *ret_silence);
/* Removes one expired silence. Returns false if no silence has expired. */
bool silences_expire(struct silences *silences, int64_t now_ms, struct db_silence *ret_silence);
bool silences_match(const struct silences *silences, const struct alert *alert);

#endif
