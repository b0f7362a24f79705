/* SPDX-License-Identifier: MIT */
/*
 * The queue and its writer thread. Only the writer thread uses the store. All other members of
 * struct db are protected by the lock, which is never held during a call of sqlite. The records of
 * a failed transaction are dropped and counted. If the connection may be broken, the next
 * transaction opens a new connection.
 *
 * A transaction costs about as much as writing samples of 64 vGPUs, and more if the thread must be
 * woken first. Samples, which arrive every tick, are therefore written after a few seconds. Other
 * records are written at the end of their tick, together with the samples before them.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "db/queue.h"
#include "db/store.h"
#include "db/writer.h"

/* Space for about 16,000 samples. Only the used part of the queue needs memory. */
#define QUEUE_BYTES	(2 * 1024 * 1024)
#define SAMPLE_DELAY_NS (5 * NS_PER_S) /* delay of samples; a crash loses those that wait */
#define OTHER_DELAY_NS	NS_PER_S       /* delay of other records if db_commit() is not called */
#define CLOSE_MAX_NS	(5 * NS_PER_S)
#define BUSY_PAUSE_NS	(100 * NS_PER_MS)

struct db {
	char *path;
	struct db_retention retention;
	/* open database; NULL after a failure, until the thread opens it again */
	struct store *store;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake; /* signalled when the thread has work */
	pthread_cond_t rest; /* signalled when the thread has done some work */
	struct queue queue;
	struct {
		char *text; /* text that waits for the thread; NULL: no text waits */
		int64_t revision;
		bool due;     /* true: the text must be written now */
		bool written; /* true: the open file contains the text */
	} contracts;
	uint64_t accepted; /* number of records that were added to the queue */
	uint64_t finished; /* number of accepted records that were written or dropped */
	uint64_t marked;   /* value of accepted at the last db_commit() */
	/* value of accepted when the newest urgent record arrived, see schedule() */
	uint64_t urgent_to;
	uint64_t flush_to; /* value of finished that a caller waits for */
	uint64_t due_ns;   /* monotonic time of the next write; 0: no write is planned */
	/* monotonic time when the remaining records are dropped; 0: not stopping */
	uint64_t stop_by_ns;
	bool ended;
	bool abandoned; /* true: db_close() no longer waits, so the thread frees @db */
	struct db_stats stats;
};

static uint64_t now_ns(void)
{
	return clock_now().mono_ns;
}

/* --- the thread --- */

static void wait_until(struct db *db, pthread_cond_t *cond, uint64_t deadline_ns)
{
	struct timespec deadline = {
		.tv_sec = (time_t)(deadline_ns / NS_PER_S),
		.tv_nsec = (long)(deadline_ns % NS_PER_S),
	};

	(void)pthread_cond_timedwait(cond, &db->lock, &deadline);
}

/* Returns the value that db->finished will have when all records that are due now are written. */
static uint64_t find_batch_end(const struct db *db)
{
	if (db->stop_by_ns || db->flush_to > db->finished)
		return db->accepted;
	if (queue_used(&db->queue) > db->queue.size / 2)
		return db->accepted;
	if (db->accepted > db->finished && now_ns() >= db->due_ns)
		return db->marked > db->finished ? db->marked : db->accepted;
	return db->finished;
}

/* Returns false if the thread must end. */
static bool wait_for_work(struct db *db, uint64_t *ret_end)
{
	bool more;

	pthread_mutex_lock(&db->lock);
	while ((*ret_end = find_batch_end(db)) == db->finished && !db->contracts.due &&
	       !db->stop_by_ns) {
		if (db->due_ns > 0 && db->accepted == db->finished && now_ns() >= db->due_ns)
			db->due_ns = 0;
		if (db->due_ns > 0)
			wait_until(db, &db->wake, db->due_ns);
		else
			pthread_cond_wait(&db->wake, &db->lock);
	}
	more = *ret_end > db->finished || db->contracts.due;
	pthread_mutex_unlock(&db->lock);
	return more;
}

static int reopen(struct db *db, char message[128])
{
	struct err err;
	int r;

	if (db->store && store_moved(db->store))
		db->store = store_close(db->store);
	if (db->store)
		return SQLITE_OK;
	r = store_open(db->path, &db->retention, &db->store, &err);
	if (r >= 0) {
		pthread_mutex_lock(&db->lock);
		/* the path may now be another file, without the contracts */
		db->contracts.written = false;
		pthread_mutex_unlock(&db->lock);
		return SQLITE_OK;
	}
	snprintf(message, 128, "%.127s", err.msg);
	return r == -EBUSY ? SQLITE_BUSY : r == -ENOMEM ? SQLITE_NOMEM : SQLITE_CANTOPEN;
}

