/* SPDX-License-Identifier: MIT */
/* Reads the raw samples of all vGPUs of a GPU, ordered by time and vGPU. */
#include <errno.h>

#include "db/conn.h"
#include "db/reader.h"
#include "db/record.h"

/* CROSS JOIN makes sqlite read the samples in the order of their key. */
static const char samples_sql[] =
	"SELECT ts_ms, id, gpu, dt_s, cap_pct, initial_cap_pct, load_pct, util_pct, fps,"
	" target_fps, frame_p99_ms, short_of_target, broken, gap"
	" FROM sample s CROSS JOIN vgpu v ON v.num = s.vgpu"
	" WHERE ts_ms >= ?1 AND ts_ms < ?2 AND gpu = ?3 ORDER BY ts_ms, s.vgpu";

static int read_rows(sqlite3 *db, const char *gpu, int64_t from_ms, int64_t to_ms,
		     db_sample_fn sample, void *userdata)
{
	sqlite3_stmt *statement = NULL;
	int rc = sqlite3_prepare_v2(db, samples_sql, -1, &statement, NULL);
	int r = 0;

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(statement, 1, from_ms);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(statement, 2, to_ms);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(statement, 3, gpu, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = SQLITE_ROW;
	while (r == 0 && rc == SQLITE_ROW && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
		struct db_sample row = {0};

		record_read(RECORD_SAMPLE, statement, &row);
		r = sample(userdata, &row);
	}
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		r = conn_errno(db, rc);
	sqlite3_finalize(statement);
	return r;
}

int db_query_samples(struct db_reader *reader, const char *gpu, int64_t from_ms, int64_t to_ms,
		     db_sample_fn sample, void *userdata, int64_t *ret_kept_from_ms)
{
	int64_t kept_from_ms = 0;
	sqlite3 *db;
	int rc, r;

	if (to_ms <= from_ms)
		return -EINVAL;
	r = reader_begin(reader, &db);
	if (r < 0)
		return r;
	rc = conn_get_int(db, "SELECT raw_from_ms FROM progress", &kept_from_ms);
	if (rc != SQLITE_OK)
		return reader_end(reader, conn_errno(db, rc));
	r = read_rows(db, gpu, from_ms, to_ms, sample, userdata);
	if (r >= 0)
		*ret_kept_from_ms = kept_from_ms;
	return reader_end(reader, r);
}
