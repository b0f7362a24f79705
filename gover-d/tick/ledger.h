/* SPDX-License-Identifier: MIT */
/*
 * Counts the revenue of the contracts and the penalties for broken time: in memory in every period,
 * and in the history once a minute.
 *
 * For comparison, the revenue and the penalties of a host without overselling are counted too. Such
 * a host has only the oldest vGPUs whose contracts add up to at most 100 %, and each of them always
 * has its full contract. For that host, broken time is therefore not counted while the real cap is
 * below the contract.
 *
 * The sums of each vGPU (struct vgpu_tally) are kept in the history too, so that they continue
 * after a restart. A crash loses at most the last minute.
 */
#ifndef GOVER_D_TICK_LEDGER_H
#define GOVER_D_TICK_LEDGER_H

#include <stdint.h>

#include "gover-d/tick/tick.h"

/* Counts the @n moves of a decision that took capacity from one vGPU for another. */
void ledger_count_steals(const struct actuate_move *moves, int n);

/* Adds the last sample of each vGPU to its sums. */
void ledger_count_samples(struct tick *tick, struct instant now);
/* Counts the time since the last tick. Call this function before host.ticked is updated. */
void ledger_tick(struct tick *tick, struct instant now);

/* Stores all amounts in the history. Without a history, the amounts are lost. */
void ledger_flush(struct tick *tick);
/* Stores the amounts of one vGPU. Call this function before the vGPU is removed. */
void ledger_flush_vgpu(struct tick *tick, struct vgpu *vgpu);

/* Stores the prices in force in the history. */
void ledger_store_prices(struct tick *tick);

/* Continues the sums of the last run. Call it after the vGPUs are adopted. */
void ledger_load_tallies(struct tick *tick);
/* Stores the sums of all vGPUs. @now_ms: wall clock. */
void ledger_store_tallies(const struct tick *tick, int64_t now_ms);

#endif
