/* SPDX-License-Identifier: MIT */
/*
 * Silences: until when which alerts wake nobody. What is silenced is raised, shown and kept as
 * always; no hook and no webhook hears of it. Pure of I/O: time is handed in.
 */
#ifndef GOVER_D_ALERT_SILENCE_H
#define GOVER_D_ALERT_SILENCE_H

#include "gover-d/alert/alerts.h"

#define SILENCES_MAX	   256
#define SILENCE_REASON_MAX 256 /* with its NUL */

/* Every field that is not empty must be that of the alert; one of them is not empty. */
struct silence {
	int64_t id;
	int64_t created_ms, until_ms;
	char alert[48], gpu[ID_MAX], vgpu[ID_MAX];
	char reason[SILENCE_REASON_MAX];
};

struct silences {
	struct silence list[SILENCES_MAX]; /* ascending id */
	int n;
	int64_t last_id;
};

/* Gives @silence the next id and keeps it. -ENOSPC: there are too many. */
int silences_add(struct silences *silences, struct silence *silence);
/* Takes up one of an earlier run, in the order of the ids. -ENOSPC. */
int silences_adopt(struct silences *silences, const struct silence *silence);
/* -ENOENT */
int silences_remove(struct silences *silences, int64_t id, struct silence *ret_silence);
/* Forgets one that is over. False: there is none. */
bool silences_expire(struct silences *silences, int64_t now_ms, struct silence *ret_silence);
bool silences_match(const struct silences *silences, const struct alert *alert);

#endif
