/* SPDX-License-Identifier: MIT */
/*
 * The writer thread. It writes the records of the queue in batches and alone uses the store. The
 * records of a failed transaction are dropped and counted. If the connection may be broken, the
 * next transaction opens a new connection; if the file is damaged, it is set aside first.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/writer-state.h"

#define BUSY_PAUSE_NS (100 * NS_PER_MS)
/* Pauses that keep a failing disk from causing an endless series of new files and checks. */
#define ASIDE_PAUSE_NS (10 * NS_PER_S)
#define CHECK_PAUSE_NS (600 * NS_PER_S)

/* Returns the value that db->finished will have when all records that are due now are written. */
static uint64_t find_batch_end(const struct db *db)
{
	if (db->stop_by_ns || db->flush_to > db->finished)
		return db->accepted;
	if (queue_presses(&db->queue))
		return db->accepted;
	if (db->accepted > db->finished && writer_now_ns() >= db->due_ns)
		return db->marked > db->finished ? db->marked : db->accepted;
	return db->finished;
}

/* Returns false if the thread must end. */
static bool wait_for_work(struct db *db, uint64_t *ret_end)
{
	bool more;

	pthread_mutex_lock(&db->lock);
	while ((*ret_end = find_batch_end(db)) == db->finished && !db->contracts.due &&
	       !db->check_due && !db->stop_by_ns) {
		if (db->due_ns > 0 && db->accepted == db->finished && writer_now_ns() >= db->due_ns)
			db->due_ns = 0;
		if (db->due_ns > 0)
			writer_wait_until(db, &db->wake, db->due_ns);
		else
			pthread_cond_wait(&db->wake, &db->lock);
	}
	more = *ret_end > db->finished || db->contracts.due || (db->check_due && !db->stop_by_ns);
	pthread_mutex_unlock(&db->lock);
	return more;
}

void writer_note_open(struct db *db, const struct damage_result *result)
{
	struct db_damaged damaged;

	damage_list(db->path, &damaged);
	pthread_mutex_lock(&db->lock);
	db->stats.damaged = damaged;
	if (result->set_aside[0]) {
		db->stats.set_aside++;
		strcpy(db->stats.set_aside_name, result->set_aside);
		strcpy(db->stats.set_aside_why, result->why);
		db->set_aside_ns = writer_now_ns();
		db->checked_ns = 0;
		db->check_due = false; /* it was requested for the damaged file */
	}
	pthread_mutex_unlock(&db->lock);
	db->damage[0] = '\0';
}

static int open_again(struct db *db, struct err *reterr)
{
	struct damage_result result;
	int r;

	if (db->damage[0] && db->set_aside_ns &&
	    writer_now_ns() < db->set_aside_ns + ASIDE_PAUSE_NS)
		return err_fail(reterr, EIO, "%s: damaged again: %s", db->path, db->damage);
	r = damage_open(db->path, &db->retention, db->damage[0] ? db->damage : NULL, &db->store,
			&result, reterr);
	if (r < 0)
		return r;
	writer_note_open(db, &result);
	/* A new file would trust the next reading, and prune the rows before it after a jump. */
	if (db->clock.boot_ms > 0)
		store_read_clock(db->store, &db->clock);
	pthread_mutex_lock(&db->lock);
	db->stats.replaced++;
	/* the path may now be another file, without the contracts */
	db->contracts.written = false;
	pthread_mutex_unlock(&db->lock);
	return 0;
}

static int reopen(struct db *db, char message[DB_MESSAGE_MAX])
{
	struct err err;
	int r;

	if (db->store && db->damage[0])
		db->store = store_abandon(db->store);
	else if (db->store && store_moved(db->store))
		db->store = store_close(db->store);
	if (db->store)
		return SQLITE_OK;
	r = open_again(db, &err);
	if (r >= 0)
		return SQLITE_OK;
	snprintf(message, DB_MESSAGE_MAX, "%.*s", DB_MESSAGE_MAX - 1, err.msg);
	return r == -EBUSY ? SQLITE_BUSY : SQLITE_CANTOPEN;
}

/* Returns the oldest records of the queue, at most @max. */
static const char *take_run(struct db *db, uint64_t max, enum record_kind *ret_kind, size_t *ret_n)
{
	const char *records = queue_front(&db->queue, ret_kind, ret_n);

	if (*ret_n > max)
		*ret_n = (size_t)max;
	return records;
}

