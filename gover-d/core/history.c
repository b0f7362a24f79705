/* SPDX-License-Identifier: MIT */
/*
 * Opening the database: at the start before the first tick, later in the worker. Must never let a
 * tick wait for a disk or for somebody's lock, nor be the reason the loop stops.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gover-d/core/history.h"
#include "gover-d/util/log.h"
#include "gover-d/util/worker.h"

/* Each try costs the worker a quarter of a second at most: as long as it waits for a lock. */
#define RETRY_NS (5 * NS_PER_S)

struct open_job {
	struct worker_job job; /* first: the worker hands it back */
	struct history *history;
	char path[PATH_MAX];
	struct db_retention retention;
	struct db *db; /* NULL: it failed, @err says why */
	struct err err;
};

void history_open(struct history *history, const struct db_retention *retention)
{
	struct err err = {""};

	if (db_open(history->path, retention, &history->db, &err) == 0)
		return;
	history->db = NULL;
	snprintf(history->error, sizeof(history->error), "%s", err.msg);
	log_warning("%s; going on without history", err.msg);
}

struct db_reader *history_open_reader(const struct history *history)
{
	struct db_reader *reader = NULL;
	struct err err = {""};

	/* Without a writer it was told already; what can be read is read. */
	if (db_reader_open(history->path, &reader, &err) < 0 && history->db)
		log_warning("%s, ignoring", err.msg);
	return reader;
}

static void run_open(struct worker_job *job)
{
	struct open_job *open = (struct open_job *)job;

	if (db_open(open->path, &open->retention, &open->db, &open->err) < 0)
		open->db = NULL;
}

static void open_done(struct worker_job *job)
{
	struct open_job *open = (struct open_job *)job;
	struct history *history = open->history;

	history->opening = false;
	history->db = open->db;
	if (open->db) {
		log_notice("%s can be used again", history->path);
		history->opened(history->userdata);
	} else {
		memcpy(history->error, open->err.msg, sizeof(history->error));
	}
	free(open);
}

void history_retry(struct history *history, const struct db_retention *retention,
		   struct worker *worker, struct instant now)
{
	struct open_job *open;

	if (history->db || history->opening || now.mono_ns < history->retry_ns)
		return;
	history->retry_ns = now.mono_ns + RETRY_NS;
	open = calloc(1, sizeof(*open));
	if (!open)
		return;
	open->job.run = run_open;
	open->job.done = open_done;
	open->history = history;
	memcpy(open->path, history->path, sizeof(open->path));
	open->retention = *retention;
	history->opening = worker_submit(worker, &open->job) == 0;
	if (!history->opening)
		free(open);
}
