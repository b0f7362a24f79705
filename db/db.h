/* SPDX-License-Identifier: MIT */
/*
 * The history in sqlite. Appending copies a record to a bounded queue. One writer thread owns the
 * writing connection and writes in batches, so that a slow disk never delays a tick. Records that
 * do not fit into the queue are dropped and counted. Queries use a read-only connection of their
 * own and can run in any thread.
 */
#ifndef DB_DB_H
#define DB_DB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id.h"
#include "base/sample.h"

/* --- the rows: one struct for each kind of record --- */

/* A double that is not valid is NAN in a row and NULL in the database. */

/* The sample of one vGPU in one period. The database contains its load and util in percent, and
 * NULL for a value whose valid bit is not set. */
struct db_sample {
	int64_t ts_ms;
	char vgpu[ID_MAX];
	char gpu[ID_MAX];
	struct sample sample;
	int cap_pct, initial_cap_pct;
	double target_fps;
	bool short_of_target, broken, gap;
};

struct db_gpu_sample {
	int64_t ts_ms;
	char gpu[ID_MAX];
	double util_pct; /* physical */
	double load_pct; /* sum of the vGPUs' loads */
	int sum_cap_pct, sum_initial_cap_pct, vgpus;
	bool gap;
};

#define DB_TEXT_MAX 1024

struct db_decision {
	int64_t id; /* ids increase, also across restarts of the daemon */
	int64_t ts_ms;
	char gpu[ID_MAX], kind[24], vgpu[ID_MAX], donor[ID_MAX], result[32];
	char why[DB_TEXT_MAX];
	/* numbers and cap moves of the decision; always valid JSON */
	char detail_json[2 * DB_TEXT_MAX];
};

/* A new row replaces the row with the same id. */
struct db_alert {
	int64_t id;
	int64_t raised_ms;
	int64_t cleared_ms; /* 0: not cleared */
	int64_t acked_ms;   /* 0: not acknowledged */
	char name[48], gpu[ID_MAX], vgpu[ID_MAX], severity[16];
	char text[DB_TEXT_MAX];
	char vm[128], cause[24];
	char acked_by[80]; /* principal that acknowledged the alert */
};

/* The sums of a vGPU since @since_ms. A new row replaces the row of the same vGPU. */
struct db_tally {
	char vgpu[ID_MAX];
	int64_t ts_ms;	     /* time of the row */
	int64_t contract_ms; /* creation of the contract: a later contract of this id counts anew */
	int64_t since_ms;
	double seen_s, broken_s;
	double fps_sum_s, fps_s;
	double cap_error_pct_s, cap_error_s;
	int64_t steals_in, steals_out, cap_writes;
	double slow_bad_s; /* bad seconds in the slow window of the promise */
	bool slow_burns;   /* the alarm of this window holds */
};

/* A new row replaces the row with the same id. */
struct db_offer {
	int64_t id;
	int64_t created_ms, changed_ms;
	char gpu[ID_MAX], state[16], vgpu[ID_MAX];
	int cap_pct, funded_pct;
	double target_fps;
	char reason[DB_TEXT_MAX];
	char flavor[ID_MAX]; /* "": an earlier release made the offer */
};

/* A new row replaces the row with the same id. */
struct db_silence {
	int64_t id;
	int64_t created_ms, until_ms;
	int64_t ended_ms; /* 0: not ended */
	char alert[48], gpu[ID_MAX], vgpu[ID_MAX];
	char reason[256];
};

/* A changed parameter of the policy. */
struct db_setting {
	char key[64];
	char value[DB_TEXT_MAX];
};

struct db_cap_write {
	int64_t ts_ms;
	char vgpu[ID_MAX], gpu[ID_MAX], cause[24];
	int from_pct, to_pct, read_back_pct;
	int error; /* errno of the write; 0: written */
};

/* Amounts of the ledger, see below. */
struct db_money {
	double cap_s;	 /* integral of the sold cap, in seconds of the whole GPU */
	double broken_s; /* broken time, in vGPU-seconds */
	double revenue, penalty;
};

/* Amounts of the ledger for one vGPU since the previous row of this vGPU. */
struct db_ledger {
	int64_t ts_ms; /* any time in the minute to which the amounts are added */
	char vgpu[ID_MAX], gpu[ID_MAX], flavor[ID_MAX];
	struct db_money sold;
	struct db_money kept; /* amounts on a host without overselling, for comparison */
};

/* Amounts of the ledger for one GPU since the previous row of this GPU. */
struct db_ledger_gpu {
	int64_t ts_ms;
	char gpu[ID_MAX];
	double watched_s; /* time during which a daemon ran */
};

