/* SPDX-License-Identifier: MIT */
/*
 * Counts what the contracts earn and what broken time costs: in memory in every period, stored in
 * the history once a minute.
 *
 * For comparison it also counts the part that a host without overselling would have: its vGPUs are
 * the oldest ones whose contracts fit into 100 %. There each has its full contract, so broken time
 * counts only while the cap was not smaller.
 */
#ifndef GOVER_D_CORE_LEDGER_H
#define GOVER_D_CORE_LEDGER_H

#include "gover-d/model/host.h"

struct manager;

/* Counts the time since host.ticked. Call it in a tick before host.ticked is set. */
void ledger_tick(struct manager *manager, struct instant now);

/* Stores all amounts in the history. Without a history they are lost. */
void ledger_flush(struct manager *manager);
/* The same for one vGPU, before it is removed. */
void ledger_flush_vgpu(struct manager *manager, struct vgpu *vgpu);

/* Stores the prices in force in the history. */
void ledger_store_prices(struct manager *manager);

#endif
