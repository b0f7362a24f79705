/* SPDX-License-Identifier: MIT */
/*
 * Opening the database: at the start before the first tick, later in the worker. Must never let a
 * tick wait for a disk or for somebody's lock, nor be the reason the loop stops.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gover-d/core/control.h"
#include "gover-d/core/history.h"
#include "gover-d/core/ledger.h"
#include "gover-d/core/save.h"
#include "gover-d/core/state.h"
#include "gover-d/util/log.h"

/* Each try costs the worker a quarter of a second at most: as long as it waits for a lock. */
#define RETRY_NS (5 * NS_PER_S)

struct open_job {
	struct worker_job job; /* first: the worker hands it back */
	struct manager *manager;
	char path[PATH_MAX];
	struct db_retention retention;
	struct db *db; /* NULL: it failed, @err says why */
	struct err err;
};

void history_open(struct manager *m)
{
	struct err err = {""};

	if (db_open(m->db_path, &m->config.retention, &m->actuator.db, &err) == 0)
		return;
	m->actuator.db = NULL;
	snprintf(m->db_error, sizeof(m->db_error), "%s", err.msg);
	log_warning("%s; going on without history", err.msg);
}

struct db_reader *history_open_reader(struct manager *m)
{
	struct db_reader *reader = NULL;
	struct err err = {""};

	/* Without a writer it was told already; what can be read is read. */
	if (db_reader_open(m->db_path, &reader, &err) < 0 && m->actuator.db)
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
	struct manager *m = open->manager;

	m->db_opening = false;
	m->actuator.db = open->db;
	if (open->db) {
		log_notice("%s can be used again", m->db_path);
		ledger_store_prices(m);
		save_soon(m); /* it is to have the contracts too */
	} else {
		memcpy(m->db_error, open->err.msg, sizeof(m->db_error));
	}
	free(open);
}

void history_retry(struct manager *m, struct instant now)
{
	struct open_job *open;

	if (m->actuator.db || m->db_opening || now.mono_ns < m->db_retry_ns)
		return;
	m->db_retry_ns = now.mono_ns + RETRY_NS;
	open = calloc(1, sizeof(*open));
	if (!open)
		return;
	open->job.run = run_open;
	open->job.done = open_done;
	open->manager = m;
	memcpy(open->path, m->db_path, sizeof(open->path));
	open->retention = m->config.retention;
	m->db_opening = worker_submit(m->worker, &open->job) == 0;
	if (!m->db_opening)
		free(open);
}
