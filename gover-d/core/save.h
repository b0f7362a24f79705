/* SPDX-License-Identifier: MIT */
/*
 * Saves what is in force: contracts, holds, GPU modes and the operator's state; and the changes
 * that manager.amend makes in it. The event loop encodes the text, and the worker writes the file.
 * At most one job runs; later changes are written by the next job.
 */
#ifndef GOVER_D_CORE_SAVE_H
#define GOVER_D_CORE_SAVE_H

#include "gover-d/core/offers.h"
#include "gover-d/model/host.h"
#include "gover-d/store/operator-state.h"

struct manager;

/*
 * Saves, then calls @done in the event loop with 0 or a negative errno. After an error save_tick()
 * tries to save again what is in force (alert contracts_unsaved). Saves that are requested in @done
 * are one save.
 */
void save_contracts(struct manager *manager, void (*done)(void *userdata, int result),
		    void *userdata);
/* Saves without a callback. */
void save_soon(struct manager *manager);
/*
 * Retries a failed save, and reserves further ids before the reserved ids are used up. Call this
 * function once a period.
 */
void save_tick(struct manager *manager);
/* Returns the stored form of @hold, a hold of @offer. */
struct operator_hold save_hold_of(const struct offer *offer, const struct offer_hold *hold);

#endif