/* Writes the records up to @end and removes each from the queue. */
static int write_records(struct db *db, uint64_t *position, uint64_t end)
{
	int rc = SQLITE_OK;

	pthread_mutex_lock(&db->lock);
	while (rc == SQLITE_OK && *position < end) {
		int kind;
		const uint8_t *bytes = queue_front(&db->queue, &kind);

		pthread_mutex_unlock(&db->lock);
		rc = store_write(db->store, (enum record_kind)kind, bytes);
		pthread_mutex_lock(&db->lock);
		queue_pop(&db->queue);
		(*position)++;
	}
	pthread_mutex_unlock(&db->lock);
	return rc;
}

static void finish_batch(struct db *db, uint64_t position, uint64_t end, int rc,
			 const char *message)
{
	pthread_mutex_lock(&db->lock);
	for (; position < end; position++)
		queue_pop(&db->queue);
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
	db->due_ns = now_ns() + (db->urgent_to > end ? OTHER_DELAY_NS : SAMPLE_DELAY_NS);
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
	may = !db->stop_by_ns || now_ns() < db->stop_by_ns;
	if (may) {
		db->stats.last_error = SQLITE_BUSY;
		snprintf(db->stats.last_message, sizeof(db->stats.last_message), "%s", message);
		wait_until(db, &db->wake, now_ns() + BUSY_PAUSE_NS);
	}
	pthread_mutex_unlock(&db->lock);
	return may;
}

static bool connection_survives(int rc)
{
	return (rc & 0xff) == SQLITE_FULL || (rc & 0xff) == SQLITE_CONSTRAINT;
}

