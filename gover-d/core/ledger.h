/* SPDX-License-Identifier: MIT */
/*
 * What the contracts earn and what broken promises cost, counted in memory every period and handed
 * to the history once a minute. Must never wait, nor allocate.
 *
 * Beside what was sold stands what a host that does not oversell would have had of it: of the vGPUs
 * that stand there now those that came first, as long as their contracts fit into 100 %. They would
 * have their contracts in full: of their broken time only that counts in which they had no less.
 */
#ifndef GOVER_D_CORE_LEDGER_H
#define GOVER_D_CORE_LEDGER_H

#include "gover-d/model/host.h"

struct manager;

/* After a period was decided, before host.ticked is moved on to it. */
void ledger_tick(struct manager *manager, struct instant now);

/* Hands all that was counted to the history; what cannot be kept is lost. */
void ledger_flush(struct manager *manager);
/* The same of one that is about to go. */
void ledger_flush_vgpu(struct manager *manager, struct vgpu *vgpu);

/* Tells the history the prices in force. */
void ledger_store_prices(struct manager *manager);

#endif