/* Writes the records up to @end and removes them from the queue. */
static int write_records(struct db *db, uint64_t *position, uint64_t end)
{
	int rc = SQLITE_OK;

	pthread_mutex_lock(&db->lock);
	while (rc == SQLITE_OK && *position < end) {
		enum record_kind kind;
		size_t n;
		const char *records = take_run(db, end - *position, &kind, &n);

		pthread_mutex_unlock(&db->lock);
		for (size_t i = 0; i < n && rc == SQLITE_OK; i++)
			rc = store_write(db->store, kind, records + i * record_bounds(kind).size);
		if (kind == RECORD_CLOCK)
			memcpy(&db->clock, records + (n - 1) * sizeof(db->clock),
			       sizeof(db->clock));
		pthread_mutex_lock(&db->lock);
		queue_pop(&db->queue, kind, n);
		*position += n;
	}
	pthread_mutex_unlock(&db->lock);
	return rc;
}

static void finish_batch(struct db *db, uint64_t position, uint64_t end, int rc,
			 const char *message)
{
	enum record_kind kind;
	size_t n;

	pthread_mutex_lock(&db->lock);
	for (; position < end; position += n) {
		(void)take_run(db, end - position, &kind, &n);
		queue_pop(&db->queue, kind, n);
	}
	if (rc == SQLITE_OK) {
		db->stats.written += end - db->finished;
	} else {
		db->stats.dropped += end - db->finished;
		db->stats.errors++;
	}
	db->stats.last_error = rc & 0xff;
	snprintf(db->stats.last_message, sizeof(db->stats.last_message), "%s", message);
	if (db->store)
		db->stats.clock_ahead_ms = store_clock_ahead_ms(db->store);
	db->finished = end;
	/*
	 * Set the time of the next write, so that the samples of the next ticks need not wake the
	 * thread.
	 */
	db->due_ns = writer_now_ns() +
		     (db->urgent_to > end ? WRITER_OTHER_DELAY_NS : WRITER_SAMPLE_DELAY_NS);
	pthread_cond_broadcast(&db->rest);
	pthread_mutex_unlock(&db->lock);
}

/*
 * Called while another program has locked the file. Returns false if the deadline has passed,
 * otherwise waits a short time and returns true.
 */
static bool wait_for_lock(struct db *db, const char *message)
{
	bool may;

	pthread_mutex_lock(&db->lock);
	may = !db->stop_by_ns || writer_now_ns() < db->stop_by_ns;
	if (may) {
		db->stats.last_error = SQLITE_BUSY;
		snprintf(db->stats.last_message, sizeof(db->stats.last_message), "%s", message);
		writer_wait_until(db, &db->wake, writer_now_ns() + BUSY_PAUSE_NS);
	}
	pthread_mutex_unlock(&db->lock);
	return may;
}

/* Stores why the file is damaged, so that the next reopen() sets it aside. */
static bool note_damage(struct db *db, int rc, const char *message)
{
	if ((rc & 0xff) != SQLITE_CORRUPT && (rc & 0xff) != SQLITE_NOTADB)
		return false;
	snprintf(db->damage, sizeof(db->damage), "%s", message);
	return true;
}

static bool connection_survives(int rc)
{
	return (rc & 0xff) == SQLITE_FULL || (rc & 0xff) == SQLITE_CONSTRAINT;
}

static void write_batch(struct db *db, uint64_t end)
{
	uint64_t position = db->finished;
	char message[DB_MESSAGE_MAX] = "";
	int rc;

	rc = reopen(db, message);
	if (rc == SQLITE_OK) {
		rc = store_begin(db->store);
		if (rc != SQLITE_OK)
			snprintf(message, sizeof(message), "%.127s", store_message(db->store));
	}
	if ((rc & 0xff) == SQLITE_BUSY && wait_for_lock(db, message))
		return;
	if (rc == SQLITE_OK) {
		rc = write_records(db, &position, end);
		if (rc == SQLITE_OK)
			rc = store_commit(db->store);
		if (rc != SQLITE_OK)
			snprintf(message, sizeof(message), "%.127s", store_message(db->store));
	}
	if (rc != SQLITE_OK && db->store && note_damage(db, rc, message)) {
		if (position == db->finished)
			return; /* write the batch to a new file */
	} else if (rc != SQLITE_OK && db->store) {
		bool rolled_back = store_rollback(db->store) == SQLITE_OK;

		if (!rolled_back || !connection_survives(rc))
			db->store = store_close(db->store);
	}
	finish_batch(db, position, end, rc, message);
}