/*
 * A price that is in force from ts_ms on; negative: the operator has set no price. An unchanged
 * price creates no row.
 */
struct db_price {
	int64_t ts_ms;
	char flavor[ID_MAX];
	double price_per_cap_hour, penalty_per_broken_s;
};

#define DB_AUDIT_JSON_MAX 4096

/* A change of a resource, with the principal and the origin of the request. */
struct db_audit {
	int64_t id; /* ids increase, also across restarts of the daemon */
	int64_t ts_ms;
	char who[80];	 /* principal of the request */
	char origin[64]; /* origin of the request: "pid 4321" or an IP address */
	char method[8], path[256];
	/*
	 * HTTP status; 0: the client had disconnected, or the daemon ended before it stored the
	 * status
	 */
	int status;
	/* JSON object: the changed members before the change; "": the resource did not exist */
	char before_json[DB_AUDIT_JSON_MAX];
	/* JSON object: the changed members after the change; "": the resource was removed */
	char after_json[DB_AUDIT_JSON_MAX];
};

/* --- the database --- */

struct db;

/* How long rows of each resolution stay in the database. 0: no limit. */
struct db_retention {
	int raw_hours;
	int minute_days;
	int hour_days;
};

/*
 * Opens or creates @path in WAL mode, if the file system has shared mappings, migrates it, prepares
 * all statements and starts the writer. A damaged file is set aside (db/store.h). If the file was
 * not closed, the writer checks the whole file after the open, because sqlite notices a damaged
 * page only when it needs that page. Returns -EINVAL if the file is a database of another program,
 * -EPROTO if a newer version of gover wrote it, and -EROFS or -EACCES if the file cannot be
 * written.
 */
int db_open(const char *path, const struct db_retention *retention, struct db **ret_db,
	    struct err *reterr);
/*
 * Writes the queued records, stops the thread and closes the database. Records that are not written
 * within 5 s are dropped. @db can be NULL. Returns NULL.
 */
struct db *db_close(struct db *db);
/* Like db_close(), with @max_ns instead of 5 s. */
struct db *db_close_within(struct db *db, uint64_t max_ns);

/*
 * Each function copies records to the queue and never blocks. Returns -ENOSPC if the queue is full
 * and a record is dropped, and -EINVAL if an id is not valid or a text has no NUL.
 */

/*
 * Appends the samples of a GPU (NULL: none) and of its @n vGPUs in a tick. -EINVAL: none of them is
 * appended.
 */
int db_append_samples(struct db *db, const struct db_gpu_sample *gpu, const struct db_sample *vgpus,
		      int n);
/*
 * Appends a reading of the clocks (see struct instant), which must be appended before the samples
 * of a tick. Old rows are pruned by the trusted time of these readings (db/store.h); without
 * readings, nothing is pruned.
 */
int db_append_clock(struct db *db, int64_t wall_ms, uint64_t boot_ns);
int db_append_decision(struct db *db, const struct db_decision *row);
int db_append_alert(struct db *db, const struct db_alert *row);
int db_append_tally(struct db *db, const struct db_tally *row); /* -EINVAL: not a number */
int db_append_offer(struct db *db, const struct db_offer *row);
int db_append_silence(struct db *db, const struct db_silence *row);
int db_append_cap_write(struct db *db, const struct db_cap_write *row);
/* Appends a changed parameter of the policy. If @value is NULL, the stored value is removed. */
int db_append_setting(struct db *db, const char *key, const char *value);

/*
 * Saves a copy of the contracts file and replaces the previous copy. The copy is not part of the
 * queue, so it is not dropped if the queue is full. The writer thread writes it again after a
 * failure, and after the database was replaced by a new file.
 */
void db_save_contracts(struct db *db, int64_t revision, const char *text);

/*
 * Adds a row of the audit log. It is not part of the queue, so it is not dropped: the writer thread
 * writes the rows in the order of the calls, and again after a failure. A row whose id is already
 * in the database is not written. *ret_number is the number of rows that were added until now.
 * -EINVAL: as above.
 */
int db_add_audit(struct db *db, const struct db_audit *row, uint64_t *ret_number);
/* Returns how many of these rows are on disk or were already in the database. */
uint64_t db_audit_written(struct db *db);

/*
 * Marks the end of a tick. The records of a tick are written in one transaction, unless the queue
 * is more than half full. Samples are written at most five seconds later, together with the samples
 * of other ticks. Any other record is written immediately, with all records before it.
 */
void db_commit(struct db *db);

#define DB_MESSAGE_MAX	    128
#define DB_DAMAGED_MAX	    3
#define DB_DAMAGED_NAME_MAX 80

