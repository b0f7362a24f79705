/* SPDX-License-Identifier: MIT */
/* Requests that add and remove silences. */
#ifndef GOVER_D_CORE_CONTROL_SILENCE_H
#define GOVER_D_CORE_CONTROL_SILENCE_H

#include "gover-d/alert/silence.h"
#include "gover-d/core/error.h"

struct manager;

/* Sets the id and the time of creation. CONTROL_E_INVALID or _TOO_MANY. */
int control_silence_add(struct manager *manager, struct silence *silence, struct err *reterr);
/* CONTROL_E_NOT_FOUND. */
int control_silence_remove(struct manager *manager, int64_t silence, struct err *reterr);
/* Once a period, before alerts_end_tick(): ends the silences whose time is over. */
void control_silence_expire(struct manager *manager, struct instant now);

#endif
