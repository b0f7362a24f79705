/* SPDX-License-Identifier: MIT */
/* Requests that add and remove silences. */
#ifndef GOVER_D_CORE_CONTROL_SILENCE_H
#define GOVER_D_CORE_CONTROL_SILENCE_H

#include "gover-d/alert/silence.h"

struct manager;

/*
 * Fills in id and time. -EINVAL: it names nothing, or what there is not, or is over before it
 * begins; -ENOSPC: there are too many. -ENOENT: there is none of that id.
 */
int control_silence_add(struct manager *manager, struct silence *silence, struct err *reterr);
int control_silence_remove(struct manager *manager, int64_t silence, struct err *reterr);

#endif