/* --- the thread: contracts --- */

static char *take_contracts(struct db *db, int64_t *ret_revision)
{
	char *text = NULL;

	pthread_mutex_lock(&db->lock);
	if (!db->contracts.written) {
		text = db->contracts.text;
		db->contracts.text = NULL;
	}
	*ret_revision = db->contracts.revision;
	pthread_mutex_unlock(&db->lock);
	return text;
}

/* Keeps the text for the next attempt or for a new file, unless a newer text has arrived. */
static void restore_contracts(struct db *db, char *text, int rc, bool again, const char *message)
{
	pthread_mutex_lock(&db->lock);
	if (db->contracts.text) {
		free(text);
	} else {
		db->contracts.text = text;
		db->contracts.written = rc == SQLITE_OK;
		db->contracts.due = again;
	}
	if (!again) {
		db->stats.errors += rc != SQLITE_OK;
		db->stats.last_error = rc & 0xff;
		snprintf(db->stats.last_message, sizeof(db->stats.last_message), "%s", message);
	}
	pthread_cond_broadcast(&db->rest);
	pthread_mutex_unlock(&db->lock);
}

/*
 * Writes the contracts in a transaction of their own, so that records and contracts cannot fail
 * together. After a failure the contracts are written again with the next records.
 */
static void write_contracts(struct db *db)
{
	char message[DB_MESSAGE_MAX] = "";
	bool again = false;
	int64_t revision;
	char *text = take_contracts(db, &revision);
	int rc;

	if (!text)
		return;
	rc = reopen(db, message);
	if (rc == SQLITE_OK) {
		rc = store_save_contracts(db->store, revision, text);
		if (rc != SQLITE_OK)
			snprintf(message, sizeof(message), "%.127s", store_message(db->store));
	}
	if ((rc & 0xff) == SQLITE_BUSY)
		again = wait_for_lock(db, message);
	else if (rc != SQLITE_OK && !note_damage(db, rc, message) && !connection_survives(rc))
		db->store = store_close(db->store);
	restore_contracts(db, text, rc, again, message);
}

/* --- the thread: damage --- */

static void check_file(struct db *db)
{
	char message[DB_MESSAGE_MAX] = "";

	if (!store_check(db->store, message))
		(void)note_damage(db, SQLITE_CORRUPT, message);
}

static void check_on_request(struct db *db)
{
	bool due;

	pthread_mutex_lock(&db->lock);
	due = db->check_due &&
	      (!db->checked_ns || writer_now_ns() >= db->checked_ns + CHECK_PAUSE_NS);
	db->check_due = false;
	pthread_mutex_unlock(&db->lock);
	if (!due || !db->store || store_moved(db->store))
		return;
	check_file(db);
	db->checked_ns = writer_now_ns();
}

/* Notices when an operator removes a damaged database. */
static void list_damaged(struct db *db)
{
	struct db_damaged damaged;

	if (db->stats.damaged.n == 0)
		return;
	damage_list(db->path, &damaged);
	pthread_mutex_lock(&db->lock);
	db->stats.damaged = damaged;
	pthread_mutex_unlock(&db->lock);
}

void writer_destroy(struct db *db)
{
	free(db->contracts.text);
	queue_fini(&db->queue);
	pthread_cond_destroy(&db->rest);
	pthread_cond_destroy(&db->wake);
	pthread_mutex_destroy(&db->lock);
	free(db->path);
	free(db);
}

void *writer_run_thread(void *arg)
{
	struct db *db = arg;
	bool abandoned;
	uint64_t end;

	if (db->unclean)
		check_file(db);
	while (wait_for_work(db, &end)) {
		if (end > db->finished)
			write_batch(db, end);
		write_contracts(db);
		check_on_request(db);
		list_damaged(db);
	}
	store_close(db->store);

	pthread_mutex_lock(&db->lock);
	db->ended = true;
	abandoned = db->abandoned;
	pthread_cond_broadcast(&db->rest);
	pthread_mutex_unlock(&db->lock);
	if (abandoned)
		writer_destroy(db);
	return NULL;
}
