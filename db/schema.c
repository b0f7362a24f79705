/* SPDX-License-Identifier: MIT */
/*
 * The schema, as a list of migration steps. A released step is never changed. Each change of the
 * schema adds a step at the end. Columns have the names of the members in db.h and the order of
 * the fields in record.c. Times are ms since 1970 in UTC. NULL means that the value was not valid.
 *
 * The key of table sample begins with the time, so that appending and pruning access one end of the
 * table. The keys of the roll-ups begin with the vGPU, so that a long graph of one vGPU reads
 * neighbouring rows. Roll-ups contain sums and counts, so that averages over several rows are
 * exact.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "db/conn.h"
#include "db/schema.h"

#define ROLL_UP                                                                                 \
	" (vgpu INTEGER NOT NULL, ts_ms INTEGER NOT NULL, samples INTEGER NOT NULL,"            \
	" gaps INTEGER NOT NULL, covered_s REAL NOT NULL, short INTEGER NOT NULL,"              \
	" broken INTEGER NOT NULL, cap_sum INTEGER NOT NULL, initial_cap_sum INTEGER NOT NULL," \
	" load_n INTEGER NOT NULL, load_sum REAL NOT NULL,"                                     \
	" util_n INTEGER NOT NULL, util_sum REAL NOT NULL, util_max REAL,"                      \
	" fps_n INTEGER NOT NULL, fps_sum REAL NOT NULL, fps_min REAL,"                         \
	" target_fps_n INTEGER NOT NULL, target_fps_sum REAL NOT NULL,"                         \
	" frame_p99_n INTEGER NOT NULL, frame_p99_sum REAL NOT NULL, frame_p99_max REAL,"       \
	" PRIMARY KEY (vgpu, ts_ms)) WITHOUT ROWID;"

const char *const schema_steps[] = {
	"CREATE TABLE vgpu (num INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,"
	" gpu TEXT NOT NULL);"

	"CREATE TABLE sample (ts_ms INTEGER NOT NULL, vgpu INTEGER NOT NULL, dt_s REAL,"
	" cap_pct INTEGER NOT NULL, initial_cap_pct INTEGER NOT NULL, load_pct REAL, util_pct REAL,"
	" fps REAL, target_fps REAL, frame_p99_ms REAL, short_of_target INTEGER NOT NULL,"
	" broken INTEGER NOT NULL, gap INTEGER NOT NULL, PRIMARY KEY (ts_ms, vgpu)) WITHOUT ROWID;"

	"CREATE TABLE sample_minute" ROLL_UP "CREATE TABLE sample_hour" ROLL_UP

	"CREATE TABLE gpu_sample (ts_ms INTEGER NOT NULL, gpu TEXT NOT NULL, util_pct REAL,"
	" load_pct REAL, sum_cap_pct INTEGER NOT NULL, sum_initial_cap_pct INTEGER NOT NULL,"
	" vgpus INTEGER NOT NULL, gap INTEGER NOT NULL, PRIMARY KEY (ts_ms, gpu)) WITHOUT ROWID;"

	"CREATE TABLE decision (id INTEGER PRIMARY KEY, ts_ms INTEGER NOT NULL, gpu TEXT,"
	" kind TEXT, vgpu TEXT, donor TEXT, result TEXT, why TEXT, detail_json TEXT);"

	"CREATE TABLE alert (id INTEGER PRIMARY KEY, raised_ms INTEGER, cleared_ms INTEGER,"
	" acked_ms INTEGER, name TEXT, gpu TEXT, vgpu TEXT, severity TEXT, text TEXT);"

	"CREATE TABLE offer (id INTEGER PRIMARY KEY, created_ms INTEGER, changed_ms INTEGER,"
	" gpu TEXT, state TEXT, vgpu TEXT, cap_pct INTEGER NOT NULL, funded_pct INTEGER NOT NULL,"
	" target_fps REAL, reason TEXT);"

	"CREATE TABLE cap_write (id INTEGER PRIMARY KEY, ts_ms INTEGER NOT NULL, vgpu TEXT,"
	" gpu TEXT, cause TEXT, from_pct INTEGER NOT NULL, to_pct INTEGER NOT NULL,"
	" read_back_pct INTEGER NOT NULL, error INTEGER NOT NULL);"

	"CREATE TABLE setting (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"

	/*
	 * This table has one row. All minutes except the one that begins at open_minute_ms are
	 * rolled up, and all hours except the hour of that minute. Rows before raw_from_ms,
	 * minute_from_ms and hour_from_ms were pruned.
	 */
	"CREATE TABLE progress (open_minute_ms INTEGER NOT NULL, raw_from_ms INTEGER NOT NULL,"
	" minute_from_ms INTEGER NOT NULL, hour_from_ms INTEGER NOT NULL);"
	"INSERT INTO progress VALUES (0, 0, 0, 0);",

	/* claim_key identified a repeated claim. Now it is NULL, and the contracts file has the
	   key. */
	"ALTER TABLE offer ADD COLUMN claim_key TEXT;",

	/* This table has one row: a copy of the contracts file, used if that file is missing at
	 * start. */
	("CREATE TABLE contracts (num INTEGER PRIMARY KEY CHECK (num = 1),"
	 " revision INTEGER NOT NULL, json TEXT NOT NULL);"),

	/* This table has the sums of minutes, hours and days. The key begins with the time, because
	 * a query reads all vGPUs. */
	"CREATE TABLE ledger (step_s INTEGER NOT NULL, ts_ms INTEGER NOT NULL,"
	" vgpu INTEGER NOT NULL, flavor TEXT NOT NULL, sold_cap_s REAL NOT NULL,"
	" sold_broken_s REAL NOT NULL, sold_revenue REAL NOT NULL, sold_penalty REAL NOT NULL,"
	" kept_cap_s REAL NOT NULL, kept_broken_s REAL NOT NULL, kept_revenue REAL NOT NULL,"
	" kept_penalty REAL NOT NULL, PRIMARY KEY (step_s, ts_ms, vgpu, flavor)) WITHOUT ROWID;"

	"CREATE TABLE ledger_gpu (step_s INTEGER NOT NULL, ts_ms INTEGER NOT NULL,"
	" gpu TEXT NOT NULL, watched_s REAL NOT NULL, PRIMARY KEY (step_s, ts_ms, gpu))"
	" WITHOUT ROWID;"

	"CREATE TABLE price (ts_ms INTEGER NOT NULL, flavor TEXT NOT NULL,"
	" price_per_cap_hour REAL NOT NULL, penalty_per_broken_s REAL NOT NULL,"
	" PRIMARY KEY (flavor, ts_ms)) WITHOUT ROWID;",

	/* Ids are never reused, so that a reader can continue after the last id it has read. */
	("CREATE TABLE audit (id INTEGER PRIMARY KEY AUTOINCREMENT, ts_ms INTEGER NOT NULL,"
	 " who TEXT, origin TEXT, method TEXT, path TEXT, status INTEGER NOT NULL,"
	 " before_json TEXT, after_json TEXT);"),
	("CREATE TABLE silence (id INTEGER PRIMARY KEY, created_ms INTEGER, until_ms INTEGER,"
	 " ended_ms INTEGER, alert TEXT, gpu TEXT, vgpu TEXT, reason TEXT);"),

	/* Ids are not reused even if the database is lost: in an empty table they begin with the
	 * seconds since 1970, which is a larger number than all earlier ids. */
	("INSERT INTO sqlite_sequence (name, seq)"
	 " SELECT 'audit', CAST(strftime('%s', 'now') AS INTEGER)"
	 " WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'audit');"),

	/* The members of struct trusted_time. An older file was pruned by the time of its newest
	 * row. */
	("ALTER TABLE progress ADD COLUMN trusted_ms INTEGER NOT NULL DEFAULT 0;"
	 "ALTER TABLE progress ADD COLUMN proposed_ms INTEGER NOT NULL DEFAULT 0;"
	 "ALTER TABLE progress ADD COLUMN confirmed_ms INTEGER NOT NULL DEFAULT 0;"
	 "ALTER TABLE progress ADD COLUMN wall_ms INTEGER NOT NULL DEFAULT 0;"
	 "UPDATE progress SET trusted_ms = open_minute_ms, proposed_ms = open_minute_ms,"
	 " wall_ms = open_minute_ms;"),

	/* Cleared alerts are shown after a restart, and the sums of each vGPU continue. */
	("ALTER TABLE alert ADD COLUMN vm TEXT; ALTER TABLE alert ADD COLUMN cause TEXT;"
	 "ALTER TABLE alert ADD COLUMN acked_by TEXT;"
	 "CREATE TABLE tally (vgpu TEXT PRIMARY KEY, ts_ms INTEGER NOT NULL,"
	 " contract_ms INTEGER NOT NULL, since_ms INTEGER NOT NULL, seen_s REAL, broken_s REAL,"
	 " fps_sum_s REAL, fps_s REAL, cap_error_pct_s REAL, cap_error_s REAL,"
	 " steals_in INTEGER NOT NULL, steals_out INTEGER NOT NULL,"
	 " cap_writes INTEGER NOT NULL, slow_bad_s REAL, slow_burns INTEGER NOT NULL)"
	 " WITHOUT ROWID; CREATE INDEX decision_vgpu ON decision (vgpu, id);"),

	/* Several flavours can be sold. */
	"ALTER TABLE offer ADD COLUMN flavor TEXT;",
};

