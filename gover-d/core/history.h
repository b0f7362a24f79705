/* SPDX-License-Identifier: MIT */
/*
 * Opens the database: at the start before the first tick, later in the worker, so that no tick
 * waits for a disk or a lock. The daemon runs without it and retries.
 */
#ifndef GOVER_D_CORE_HISTORY_H
#define GOVER_D_CORE_HISTORY_H

#include "base/clock.h"

struct db_reader;
struct manager;

/* Opens the database. If that fails, logs it; the daemon continues without a history. */
void history_open(struct manager *manager);
/* Opens the database for reading. NULL: not possible; logged if the writer could open it. */
struct db_reader *history_open_reader(struct manager *manager);
/* Once a period: if there is no database, tries to open it every few seconds, in the worker. */
void history_retry(struct manager *manager, struct instant now);

#endif
