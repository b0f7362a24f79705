/* SPDX-License-Identifier: MIT */
/*
 * The history in sqlite. Appending costs the caller a copy into a bounded queue: one writer thread
 * owns the connection and writes in batches, so a slow disk never delays a tick; what does not fit
 * is dropped and counted. Queries open their own read-only connection and may run in any other
 * thread. The database is never the reason a loop stops.
 */
#ifndef DB_DB_H
#define DB_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id.h"

struct db;

/* How long each resolution is kept; 0 = for ever. */
struct db_retention {
	int raw_hours;	 /* 24 */
	int minute_days; /* 30 */
	int hour_days;	 /* 730 */
};

/* One vGPU in one period. NAN in a double: not valid then, stored as NULL. */
struct db_sample {
	int64_t ts_ms;
	char vgpu[ID_MAX];
	char gpu[ID_MAX];
	double dt_s;
	int cap_pct, initial_cap_pct;
	double load_pct, util_pct;
	double fps, target_fps, frame_p99_ms;
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
	int64_t id; /* the daemon's running number, continues after a restart */
	int64_t ts_ms;
	char gpu[ID_MAX], kind[24], vgpu[ID_MAX], donor[ID_MAX], result[32];
	char why[DB_TEXT_MAX];
	char detail_json[2 *
			 DB_TEXT_MAX]; /* numbers and moves, cut at whole members by the caller */
};

struct db_alert {
	int64_t id;
	int64_t raised_ms, cleared_ms, acked_ms; /* 0: not yet. The same id again updates the row */
	char name[48], gpu[ID_MAX], vgpu[ID_MAX], severity[16];
	char text[DB_TEXT_MAX];
};

struct db_offer {
	int64_t id;
	int64_t created_ms, changed_ms;
	char gpu[ID_MAX], state[16], vgpu[ID_MAX]; /* the same id again updates the row */
	int cap_pct, funded_pct;
	double target_fps;
	char reason[DB_TEXT_MAX];
	char claim_key[128]; /* with which it was sold; "": without one, or not yet */
};

struct db_silence {
	int64_t id;
	int64_t created_ms, until_ms;
	int64_t ended_ms; /* 0: not yet. The same id again updates the row */
	char alert[48], gpu[ID_MAX], vgpu[ID_MAX];
	char reason[256];
};

struct db_cap_write {
	int64_t ts_ms;
	char vgpu[ID_MAX], gpu[ID_MAX], cause[24];
	int from_pct, to_pct, read_back_pct;
	int error; /* errno, 0 = written */
};

/*
 * Opens or makes @path (WAL), migrates it, prepares every statement and starts the writer. A file
 * that is no database, or is newer than this program, is refused with a sentence (-EINVAL,
 * -EPROTO); -EROFS/-EACCES when it cannot be written. The caller may go on without history.
 */
int db_open(const char *path, const struct db_retention *retention, struct db **ret_db,
	    struct err *reterr);
/* Writes out what is queued (for at most 5 s), stops the thread, closes. NULL is fine; returns
 * NULL. */
struct db *db_close(struct db *db);
/* The same, for at most @max_ns. */
struct db *db_close_within(struct db *db, uint64_t max_ns);

/*
 * Each copies one record into the queue and never blocks. 0, or -ENOSPC: the queue is full,
 * dropped; -EINVAL: no row can hold it (an id that is not valid, a text that does not end in its
 * field).
 */
int db_append_sample(struct db *db, const struct db_sample *row);
int db_append_gpu_sample(struct db *db, const struct db_gpu_sample *row);
int db_append_decision(struct db *db, const struct db_decision *row);
int db_append_alert(struct db *db, const struct db_alert *row);
int db_append_offer(struct db *db, const struct db_offer *row);
int db_append_silence(struct db *db, const struct db_silence *row);
int db_append_cap_write(struct db *db, const struct db_cap_write *row);
/* A live setting (policy parameter), NULL value removes it. */
int db_append_setting(struct db *db, const char *key, const char *value);

/*
 * The text of the contracts file of this revision, in the place of the one before. No record: it
 * waits in no queue, only the newest is written, and that is tried until it stands in the file, and
 * again in each new file. 0 or -ENOMEM.
 */
int db_keep_contracts(struct db *db, int64_t revision, const char *text);

/*
 * Marks the end of a tick, whose records go into one transaction while there is room in the queue.
 * Samples alone wait up to five seconds for those of more ticks; where another record is among
 * them, all is written now.
 */