/* Names of the files in the folder of the database that were set aside, oldest first. */
struct db_damaged {
	bool database; /* at least one of them was the database */
	int n;
	char names[DB_DAMAGED_MAX][DB_DAMAGED_NAME_MAX];
};

struct db_stats {
	uint64_t appended, written, dropped; /* records */
	uint64_t errors;		     /* number of failed transactions */
	int queued;
	/* how far the wall clock is ahead of the time by which rows are pruned; 0 if it is not */
	int64_t clock_ahead_ms;
	int last_error; /* sqlite result code of the newest failure, 0 after a success */
	char last_message[DB_MESSAGE_MAX];
	/* number of later opens: the path had another file, or none, or a damaged one */
	uint64_t replaced;
	uint64_t set_aside;			  /* number of files that were set aside */
	char set_aside_name[DB_DAMAGED_NAME_MAX]; /* the last one */
	char set_aside_why[DB_MESSAGE_MAX];
	struct db_damaged damaged; /* all that still exist */
	uint64_t lost_files;	   /* how often the log or the index was deleted or replaced */
	const char *lost_file;	   /* end of the name of the last one */
	/* the file system has no shared mappings: queries and writes wait for each other */
	bool no_log;
};
void db_stats(struct db *db, struct db_stats *ret_stats);

/*
 * Requests a check of the whole file, because a query failed with -EUCLEAN. If the writer thread
 * finds damage, it sets the file aside. At most one check runs in ten minutes.
 */
void db_check(struct db *db);

/*
 * Blocks until all appended records are written or dropped, and until the writer thread has tried
 * to write the contracts. Only for tests and for the end of a program.
 */
void db_flush(struct db *db);
/*
 * Waits at most @ms milliseconds until all appended records are written or dropped, so that a query
 * sees them. Can be called from any thread. Returns -ETIMEDOUT if some records still wait.
 */
int db_flush_within(struct db *db, int ms);

/* --- reading: any thread, own connection; a replaced file is opened again --- */

struct db_reader;
int db_reader_open(const char *path, struct db_reader **ret_reader, struct err *reterr);
struct db_reader *db_reader_close(struct db_reader *reader);

/* When the queries of a reader end early. */
struct db_limit {
	uint64_t end_ns;	      /* monotonic time; 0: no limit */
	const atomic_bool *cancelled; /* ends a query when it becomes true; NULL: never */
};
/*
 * Limits all later queries of @reader. A query that reaches the limit returns -ETIME or -ECANCELED
 * about a millisecond later.
 */
void db_reader_limit(struct db_reader *reader, const struct db_limit *limit);

/*
 * The callbacks of queries. If one returns a non-zero result, the query stops and returns that
 * result. @row is the struct db_... of the rows that the query reads; it is valid during the call.
 */
typedef int (*db_row_fn)(void *userdata, const void *row);

/* The averages over one step of a history. */
struct db_point {
	const char *gpu; /* GPU of the vGPU; valid during the call */
	int64_t ts_ms;	 /* begin of the step */
	/* averages of the valid samples; NAN: no valid sample */
	double cap_pct, load_pct, util_pct, fps, target_fps, frame_p99_ms;
	double short_pct;  /* percentage of the samples that were short of the target */
	double broken_pct; /* percentage of the samples that were broken */
	int64_t samples;   /* number of samples */
	int64_t gaps;	   /* number of samples of late ticks */
	/* for each value: number of samples in which it was valid */
	int64_t load_n, util_n, fps_n, target_fps_n, frame_p99_n;
};
typedef int (*db_point_fn)(void *userdata, const struct db_point *point);

/*
 * Reads the history of a vGPU in [from_ms, to_ms) in steps of @step_s (1..86400), oldest first.
 * Steps begin at multiples of @step_s since 1970. Steps without a sample are omitted. Returns
 * -E2BIG for more than @max points and -ENOENT for an unknown vGPU.
 *
 * The range is extended to whole steps. The begin of the range is extended only if @max allows one
 * more point. Of the three resolutions (raw rows, minutes, hours), the query reads the coarsest
 * that divides the step and whose rows cover the range.
 */
int db_query_history(struct db_reader *reader, const char *vgpu, int64_t from_ms, int64_t to_ms,
		     int step_s, size_t max, db_point_fn point, void *userdata);

typedef int (*db_name_fn)(void *userdata, const char *vgpu);
/* Reads the names of all vGPUs whose history belongs to a GPU, also of removed ones. */
int db_query_names(struct db_reader *reader, const char *gpu, db_name_fn name, void *userdata);

typedef int (*db_ticks_fn)(void *userdata, int64_t ts_ms, int64_t ticks);
/*
 * Counts the ticks of a GPU in [from_ms, to_ms) in steps, as db_query_history(), oldest first. They
 * are stored for as long as raw samples. Steps without a tick are omitted.
 */
