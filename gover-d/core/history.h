/* SPDX-License-Identifier: MIT */
/*
 * The history database: opened at the start before the first tick, or later in the worker, so that
 * no tick waits for a disk or a lock. The daemon runs without it and retries.
 */
#ifndef GOVER_D_CORE_HISTORY_H
#define GOVER_D_CORE_HISTORY_H

#include <limits.h>

#include "base/clock.h"
#include "base/err.h"
#include "db/db.h"
#include "gover-d/core/observer.h"

struct worker;

struct history {
	char path[PATH_MAX];
	struct db *db;		 /* NULL: not open */
	char error[ERR_MSG_MAX]; /* why it is not open */
	uint64_t retry_ns;	 /* monotonic: when to try again */
	bool opening;		 /* the worker is opening it */
	/* Called in the loop when a retry has opened the database. */
	void (*opened)(void *userdata);
	void *userdata;
	/* for the alert history_failing */
	uint64_t dropped_seen;
	int failing_ticks;
};

/* Stores decisions, alerts, silences, offers and samples. Its userdata is the struct history. */
extern const struct observer history_observer;

/* Opens the database at history->path. If that fails, logs it; the daemon runs without history. */
void history_open(struct history *history, const struct db_retention *retention);
/* Opens it for reading. NULL: not possible; logged if the writer could open it. */
struct db_reader *history_open_reader(const struct history *history);
/* Once a period: if it is not open, tries again every few seconds, in the worker. */
void history_retry(struct history *history, const struct db_retention *retention,
		   struct worker *worker, struct instant now);

#endif
