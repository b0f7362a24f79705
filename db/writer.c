/* SPDX-License-Identifier: MIT */
/*
 * Writing: the functions that fill the queue, and the writer thread that empties it in batches and
 * alone uses the store. The records of a failed transaction are dropped and counted; the contracts
 * and the rows of the audit log are written again. If the connection may be broken, the next
 * transaction opens a new connection; if the file is damaged, it is set aside first.
 *
 * A transaction costs about as much as writing samples of 64 vGPUs, and more if the thread must be
 * woken first. Samples, which arrive every tick, are therefore written after a few seconds. Other
 * records are written at the end of their tick, together with the samples before them.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/xalloc.h"
#include "db/store.h"

/*
 * The records that wait for the writer thread: a bounded list of structs for each kind of record,
 * in memory that is allocated at the start. Each list is a ring. An empty ring restarts at its
 * first record, so that only a few pages are used while the writer is fast. Unused pages need no
 * memory. The caller must lock the queue. A record does not move until it is popped, even if other
 * records are pushed.
 */
struct queue {
	struct queue_list {
		char *records;
		uint64_t *numbers; /* in the order of all pushed records */
		size_t head;	   /* index of the oldest record */
		size_t n;
	} lists[RECORD_KINDS];
	uint64_t pushed; /* number of all records that were pushed */
};

static void queue_init(struct queue *queue)
{
	for (int kind = 0; kind < RECORD_KINDS; kind++) {
		const struct record_type *type = &record_types[kind];

		queue->lists[kind] = (struct queue_list){
			.records = xmalloc(type->queued_max * type->size),
			.numbers = xmalloc(type->queued_max * sizeof(uint64_t)),
		};
	}
}

static void queue_fini(struct queue *queue)
{
	for (int kind = 0; kind < RECORD_KINDS; kind++) {
		free(queue->lists[kind].records);
		free(queue->lists[kind].numbers);
	}
}

/* Copies @record. Returns false if the list of its kind is full. */
static bool queue_push(struct queue *queue, enum record_kind kind, const void *record)
{
	const struct record_type *type = &record_types[kind];
	struct queue_list *list = &queue->lists[kind];
	size_t at = (list->head + list->n) % type->queued_max;

	if (list->n == type->queued_max)
		return false;
	memcpy(list->records + at * type->size, record, type->size);
	list->numbers[at] = queue->pushed++;
	list->n++;
	return true;
}

/*
 * Returns the oldest record, or NULL if the queue is empty. *ret_n records of its kind, which
 * follow in memory, were pushed one after another.
 */
static const void *queue_front(const struct queue *queue, enum record_kind *ret_kind, size_t *ret_n)
{
	const struct queue_list *oldest = NULL;
	const struct record_type *type;
	size_t n = 1;

	for (int kind = 0; kind < RECORD_KINDS; kind++) {
		const struct queue_list *list = &queue->lists[kind];

		if (list->n == 0 ||
		    (oldest && list->numbers[list->head] > oldest->numbers[oldest->head]))
			continue;
		oldest = list;
		*ret_kind = (enum record_kind)kind;
	}
	if (!oldest)
		return NULL;
	type = &record_types[*ret_kind];
	while (n < oldest->n && oldest->head + n < type->queued_max &&
	       oldest->numbers[oldest->head + n] == oldest->numbers[oldest->head] + n)
		n++;
	*ret_n = n;
	return oldest->records + oldest->head * type->size;
}

/* Removes the @n oldest records of a kind. */
static void queue_pop(struct queue *queue, enum record_kind kind, size_t n)
{
	struct queue_list *list = &queue->lists[kind];

	list->n -= n;
	list->head = list->n == 0 ? 0 : (list->head + n) % record_types[kind].queued_max;
}

/* Returns true if a list is more than half full. */
static bool queue_presses(const struct queue *queue)
{
	for (int kind = 0; kind < RECORD_KINDS; kind++) {
		if (queue->lists[kind].n > record_types[kind].queued_max / 2)
			return true;
	}
	return false;
}

#define CLOSE_MAX_NS	(5 * NS_PER_S)
#define SAMPLE_DELAY_NS (5 * NS_PER_S) /* a crash loses the samples that wait */
#define OTHER_DELAY_NS	NS_PER_S       /* of other records if db_commit() is not called */
#define BUSY_PAUSE_NS	(100 * NS_PER_MS)
/* Pauses that keep a failing disk from causing an endless series of new files and checks. */
#define ASIDE_PAUSE_NS (10 * NS_PER_S)
#define CHECK_PAUSE_NS (600 * NS_PER_S)

