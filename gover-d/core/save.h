/* SPDX-License-Identifier: MIT */
/*
 * Saves contracts, holds and GPU modes: the text is encoded in the loop, written by the worker, and
 * completed in the loop. At most one job runs; later changes are written by the next one.
 */
#ifndef GOVER_D_CORE_SAVE_H
#define GOVER_D_CORE_SAVE_H

#include "gover-d/model/host.h"

struct manager;

/*
 * Saves, then calls @done in the loop with 0 or a negative errno. After an error the change stays
 * in force and is saved again every period (alert contracts_unsaved).
 */
int save_contracts(struct manager *manager, void (*done)(void *userdata, int result),
		   void *userdata);
/* Saves without a request that waits for it. */
void save_soon(struct manager *manager);
/* Once a period: retries a failed save, and saves new ids before they are used. */
void save_tick(struct manager *manager);

#endif
