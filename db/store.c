/* SPDX-License-Identifier: MIT */
/* Writes records. Must never wait long: for a lock at most BUSY_MS, and in WAL for nothing else. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "db/conn.h"
#include "db/rollup.h"
#include "db/schema.h"
#include "db/store.h"

#define BUSY_MS 250

enum statement {
	PUT_VGPU = RECORD_KINDS, /* before it: one for each record_kind */
	BEGIN,
	COMMIT,
	ROLLBACK,
	KEEP_CONTRACTS,
	STATEMENTS,
};

/* The parameters stand in the order of the fields in record.c. */
static const char *const statement_sql[STATEMENTS] = {
	[RECORD_SAMPLE] = "INSERT OR REPLACE INTO sample VALUES (?1,"
			  " (SELECT num FROM vgpu WHERE id = ?2 AND gpu = ?3),"
			  " ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
	[RECORD_GPU_SAMPLE] =
		"INSERT OR REPLACE INTO gpu_sample VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[RECORD_DECISION] =
		"INSERT OR REPLACE INTO decision VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
	[RECORD_ALERT] = "INSERT OR REPLACE INTO alert VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
	[RECORD_OFFER] = "INSERT OR REPLACE INTO offer"
			 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
	[RECORD_CAP_WRITE] = "INSERT INTO cap_write VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[RECORD_SETTING] = "INSERT OR REPLACE INTO setting VALUES (?1, ?2)",
	[RECORD_SETTING_GONE] = "DELETE FROM setting WHERE key = ?1",
	[PUT_VGPU] = ("INSERT INTO vgpu (id, gpu) VALUES (?2, ?3)"
		      " ON CONFLICT (id) DO UPDATE SET gpu = excluded.gpu"),
	[BEGIN] = "BEGIN IMMEDIATE",
	[COMMIT] = "COMMIT",
	[ROLLBACK] = "ROLLBACK",
	[KEEP_CONTRACTS] = "INSERT OR REPLACE INTO contracts VALUES (1, ?1, ?2)",
};

struct store {
	sqlite3 *db;
	sqlite3_stmt *statements[STATEMENTS];
	struct rollup *rollup;
};

/* Deleted rows need not be wiped, and a WAL that once grew need not stay large. */
static const char setup_sql[] = "PRAGMA journal_mode = WAL;"
				"PRAGMA synchronous = NORMAL;"
				"PRAGMA secure_delete = OFF;"
				"PRAGMA cache_size = -1024;"
				"PRAGMA journal_size_limit = 8388608;";

static int set_up(struct store *store, const char *path, const struct db_retention *retention,
		  struct err *reterr)
{
	int rc, r;

	r = schema_migrate(store->db, path, schema_steps, schema_version, reterr);
	if (r < 0)
		return r;
	rc = sqlite3_exec(store->db, setup_sql, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = conn_prepare(store->db, statement_sql, STATEMENTS, store->statements);
	if (rc == SQLITE_OK)
		rc = rollup_new(store->db, retention, &store->rollup);
	return rc == SQLITE_OK ? 0 : conn_fail(store->db, rc, path, reterr);
}

int store_open(const char *path, const struct db_retention *retention, struct store **ret_store,
	       struct err *reterr)
{
	struct store *store;
	int r;

	store = calloc(1, sizeof(*store));
	if (!store)
		return err_fail(reterr, ENOMEM, "%s: out of memory", path);
	r = conn_open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, BUSY_MS, &store->db,
		      reterr);
	if (r >= 0)
		r = set_up(store, path, retention, reterr);
	if (r < 0) {
		store_close(store);
		return r;
	}
	*ret_store = store;
	return 0;
}

struct store *store_close(struct store *store)
{
	if (!store)
		return NULL;
	rollup_free(store->rollup);
	conn_finalize(store->statements, STATEMENTS);
	sqlite3_close(store->db);
	free(store);
	return NULL;
}

int store_begin(struct store *store)
{
	return conn_run(store->statements[BEGIN]);
}

static int run(struct store *store, int statement, enum record_kind kind, const uint8_t *bytes)
{
	int rc = record_bind(kind, bytes, store->statements[statement]);

	return rc == SQLITE_OK ? conn_run(store->statements[statement]) : rc;
}

int store_write(struct store *store, enum record_kind kind, const uint8_t *bytes)
{
	int rc = SQLITE_OK;

	if (kind == RECORD_SAMPLE || kind == RECORD_GPU_SAMPLE)
		rc = rollup_advance(store->rollup, record_time(bytes));
	if (rc == SQLITE_OK)
		rc = run(store, (int)kind, kind, bytes);
	if (kind == RECORD_SAMPLE && rc == SQLITE_CONSTRAINT_NOTNULL) { /* not known on this GPU */
		rc = run(store, PUT_VGPU, kind, bytes);
		if (rc == SQLITE_OK)
			rc = run(store, (int)kind, kind, bytes);
	}
	return rc;
}

int store_commit(struct store *store)
{
	return conn_run(store->statements[COMMIT]);
}

int store_rollback(struct store *store)
{
	/* Some failures have rolled back already. */
	int rc = sqlite3_get_autocommit(store->db) ? SQLITE_OK
						   : conn_run(store->statements[ROLLBACK]);

	return rc == SQLITE_OK ? rollup_reload(store->rollup) : rc;
}

int store_keep_contracts(struct store *store, int64_t revision, const char *text)
{
	sqlite3_stmt *statement = store->statements[KEEP_CONTRACTS];
	int rc = sqlite3_bind_int64(statement, 1, revision);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(statement, 2, text, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = conn_run(statement);
	(void)sqlite3_clear_bindings(statement); /* the text is the caller's */
	return rc;
}

const char *store_message(const struct store *store)
{
	return sqlite3_errmsg(store->db);
}

bool store_moved(const struct store *store)
{
	return conn_moved(store->db);
}