struct audit_row {
	struct db_audit row;
	struct audit_row *next;
};

/*
 * Only the thread uses @store, @clock and @damage. The other members are protected by the lock,
 * which is never held during a call of sqlite.
 */
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
	struct {
		struct audit_row *first, **end; /* rows that are not written, in order */
		uint64_t added, written;	/* numbers of rows */
		bool due;			/* true: the rows must be written now */
	} audit;
	uint64_t accepted; /* number of records that were added to the queue */
	uint64_t finished; /* number of accepted records that were written or dropped */
	uint64_t marked;   /* value of accepted at the last db_commit() */
	/* value of accepted when the newest urgent record arrived, see schedule() */
	uint64_t urgent_to;
	uint64_t flush_to; /* value of finished that a caller waits for */
	uint64_t due_ns;   /* monotonic time of the next write; 0: no write is planned */
	/* monotonic time when the remaining records are dropped; 0: not stopping */
	uint64_t stop_by_ns;
	/* the last reading of the clocks; all zero: none. Used only by the thread. */
	struct record_clock clock;
	/* why the open file is damaged; "": it is not. Used only by the thread. */
	char damage[DB_MESSAGE_MAX];
	uint64_t set_aside_ns; /* when a file was last set aside; 0: never */
	bool unclean;	       /* check the file before the first batch */
	bool check_due;	       /* see db_check() */
	uint64_t checked_ns;   /* when the file was last checked; 0: never */
	bool ended;
	bool abandoned; /* true: db_close() no longer waits, so the thread frees @db */
	struct db_stats stats;
};

static uint64_t now_ns(void)
{
	return clock_now().mono_ns;
}

static void wait_until(struct db *db, pthread_cond_t *cond, uint64_t deadline_ns)
{
	struct timespec deadline = {
		.tv_sec = (time_t)(deadline_ns / NS_PER_S),
		.tv_nsec = (long)(deadline_ns % NS_PER_S),
	};

	(void)pthread_cond_timedwait(cond, &db->lock, &deadline);
}

/* --- the thread: records --- */

/* Returns the value that db->finished will have when all records that are due now are written. */
static uint64_t find_batch_end(const struct db *db)
{
	if (db->stop_by_ns || db->flush_to > db->finished)
		return db->accepted;
	if (queue_presses(&db->queue))
		return db->accepted;
	if (db->accepted > db->finished && now_ns() >= db->due_ns)
		return db->marked > db->finished ? db->marked : db->accepted;
	return db->finished;
}

/* The lists beside the queue, which are written at once. */
static bool has_lists_due(const struct db *db)
{
	return db->contracts.due || db->audit.due;
}

/* Returns false if the thread must end. */
static bool wait_for_work(struct db *db, uint64_t *ret_end)
{
	bool more;

	pthread_mutex_lock(&db->lock);
	while ((*ret_end = find_batch_end(db)) == db->finished && !has_lists_due(db) &&
	       !db->check_due && !db->stop_by_ns) {
		if (db->due_ns > 0 && db->accepted == db->finished && now_ns() >= db->due_ns)
			db->due_ns = 0;
		if (db->due_ns > 0)
			wait_until(db, &db->wake, db->due_ns);
		else
			pthread_cond_wait(&db->wake, &db->lock);
	}
	more = *ret_end > db->finished || has_lists_due(db) || (db->check_due && !db->stop_by_ns);
	pthread_mutex_unlock(&db->lock);
	return more;
}

/* Stores in the statistics which file was set aside. */
static void note_set_aside(struct db *db, const struct damage_result *result)
{
	struct db_damaged damaged;

	damage_list(db->path, &damaged);
	pthread_mutex_lock(&db->lock);
	db->stats.damaged = damaged;
	if (result->set_aside[0]) {
		db->stats.set_aside++;
		strcpy(db->stats.set_aside_name, result->set_aside);
		strcpy(db->stats.set_aside_why, result->why);
		db->set_aside_ns = now_ns();
		db->checked_ns = 0;
		db->check_due = false; /* it was requested for the damaged file */
	}
	pthread_mutex_unlock(&db->lock);
}

