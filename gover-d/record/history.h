/* SPDX-License-Identifier: MIT */
/*
 * The history database. It is opened before the first tick or, if this fails, later in the worker,
 * so that no tick waits for a disk or a lock. Until it is open, the daemon runs without history.
 */
#ifndef GOVER_D_RECORD_HISTORY_H
#define GOVER_D_RECORD_HISTORY_H

#include <limits.h>

#include "base/clock.h"
#include "base/err.h"
#include "db/db.h"
#include "gover-d/record/observer.h"

struct alerts;
struct offers;
struct silences;
struct worker;

struct history {
	char path[PATH_MAX];
	struct db *db;		 /* NULL: not open */
	char error[ERR_MSG_MAX]; /* why the database is not open */
	uint64_t retry_ns;	 /* monotonic time of the next try to open the database */
	bool opening;		 /* the worker is opening the database */
	/*
	 * Called in the loop when the file that is written is another one than at the start: a
	 * retry has opened it, or it was replaced.
	 */
	void (*opened)(void *userdata);
	void *userdata;
	/* total of dropped records at the last tick, for the alert history_failing */
	uint64_t dropped_seen;
	struct instant ticked; /* the last tick; all zero: none */
	/* totals of db_stats at the last tick, or at the open */
	uint64_t replaced_seen, set_aside_seen, lost_seen;
	const char *lost_file; /* see db_stats, if this is the newest reason of the alert */
	bool no_log;	       /* as in db_stats, at the last tick */
	bool damaged;	   /* a damaged database was set aside, now or earlier, and still exists */
	int failing_ticks; /* number of further ticks in which this alert is reported */
};

/*
 * Stores decisions, alerts, silences, offers and samples, and reports its alerts. If the file was
 * set aside or replaced, logs it and calls opened(). Its userdata is the struct history.
 */
extern const struct observer history_observer;

/* Opens the database at history->path. A failure is logged, and the daemon runs without history. */
void history_open(struct history *history, const struct db_retention *retention,
		  struct instant now);
/* Opens the database for reading. If this fails, logs the error and returns NULL. */
struct db_reader *history_open_reader(const struct history *history);
/*
 * If the database is not open, tries to open it every few seconds, in the worker. Call this
 * function once a period.
 */
void history_retry_open(struct history *history, const struct db_retention *retention,
			struct worker *worker, struct instant now);
/* Stores the alerts, silences and offers that are in force, because a new database has none. */
void history_store_all(struct history *history, const struct alerts *alerts,
		       const struct silences *silences, const struct offers *offers);

#endif
