/* SPDX-License-Identifier: MIT */
/*
 * Computes the roll-up of one minute while the samples of the minute are written, so that the
 * samples need not be read again. If the file may contain other samples of the minute, the minute
 * is marked as incomplete, and its roll-up must be computed from the file.
 */
#ifndef DB_MINUTE_H
#define DB_MINUTE_H

#include <sqlite3.h>

#include "db/db.h"

struct minute;
/* Returns a minute that is marked as incomplete, or NULL if memory is exhausted. */
struct minute *minute_new(void);
/* @minute can be NULL. Returns NULL. */
struct minute *minute_free(struct minute *minute);

/* Begins a minute. The file must not contain a sample of this minute. Each sample must then be
 * passed to minute_add(). */
void minute_begin(struct minute *minute);
/* Adds a sample of vGPU @num. */
void minute_add(struct minute *minute, int64_t num, const struct db_sample *sample);
/*
 * Marks the minute as incomplete. Call this function if the file may contain samples that were not
 * passed to minute_add().
 */
void minute_doubt(struct minute *minute);

bool minute_complete(const struct minute *minute);

/*
 * Adds a row to the existing roll-up of its minute or hour, if there is one. Such a roll-up
 * contains samples that were pruned.
 */
#define MINUTE_MERGE                                                                            \
	" ON CONFLICT DO UPDATE SET samples = samples + excluded.samples,"                      \
	" gaps = gaps + excluded.gaps, covered_s = covered_s + excluded.covered_s,"             \
	" short = short + excluded.short, broken = broken + excluded.broken,"                   \
	" cap_sum = cap_sum + excluded.cap_sum,"                                                \
	" initial_cap_sum = initial_cap_sum + excluded.initial_cap_sum,"                        \
	" load_n = load_n + excluded.load_n, load_sum = load_sum + excluded.load_sum,"          \
	" util_n = util_n + excluded.util_n, util_sum = util_sum + excluded.util_sum,"          \
	" util_max = max(ifnull(util_max, excluded.util_max),"                                  \
	" ifnull(excluded.util_max, util_max)),"                                                \
	" fps_n = fps_n + excluded.fps_n, fps_sum = fps_sum + excluded.fps_sum,"                \
	" fps_min = min(ifnull(fps_min, excluded.fps_min), ifnull(excluded.fps_min, fps_min))," \
	" target_fps_n = target_fps_n + excluded.target_fps_n,"                                 \
	" target_fps_sum = target_fps_sum + excluded.target_fps_sum,"                           \
	" frame_p99_n = frame_p99_n + excluded.frame_p99_n,"                                    \
	" frame_p99_sum = frame_p99_sum + excluded.frame_p99_sum,"                              \
	" frame_p99_max = max(ifnull(frame_p99_max, excluded.frame_p99_max),"                   \
	" ifnull(excluded.frame_p99_max, frame_p99_max))"

/* Writes one row for each vGPU. @begin_ms is the time in each row. Returns a sqlite result code. */
extern const char minute_insert_sql[];
int minute_write(const struct minute *minute, int64_t begin_ms, sqlite3_stmt *insert);

#endif