static void write_batch(struct db *db, uint64_t end)
{
	uint64_t position = db->finished;
	char message[128] = "";
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
	if (rc != SQLITE_OK && db->store) {
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
	char message[128] = "";
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
	else if (rc != SQLITE_OK && !connection_survives(rc))
		db->store = store_close(db->store);
	restore_contracts(db, text, rc, again, message);
}

static void destroy(struct db *db)
{
	free(db->contracts.text);
	queue_fini(&db->queue);
	pthread_cond_destroy(&db->rest);
	pthread_cond_destroy(&db->wake);
	pthread_mutex_destroy(&db->lock);
	free(db->path);
	free(db);
}

static void *run_thread(void *arg)
{
	struct db *db = arg;
	bool abandoned;
	uint64_t end;

	while (wait_for_work(db, &end)) {
		if (end > db->finished)
			write_batch(db, end);
		write_contracts(db);
	}
	store_close(db->store);

	pthread_mutex_lock(&db->lock);
	db->ended = true;
	abandoned = db->abandoned;
	pthread_cond_broadcast(&db->rest);
	pthread_mutex_unlock(&db->lock);
	if (abandoned)
		destroy(db);
	return NULL;
}

/* --- opening and closing --- */

static int init_cond(pthread_cond_t *cond)
{
	pthread_condattr_t monotonic;
	int r;

	r = -pthread_condattr_init(&monotonic);
	if (r < 0)
		return r;
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	r = -pthread_cond_init(cond, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
	return r;
}

static int create(const char *path, const struct db_retention *retention, struct db **ret_db)
{
	struct db *db;
	int r;

	db = calloc(1, sizeof(*db));
	if (!db)
		return -ENOMEM;
	db->retention = *retention;
	db->path = strdup(path);
	r = db->path ? queue_init(&db->queue, QUEUE_BYTES) : -ENOMEM;
	if (r >= 0)
		r = -pthread_mutex_init(&db->lock, NULL);
	if (r >= 0)
		r = init_cond(&db->wake);
	if (r >= 0)
		r = init_cond(&db->rest);
	if (r < 0) {
		queue_fini(&db->queue);
		free(db->path);
		free(db);
		return r;
	}
	*ret_db = db;
	return 0;
}

int db_open(const char *path, const struct db_retention *retention, struct db **ret_db,
	    struct err *reterr)
{
	struct db *db;
	int r;

	r = create(path, retention, &db);
	if (r < 0)
		return err_fail(reterr, -r, "%s: %s", path, strerror(-r));
	r = store_open(path, retention, &db->store, reterr);
	if (r >= 0) {
		r = thread_start(&db->thread, run_thread, db, "gover-db");
		if (r < 0)
			(void)err_fail(reterr, -r, "%s: cannot start the writer thread: %s", path,
				       strerror(-r));
	}
	if (r < 0) {
		store_close(db->store);
		destroy(db);
		return r;
	}
	*ret_db = db;
	return 0;
}

struct db *db_close(struct db *db)
{
	return db_close_within(db, CLOSE_MAX_NS);
}

struct db *db_close_within(struct db *db, uint64_t max_ns)
{
	uint64_t deadline_ns = now_ns() + max_ns;
	bool ended;

	if (!db)
		return NULL;
	pthread_mutex_lock(&db->lock);
	db->stop_by_ns = deadline_ns;
	db->contracts.due = db->contracts.due || (db->contracts.text && !db->contracts.written);
	pthread_cond_signal(&db->wake);
	/*
	 * Wait one second longer than the deadline, so that the thread can drop the remaining
	 * records.
	 */
	while (!db->ended && now_ns() < deadline_ns + NS_PER_S)
		wait_until(db, &db->rest, deadline_ns + NS_PER_S);
	ended = db->ended;
	db->abandoned = !ended;
	pthread_mutex_unlock(&db->lock);
	if (ended) {
		(void)pthread_join(db->thread, NULL);
		destroy(db);
	} else { /* the thread is blocked in a system call and ends later */
		(void)pthread_detach(db->thread);
	}
	return NULL;
}

/* --- the producer --- */

/* Sets the time of the next write after a record was accepted, and wakes the thread if necessary.
 */
static void schedule(struct db *db, enum record_kind kind)
{
	bool urgent = kind != RECORD_SAMPLE && kind != RECORD_GPU_SAMPLE && kind != RECORD_LEDGER &&
		      kind != RECORD_LEDGER_GPU && kind != RECORD_CLOCK;
	uint64_t due_ns;

	if (queue_used(&db->queue) > db->queue.size / 2)
		pthread_cond_signal(&db->wake);
	if (urgent)
		db->urgent_to = db->accepted;
	else if (db->due_ns > 0)
		return;
	due_ns = now_ns() + (urgent ? OTHER_DELAY_NS : SAMPLE_DELAY_NS);
	if (db->due_ns > 0 && db->due_ns <= due_ns)
		return;
	db->due_ns = due_ns;
	pthread_cond_signal(&db->wake);
}

int writer_append(struct db *db, enum record_kind kind, const void *record)
{
	int size = record_size(kind, record);
	uint8_t *bytes;

	if (size < 0)
		return size;
	pthread_mutex_lock(&db->lock);
	db->stats.appended++;
	bytes = queue_push(&db->queue, (int)kind, (size_t)size);
	if (bytes) {
		record_pack(kind, record, bytes);
		db->accepted++;
		schedule(db, kind);
	} else {
		db->stats.dropped++;
	}
	pthread_mutex_unlock(&db->lock);
	return bytes ? 0 : -ENOSPC;
}

int db_save_contracts(struct db *db, int64_t revision, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	pthread_mutex_lock(&db->lock);
	free(db->contracts.text);
	db->contracts.text = copy;
	db->contracts.revision = revision;
	db->contracts.due = true;
	db->contracts.written = false;
	pthread_cond_signal(&db->wake);
	pthread_mutex_unlock(&db->lock);
	return 0;
}

void db_commit(struct db *db)
{
	pthread_mutex_lock(&db->lock);
	db->marked = db->accepted;
	if (db->urgent_to > db->finished) {
		db->due_ns = now_ns();
		pthread_cond_signal(&db->wake);
	}
	pthread_mutex_unlock(&db->lock);
}

void db_stats(struct db *db, struct db_stats *ret_stats)
{
	pthread_mutex_lock(&db->lock);
	*ret_stats = db->stats;
	ret_stats->queued = (int)(db->accepted - db->finished);
	pthread_mutex_unlock(&db->lock);
}

/*
 * Waits until all accepted records are written or dropped. Returns false if @deadline_ns passes
 * first; 0: no deadline.
 */
static bool flush_until(struct db *db, uint64_t deadline_ns)
{
	uint64_t end;
	bool done;

	pthread_mutex_lock(&db->lock);
	end = db->accepted;
	db->flush_to = end;
	if (db->finished < end || db->contracts.due)
		pthread_cond_signal(&db->wake);
	while ((db->finished < end || (db->contracts.due && deadline_ns == 0)) &&
	       (deadline_ns == 0 || now_ns() < deadline_ns)) {
		if (deadline_ns > 0)
			wait_until(db, &db->rest, deadline_ns);
		else
			pthread_cond_wait(&db->rest, &db->lock);
	}
	done = db->finished >= end;
	pthread_mutex_unlock(&db->lock);
	return done;
}

void db_flush(struct db *db)
{
	(void)flush_until(db, 0);
}

int db_flush_within(struct db *db, int ms)
{
	return flush_until(db, now_ns() + (uint64_t)ms * NS_PER_MS) ? 0 : -ETIMEDOUT;
}
