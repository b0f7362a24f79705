/* SPDX-License-Identifier: MIT */
/*
 * The mark in the state directory that a failed allocation leaves (base/xalloc.h), and its alert.
 * The mark stays until an operator acknowledges the alert.
 */
#ifndef GOVER_D_RECORD_MEMORY_MARK_H
#define GOVER_D_RECORD_MEMORY_MARK_H

#include "gover-d/alert/alerts.h"

/*
 * Opens the mark in @state_dir, unless a mark is open. If an allocation failed less than 10 s ago,
 * waits 10 s and extends the start timeout, so that such ends never reach the start limit of the
 * unit. Allocates no memory.
 */
void memory_mark_open(const char *state_dir);

/* Reports the alert while the mark is set. @marked_ms: of xalloc_marked(). */
void memory_mark_hold(struct alerts *alerts, int64_t marked_ms, int64_t now_ms);

/* Clears the mark if alert @id is about it. */
void memory_mark_acknowledge(const struct alerts *alerts, int64_t id);

#endif