void db_commit(struct db *db);

struct db_stats {
	uint64_t appended, written, dropped; /* records */
	uint64_t errors; /* failed transactions; their records count as dropped */
	int queued;
	int last_error; /* sqlite result code of the newest failure, 0 after a success */
	char last_message[128];
};
void db_stats(struct db *db, struct db_stats *ret_stats);

/* Blocks until everything appended so far is written or dropped, and contracts are written or could
 * not be. For tests and orderly ends. */
void db_flush(struct db *db);
/* The same for at most @ms, in any thread: before reading what was just appended. -ETIMEDOUT. */
int db_flush_within(struct db *db, int ms);

/* --- reading: any thread, own connection; follows a file that is replaced --- */

struct db_reader;
int db_reader_open(const char *path, struct db_reader **ret_reader, struct err *reterr);
struct db_reader *db_reader_close(struct db_reader *reader);

struct db_point {      /* averages of one step */
	int64_t ts_ms; /* its begin */
	double cap_pct, load_pct, util_pct, fps, target_fps, frame_p99_ms; /* NAN: none valid */
	double short_pct, broken_pct; /* share of the samples */
	int64_t samples, gaps;	      /* gaps: samples whose tick was late */
	/* Samples in which each was valid. */
	int64_t load_n, util_n, fps_n, target_fps_n, frame_p99_n;
};
/* This and the receivers below: non-zero stops, and is what the query returns. */
typedef int (*db_point_fn)(void *userdata, const struct db_point *point);

/*
 * The history of a vGPU in [from_ms, to_ms) in steps of @step_s (1 .. 86400), oldest first: from
 * raw rows, minutes or hours, the coarsest whose size divides the step and that covers the range.
 * Steps begin at multiples of @step_s since 1970: the range is widened to whole ones, at its
 * beginning only where @max has room. Steps without a sample are left out. At most @max points
 * (-E2BIG beyond). -ENOENT: never heard of this vGPU.
 */
int db_query_history(struct db_reader *reader, const char *vgpu, int64_t from_ms, int64_t to_ms,
		     int step_s, size_t max, db_point_fn point, void *userdata);

/* Non-zero stops, and is what the query returns. */
typedef int (*db_sample_fn)(void *userdata, const struct db_sample *sample);
/*
 * The raw samples of all vGPUs of a GPU in [from_ms, to_ms), those of one tick together, oldest
 * first. Rows before *ret_kept_from_ms were pruned (0: none were).
 */
int db_query_samples(struct db_reader *reader, const char *gpu, int64_t from_ms, int64_t to_ms,
		     db_sample_fn sample, void *userdata, int64_t *ret_kept_from_ms);

/* What a start needs to go on where the last run ended: the largest ids (0: none). */
struct db_last_ids {
	int64_t decision, alert, offer;
};
int db_query_last_ids(struct db_reader *reader, struct db_last_ids *ret_ids);

typedef int (*db_setting_fn)(void *userdata, const char *key, const char *value);
int db_query_settings(struct db_reader *reader, db_setting_fn setting, void *userdata);
typedef int (*db_decision_fn)(void *userdata, const struct db_decision *decision);
/* Decisions, the newest @limit of them, oldest first: the memory of `why` after a restart. */
int db_query_decisions(struct db_reader *reader, int limit, db_decision_fn decision,
		       void *userdata);
typedef int (*db_alert_fn)(void *userdata, const struct db_alert *alert);
/* Alerts not cleared yet. */
int db_query_open_alerts(struct db_reader *reader, db_alert_fn alert, void *userdata);
typedef int (*db_silence_fn)(void *userdata, const struct db_silence *silence);
/* Silences that have not ended, and the newest of all: oldest first. */
int db_query_silences(struct db_reader *reader, db_silence_fn silence, void *userdata);
typedef int (*db_offer_fn)(void *userdata, const struct db_offer *offer);
/* Offers in state open, claimed, probation or failed, and of those that were claimed with a key the
 * newest @limit: who claimed one may ask again. */
int db_query_offers(struct db_reader *reader, int limit, db_offer_fn offer, void *userdata);
/* The newest db_keep_contracts(); the text is the caller's to free. -ENOENT: there was none. */
int db_query_contracts(struct db_reader *reader, int64_t *ret_revision, char **ret_text);

#endif
