/* SPDX-License-Identifier: MIT */
/*
 * Saves contracts, holds and GPU modes. The event loop encodes the text, and the worker writes the
 * file. At most one job runs; later changes are written by the next job.
 */
#ifndef GOVER_D_CORE_SAVE_H
#define GOVER_D_CORE_SAVE_H

#include "gover-d/model/host.h"

struct manager;

/*
 * Saves, then calls @done in the event loop with 0 or a negative errno. After an error the changes
 * stay in force, and save_tick() tries to save them again (alert contracts_unsaved).
 */
int save_contracts(struct manager *manager, void (*done)(void *userdata, int result),
		   void *userdata);
/* Saves without a callback. */
void save_soon(struct manager *manager);
/*
 * Retries a failed save, and reserves further ids before the reserved ids are used up. Call this
 * function once a period.
 */
void save_tick(struct manager *manager);

#endif
