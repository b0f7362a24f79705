/* SPDX-License-Identifier: MIT */
/* The queue, which writer.c fills and the thread in writer-thread.c empties. */
#ifndef DB_WRITER_STATE_H
#define DB_WRITER_STATE_H

#include <pthread.h>

#include "base/clock.h"
#include "db/damage.h"
#include "db/queue.h"
#include "db/store.h"

#define WRITER_SAMPLE_DELAY_NS (5 * NS_PER_S) /* a crash loses the samples that wait */
#define WRITER_OTHER_DELAY_NS  NS_PER_S	      /* of other records if db_commit() is not called */

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

static inline uint64_t writer_now_ns(void)
{
	return clock_now().mono_ns;
}

static inline void writer_wait_until(struct db *db, pthread_cond_t *cond, uint64_t deadline_ns)
{
	struct timespec deadline = {
		.tv_sec = (time_t)(deadline_ns / NS_PER_S),
		.tv_nsec = (long)(deadline_ns % NS_PER_S),
	};

	(void)pthread_cond_timedwait(cond, &db->lock, &deadline);
}

/* Runs in the thread. */
void *writer_run_thread(void *db);
/* Stores in the statistics how the file was opened. */
void writer_note_open(struct db *db, const struct damage_result *result);
/* Frees @db without its store. */
void writer_destroy(struct db *db);

#endif