const int schema_version = (int)ARRAY_SIZE(schema_steps);

/*
 * Checks that the file belongs to gover and writes its version to *ret_version. The version of an
 * empty file is 0.
 */
static int read_version(sqlite3 *db, const char *path, int *ret_version, struct err *reterr)
{
	int64_t application, version, objects;
	int rc;

	rc = conn_get_int(db, "PRAGMA application_id", &application);
	if (rc == SQLITE_OK)
		rc = conn_get_int(db, "PRAGMA user_version", &version);
	if (rc == SQLITE_OK)
		rc = conn_get_int(db, "SELECT count(*) FROM sqlite_schema", &objects);
	if (rc == SQLITE_NOTADB)
		return err_fail(reterr, EUCLEAN, "%s: not a database", path);
	if (rc != SQLITE_OK)
		return conn_fail(db, rc, path, reterr);
	if (version < 0 ||
	    (application != SCHEMA_APPLICATION_ID && (application || version || objects)))
		return err_fail(reterr, EINVAL, "%s: not a database of gover", path);
	*ret_version = (int)version;
	return 0;
}

static int newer(const char *path, int version, int known, struct err *reterr)
{
	return err_fail(reterr, EPROTO,
			"%s: written by a newer version of gover (schema %d, supported: up to %d)",
			path, version, known);
}