/* Stores in the statistics how the file was opened. */
static void note_open(struct db *db, const struct damage_result *result)
{
	note_set_aside(db, result);
	pthread_mutex_lock(&db->lock);
	db->stats.no_log = store_has_no_log(db->store);
	pthread_mutex_unlock(&db->lock);
	db->damage[0] = '\0';
}

/*
 * The log or its index was deleted or replaced: copies the rows that only this connection finds to
 * the file, and closes it. SQLITE_BUSY: a reader still needs the log.
 */
static int leave_lost_file(struct db *db, const char *end, char message[DB_MESSAGE_MAX])
{
	struct damage_result log;
	int rc = store_empty_log(db->store);

	if (rc != SQLITE_OK) {
		snprintf(message, DB_MESSAGE_MAX,
			 "the file that ends in %s was deleted or replaced, and its records cannot "
			 "be copied: %.40s",
			 end, store_message(db->store));
		return rc;
	}
	db->store = store_abandon(db->store);
	damage_move_log(db->path, &log);
	note_set_aside(db, &log);
	pthread_mutex_lock(&db->lock);
	db->stats.lost_files++;
	db->stats.lost_file = end;
	pthread_mutex_unlock(&db->lock);
	return SQLITE_OK;
}

static int open_again(struct db *db, struct err *reterr)
{
	struct damage_result result;
	int r;

	if (db->damage[0] && db->set_aside_ns && now_ns() < db->set_aside_ns + ASIDE_PAUSE_NS)
		return err_fail(reterr, EIO, "%s: damaged again: %s", db->path, db->damage);
	r = damage_open(db->path, &db->retention, db->damage[0] ? db->damage : NULL, &db->store,
			&result, reterr);
	if (r < 0)
		return r;
	note_open(db, &result);
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
	const char *lost = NULL;
	struct err err;
	int r, rc;

	if (db->store && db->damage[0])
		db->store = store_abandon(db->store);
	else if (db->store && store_moved(db->store))
		db->store = store_close(db->store);
	else if (db->store)
		lost = store_lost_file(db->store);
	rc = lost ? leave_lost_file(db, lost, message) : SQLITE_OK;
	if (rc != SQLITE_OK || db->store)
		return rc;
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
			rc = store_write(db->store, kind, records + i * record_types[kind].size);
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

/* Stores in the statistics how a transaction ended. The lock is held. */
static void note_result(struct db *db, int rc, const char *message)
{
	db->stats.errors += rc != SQLITE_OK;
	db->stats.last_error = rc & 0xff;
	snprintf(db->stats.last_message, sizeof(db->stats.last_message), "%s", message);
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
	if (rc == SQLITE_OK)
		db->stats.written += end - db->finished;
	else
		db->stats.dropped += end - db->finished;
	note_result(db, rc, message);
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

/* Without a log, a commit waits for readers, and no reader begins meanwhile. */
static int commit(struct db *db)
{
	char message[DB_MESSAGE_MAX];
	int rc = store_commit(db->store);

	while ((rc & 0xff) == SQLITE_BUSY && wait_for_lock(db, store_message(db->store)))
		rc = store_commit(db->store);
	if (rc == SQLITE_OK && store_lost_file(db->store))
		(void)reopen(db, message); /* else a crash loses what was committed */
	return rc;
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
			rc = commit(db);
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
	if (!again)
		note_result(db, rc, message);
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

/* --- the thread: the audit log --- */

/* Returns the first of *ret_n rows. They stay in the list until finish_audit(). */
static const struct audit_row *find_audit(struct db *db, size_t *ret_n)
{
	const struct audit_row *first;

	pthread_mutex_lock(&db->lock);
	first = db->audit.first;
	*ret_n = (size_t)(db->audit.added - db->audit.written);
	pthread_mutex_unlock(&db->lock);
	return first;
}

/* Removes the @n oldest rows, which are written. */
static void finish_audit(struct db *db, size_t n, int rc, bool again, const char *message)
{
	pthread_mutex_lock(&db->lock);
	for (size_t i = 0; i < n; i++) {
		struct audit_row *row = db->audit.first;

		db->audit.first = row->next;
		free(row);
	}
	if (!db->audit.first)
		db->audit.end = &db->audit.first;
	db->audit.written += n;
	db->audit.due = db->audit.first && (rc == SQLITE_OK || again);
	db->stats.written += n;
	if (!again)
		note_result(db, rc, message);
	pthread_cond_broadcast(&db->rest);
	pthread_mutex_unlock(&db->lock);
}

static int write_rows(struct db *db, const struct audit_row *row, size_t n)
{
	int rc = store_write(db->store, RECORD_AUDIT, &row->row);

	while (rc == SQLITE_OK && --n > 0) { /* the loop may be adding a row after the last one */
		row = row->next;
		rc = store_write(db->store, RECORD_AUDIT, &row->row);
	}
	return rc == SQLITE_OK ? commit(db) : rc;
}

/* Ends a failed transaction. */
static void fail_audit(struct db *db, int rc, const char *message)
{
	bool usable;

	if (note_damage(db, rc, message))
		return;
	usable = store_rollback(db->store) == SQLITE_OK && connection_survives(rc);
	if (!usable)
		db->store = store_close(db->store);
}

/*
 * Writes the rows of the audit log in a transaction of their own, which is on disk when it ends:
 * the contracts file then no longer contains the rows. After a failure they are written again with
 * the next records.
 */
static void write_audit(struct db *db)
{
	char message[DB_MESSAGE_MAX] = "";
	bool again = false, begun = false;
	size_t n;
	const struct audit_row *first = find_audit(db, &n);
	int rc;

	if (n == 0)
		return;
	rc = reopen(db, message);
	if (rc == SQLITE_OK) {
		rc = store_set_durable(db->store, true);
		rc = rc == SQLITE_OK ? store_begin(db->store) : rc;
		begun = rc == SQLITE_OK;
		if (begun)
			rc = write_rows(db, first, n);
		if (rc != SQLITE_OK)
			snprintf(message, sizeof(message), "%.127s", store_message(db->store));
	}
	if ((rc & 0xff) == SQLITE_BUSY && !begun)
		again = wait_for_lock(db, message);
	else if (rc != SQLITE_OK && db->store)
		fail_audit(db, rc, message);
	if (db->store && !db->damage[0])
		(void)store_set_durable(db->store, false);
	finish_audit(db, rc == SQLITE_OK ? n : 0, rc, again, message);
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
	due = db->check_due && (!db->checked_ns || now_ns() >= db->checked_ns + CHECK_PAUSE_NS);
	db->check_due = false;
	pthread_mutex_unlock(&db->lock);
	if (!due || !db->store || store_moved(db->store) || store_lost_file(db->store))
		return;
	check_file(db);
	db->checked_ns = now_ns();
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

/* Frees @db without its store. */
static void destroy(struct db *db)
{
	struct audit_row *row;

	while ((row = db->audit.first)) {
		db->audit.first = row->next;
		free(row);
	}
	free(db->contracts.text);
	queue_fini(&db->queue);
	pthread_cond_destroy(&db->rest);
	pthread_cond_destroy(&db->wake);
	pthread_mutex_destroy(&db->lock);
	free(db->path);
	free(db);
}

/* Runs in the thread. */
static void *run_thread(void *arg)
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
		write_audit(db);
		check_on_request(db);
		list_damaged(db);
	}
	if (db->store && store_lost_file(db->store))
		(void)store_empty_log(db->store);
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

static void init_cond(pthread_cond_t *cond)
{
	pthread_condattr_t monotonic;

	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(cond, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
}

static struct db *create(const char *path, const struct db_retention *retention)
{
	struct db *db = xcalloc(1, sizeof(*db));

	db->retention = *retention;
	db->path = xstrdup(path);
	db->audit.end = &db->audit.first;
	queue_init(&db->queue);
	(void)pthread_mutex_init(&db->lock, NULL);
	init_cond(&db->wake);
	init_cond(&db->rest);
	return db;
}

int db_open(const char *path, const struct db_retention *retention, struct db **ret_db,
	    struct err *reterr)
{
	struct damage_result result;
	struct db *db = create(path, retention);
	int r;

	r = damage_open(path, retention, /* why= */ NULL, &db->store, &result, reterr);
	if (r >= 0) {
		note_open(db, &result);
		db->unclean = result.unclean;
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
	db->audit.due = db->audit.first;
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

	if (queue_presses(&db->queue))
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

/* The caller must lock the queue. */
static int push(struct db *db, enum record_kind kind, const void *record)
{
	bool fits = queue_push(&db->queue, kind, record);

	db->stats.appended++;
	if (fits) {
		db->accepted++;
		schedule(db, kind);
	} else {
		db->stats.dropped++;
	}
	return fits ? 0 : -ENOSPC;
}

static int append(struct db *db, enum record_kind kind, const void *record)
{
	int r;

	if (!record_valid(kind, record))
		return -EINVAL;
	pthread_mutex_lock(&db->lock);
	r = push(db, kind, record);
	pthread_mutex_unlock(&db->lock);
	return r;
}

/* One function for each kind of record. */
#define APPEND(name, kind)                                               \
	int db_append_##name(struct db *db, const struct db_##name *row) \
	{                                                                \
		return append(db, RECORD_##kind, row);                   \
	}
APPEND(decision, DECISION)
APPEND(alert, ALERT)
APPEND(tally, TALLY)
APPEND(offer, OFFER)
APPEND(silence, SILENCE)
APPEND(cap_write, CAP_WRITE)
APPEND(ledger, LEDGER)
APPEND(ledger_gpu, LEDGER_GPU)
APPEND(price, PRICE)

int db_append_samples(struct db *db, const struct db_gpu_sample *gpu, const struct db_sample *vgpus,
		      int n)
{
	int r = 0;

	if (gpu && !record_valid(RECORD_GPU_SAMPLE, gpu))
		return -EINVAL;
	for (int i = 0; i < n; i++)
		if (!record_valid(RECORD_SAMPLE, &vgpus[i]))
			return -EINVAL;
	pthread_mutex_lock(&db->lock);
	if (gpu)
		r = push(db, RECORD_GPU_SAMPLE, gpu);
	for (int i = 0; i < n; i++) {
		int r_vgpu = push(db, RECORD_SAMPLE, &vgpus[i]);

		r = r < 0 ? r : r_vgpu;
	}
	pthread_mutex_unlock(&db->lock);
	return r;
}

int db_append_clock(struct db *db, int64_t wall_ms, uint64_t boot_ns)
{
	struct record_clock row = {
		.wall_ms = wall_ms,
		.boot_ms = (int64_t)(boot_ns / NS_PER_MS),
	};

	return append(db, RECORD_CLOCK, &row);
}

int db_append_setting(struct db *db, const char *key, const char *value)
{
	struct db_setting row = {.value = ""};

	if (key[0] == '\0' || strlen(key) >= sizeof(row.key) ||
	    (value && strlen(value) >= sizeof(row.value)))
		return -EINVAL;
	strcpy(row.key, key);
	strcpy(row.value, value ? value : "");
	return append(db, value ? RECORD_SETTING : RECORD_SETTING_GONE, &row);
}

void db_save_contracts(struct db *db, int64_t revision, const char *text)
{
	char *copy = xstrdup(text);

	pthread_mutex_lock(&db->lock);
	free(db->contracts.text);
	db->contracts.text = copy;
	db->contracts.revision = revision;
	db->contracts.due = true;
	db->contracts.written = false;
	pthread_cond_signal(&db->wake);
	pthread_mutex_unlock(&db->lock);
}

int db_add_audit(struct db *db, const struct db_audit *row, uint64_t *ret_number)
{
	struct audit_row *added;

	if (!record_valid(RECORD_AUDIT, row))
		return -EINVAL;
	added = xmalloc(sizeof(*added));
	added->row = *row;
	added->next = NULL;
	pthread_mutex_lock(&db->lock);
	*db->audit.end = added;
	db->audit.end = &added->next;
	*ret_number = ++db->audit.added;
	db->audit.due = true;
	db->stats.appended++;
	pthread_cond_signal(&db->wake);
	pthread_mutex_unlock(&db->lock);
	return 0;
}

uint64_t db_audit_written(struct db *db)
{
	uint64_t written;

	pthread_mutex_lock(&db->lock);
	written = db->audit.written;
	pthread_mutex_unlock(&db->lock);
	return written;
}

void db_check(struct db *db)
{
	pthread_mutex_lock(&db->lock);
	db->check_due = true;
	pthread_cond_signal(&db->wake);
	pthread_mutex_unlock(&db->lock);
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
	ret_stats->queued =
		(int)(db->accepted - db->finished + db->audit.added - db->audit.written);
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
	if (db->finished < end || has_lists_due(db))
		pthread_cond_signal(&db->wake);
	while ((db->finished < end || db->audit.due || (db->contracts.due && deadline_ns == 0)) &&
	       (deadline_ns == 0 || now_ns() < deadline_ns)) {
		if (deadline_ns > 0)
			wait_until(db, &db->rest, deadline_ns);
		else
			pthread_cond_wait(&db->rest, &db->lock);
	}
	done = db->finished >= end && !db->audit.due;
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
