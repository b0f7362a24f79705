/* SPDX-License-Identifier: MIT */
/* Requests that add and remove silences. */
#ifndef GOVER_D_CORE_CONTROL_SILENCE_H
#define GOVER_D_CORE_CONTROL_SILENCE_H

#include "gover-d/alert/silence.h"
#include "gover-d/core/change.h"

struct manager;

/* As in control-vgpu.h, each function begins a change, and @done reports its end. */

/*
 * Adds @silence with the next id and the present time. When @done is called, it is the last one of
 * the list. Errors: CONTROL_E_INVALID or _TOO_MANY.
 */
int control_silence_add(struct manager *manager, const struct silence *silence,
			struct change_done done, struct err *reterr);
/* Removes the silence. Error: CONTROL_E_NOT_FOUND. */
int control_silence_remove(struct manager *manager, int64_t silence, struct change_done done,
			   struct err *reterr);

/*
 * Ends the silences that have expired. Call this function once a period, before alerts_end_tick().
 */
void control_silence_expire(struct manager *manager, struct instant now);

#endif
