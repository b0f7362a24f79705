/* SPDX-License-Identifier: MIT */
/*
 * The queue: opening, closing, and adding records.
 *
 * A transaction costs about as much as writing samples of 64 vGPUs, and more if the thread must be
 * woken first. Samples, which arrive every tick, are therefore written after a few seconds. Other
 * records are written at the end of their tick, together with the samples before them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "base/xalloc.h"
#include "db/ledger.h"
#include "db/writer-state.h"

#define CLOSE_MAX_NS (5 * NS_PER_S)

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
		writer_note_open(db, &result);
		db->unclean = result.unclean;
		r = thread_start(&db->thread, writer_run_thread, db, "gover-db");
		if (r < 0)
			(void)err_fail(reterr, -r, "%s: cannot start the writer thread: %s", path,
				       strerror(-r));
	}
	if (r < 0) {
		store_close(db->store);
		writer_destroy(db);
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
	uint64_t deadline_ns = writer_now_ns() + max_ns;
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
	while (!db->ended && writer_now_ns() < deadline_ns + NS_PER_S)
		writer_wait_until(db, &db->rest, deadline_ns + NS_PER_S);
	ended = db->ended;
	db->abandoned = !ended;
	pthread_mutex_unlock(&db->lock);
	if (ended) {
		(void)pthread_join(db->thread, NULL);
		writer_destroy(db);
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
	due_ns = writer_now_ns() + (urgent ? WRITER_OTHER_DELAY_NS : WRITER_SAMPLE_DELAY_NS);
	if (db->due_ns > 0 && db->due_ns <= due_ns)
		return;
	db->due_ns = due_ns;
	pthread_cond_signal(&db->wake);
}

static int append(struct db *db, enum record_kind kind, const void *record)
{
	bool fits;

	if (!record_valid(kind, record))
		return -EINVAL;
	pthread_mutex_lock(&db->lock);
	db->stats.appended++;
	fits = queue_push(&db->queue, kind, record);
	if (fits) {
		db->accepted++;
		schedule(db, kind);
	} else {
		db->stats.dropped++;
	}
	pthread_mutex_unlock(&db->lock);
	return fits ? 0 : -ENOSPC;
}

/* One function for each kind of record. */
#define APPEND(name, kind)                                               \
	int db_append_##name(struct db *db, const struct db_##name *row) \
	{                                                                \
		return append(db, RECORD_##kind, row);                   \
	}
APPEND(sample, SAMPLE)
APPEND(gpu_sample, GPU_SAMPLE)
APPEND(decision, DECISION)
APPEND(alert, ALERT)
APPEND(tally, TALLY)
APPEND(offer, OFFER)
APPEND(silence, SILENCE)
APPEND(cap_write, CAP_WRITE)
APPEND(ledger, LEDGER)
APPEND(ledger_gpu, LEDGER_GPU)
APPEND(price, PRICE)
APPEND(audit, AUDIT)

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
		db->due_ns = writer_now_ns();
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
	       (deadline_ns == 0 || writer_now_ns() < deadline_ns)) {
		if (deadline_ns > 0)
			writer_wait_until(db, &db->rest, deadline_ns);
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
	return flush_until(db, writer_now_ns() + (uint64_t)ms * NS_PER_MS) ? 0 : -ETIMEDOUT;
}