/* Runs one migration step in a transaction, unless another program has already run it. */
static int take_step(sqlite3 *db, const char *path, const char *const steps[], int n_steps,
		     int *ret_version, struct err *reterr)
{
	char set[96];
	int version = 0;
	int rc, r;

	rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	if (rc != SQLITE_OK)
		return conn_fail(db, rc, path, reterr);
	r = read_version(db, path, &version, reterr);
	if (r >= 0 && version < n_steps) {
		rc = sqlite3_exec(db, steps[version], NULL, NULL, NULL);
		version++;
		snprintf(set, sizeof(set), "PRAGMA application_id = %d; PRAGMA user_version = %d",
			 SCHEMA_APPLICATION_ID, version);
		if (rc == SQLITE_OK)
			rc = sqlite3_exec(db, set, NULL, NULL, NULL);
	}
	if (r >= 0 && rc == SQLITE_OK)
		rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	if (r >= 0 && rc != SQLITE_OK)
		r = conn_fail(db, rc, path, reterr);
	if (r < 0) {
		(void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
		return r;
	}
	*ret_version = version;
	return 0;
}

int schema_migrate(sqlite3 *db, const char *path, const char *const steps[], int n_steps,
		   struct err *reterr)
{
	int version;
	int r;

	r = read_version(db, path, &version, reterr);
	while (r >= 0 && version < n_steps)
		r = take_step(db, path, steps, n_steps, &version, reterr);
	if (r >= 0 && version > n_steps)
		r = newer(path, version, n_steps, reterr);
	return r;
}

int schema_check(sqlite3 *db, const char *path, struct err *reterr)
{
	int version;
	int r;

	r = read_version(db, path, &version, reterr);
	if (r < 0)
		return r;
	if (version > schema_version)
		return newer(path, version, schema_version, reterr);
	if (version < schema_version)
		return err_fail(reterr, EPROTO,
				"%s: schema version %d is not yet migrated to version %d", path,
				version, schema_version);
	return 0;
}