int db_query_ticks(struct db_reader *reader, const char *gpu, int64_t from_ms, int64_t to_ms,
		   int step_s, db_ticks_fn ticks, void *userdata);

/*
 * Reads the raw samples of all vGPUs of a GPU in [from_ms, to_ms), ordered by time and vGPU. Rows
 * before *ret_kept_from_ms were pruned; *ret_kept_from_ms is 0 if no row was pruned.
 */
int db_query_samples(struct db_reader *reader, const char *gpu, int64_t from_ms, int64_t to_ms,
		     db_row_fn sample, void *userdata, int64_t *ret_kept_from_ms);

/*
 * Ids of decisions, alerts, silences and offers are at most 2^52: JSON can represent them, also
 * after many further ids. Rows with other ids were not written by gover, and the functions below
 * ignore them.
 */
#define DB_ID_MAX      INT64_C(4503599627370496)
#define DB_ID_MAX_TEXT "4503599627370496"

/*
 * Reads the largest ids in the database, so that a new daemon continues after them. An id is 0 if
 * its table is empty. The id of the audit log is the largest one that was ever in the table, and
 * never 0.
 */
struct db_last_ids {
	int64_t decision, alert, offer, audit;
};
int db_query_last_ids(struct db_reader *reader, struct db_last_ids *ret_ids);

int db_query_settings(struct db_reader *reader, db_row_fn setting, void *userdata);
/* Reads the newest @limit decisions, oldest first. */
int db_query_decisions(struct db_reader *reader, int limit, db_row_fn decision, void *userdata);
/* Reads the @limit newest decisions whose subject is @vgpu, by ascending id. */
int db_query_decisions_of(struct db_reader *reader, const char *vgpu, int limit, db_row_fn decision,
			  void *userdata);

/* Reads the alerts that are not cleared and the @limit newest cleared alerts, by ascending id. */
int db_query_alerts(struct db_reader *reader, int limit, db_row_fn alert, void *userdata);

int db_query_tallies(struct db_reader *reader, db_row_fn tally, void *userdata);
/* Reads the silences that have not ended, oldest first. The newest silence is always included. */
int db_query_silences(struct db_reader *reader, db_row_fn silence, void *userdata);
/* Reads the offers in state open, claimed, probation or failed. Also reads the newest @limit offers
 * that were claimed: their contracts name them, and clients can repeat such a claim. */
int db_query_offers(struct db_reader *reader, int limit, db_row_fn offer, void *userdata);
/*
 * Reads the first @limit rows of the audit log with an id above @after and below @end, or the
 * newest @limit below @end if @after is -1; oldest first.
 */
int db_query_audit(struct db_reader *reader, int64_t after, int64_t end, int limit, db_row_fn row,
		   void *userdata);
/* Reads the newest saved contracts. The caller frees the text. Returns -ENOENT if no contracts are
 * saved. */
int db_query_contracts(struct db_reader *reader, int64_t *ret_revision, char **ret_text);

/*
 * --- the ledger ---
 *
 * Capacity sold, revenue and penalties. Each amount is computed with the price that was in force at
 * that time. A later price does not change it.
 *
 * Each row is added to the sums of its minute, hour and day. Sums of minutes are kept for the
 * retention of minutes. Sums of hours and days are kept for the retention of minutes or of hours,
 * whichever is longer.
 */

/*
 * Each function appends one record, never blocks, and returns the same errors as
 * db_append_samples(). Like samples, records of the first two functions are written up to five
 * seconds later.
 */
int db_append_ledger(struct db *db, const struct db_ledger *row);
int db_append_ledger_gpu(struct db *db, const struct db_ledger_gpu *row);
int db_append_price(struct db *db, const struct db_price *row);

/*
 * The range that the sums cover. It begins and ends at a whole minute, or at a whole hour if the
 * sums of the minutes there were pruned.
 */
struct db_ledger_range {
	int64_t from_ms, to_ms;
	double watched_s; /* time during which a daemon ran, summed over all GPUs */
};

/*
 * Reads the sums over [from_ms, to_ms), extended to whole minutes or hours, and stores the extended
 * range in *ret_range. Calls @row for each pair of vGPU and flavor in alphabetical order with a
 * struct db_ledger; ts_ms is 0 in these rows. Then calls @price with each struct db_price in force
 * in the range, oldest first. All rows are from one state of the file.
 */
int db_query_ledger(struct db_reader *reader, int64_t from_ms, int64_t to_ms, db_row_fn row,
		    db_row_fn price, void *userdata, struct db_ledger_range *ret_range);

#endif
