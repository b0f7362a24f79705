/* SPDX-License-Identifier: MIT */
/*
 * Writes records. A write waits at most BUSY_MS while another program has locked the file. In WAL
 * mode readers never delay a write.
 *
 * The database stores each vGPU name once, under a numeric id. A sample refers to this id. Querying
 * the id is 40 % of the cost of writing a sample, so the ids are cached. The cache is cleared when
 * the names may have changed: after a write of another program, after a rollback, and at the end of
 * a minute, when old names are pruned.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "db/conn.h"
#include "db/rollup.h"
#include "db/schema.h"
#include "db/store.h"

#define BUSY_MS 250

enum statement {
	/*
	 * A value below RECORD_KINDS is an enum record_kind and names the statement that inserts a
	 * record of this kind. RECORD_CLOCK has no statement.
	 */
	PUT_VGPU = RECORD_KINDS,
	FIND_VGPU,
	DATA_VERSION,
	BEGIN,
	COMMIT,
	ROLLBACK,
	SAVE_CONTRACTS,
	STATEMENTS,
};

#define LEDGER_STEP(s)                       \
	" (" s ", ?1 - ?1 % (" s " * 1000)," \
	" ?2, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"

/* The parameters ?1, ?2, ... of a record are its fields in the order of record.c. */
static const char *const statement_sql[STATEMENTS] = {
	[RECORD_SAMPLE] = "INSERT OR REPLACE INTO sample VALUES (?1, ?2 /* vgpu.num */,"
			  " ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
	[RECORD_GPU_SAMPLE] =
		"INSERT OR REPLACE INTO gpu_sample VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[RECORD_DECISION] =
		"INSERT OR REPLACE INTO decision VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
	[RECORD_ALERT] = "INSERT OR REPLACE INTO alert"
			 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
	[RECORD_TALLY] = "INSERT OR REPLACE INTO tally"
			 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,"
			 " ?15)",
	[RECORD_OFFER] = "INSERT OR REPLACE INTO offer"
			 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
	[RECORD_CAP_WRITE] = "INSERT INTO cap_write VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[RECORD_SETTING] = "INSERT OR REPLACE INTO setting VALUES (?1, ?2)",
	[RECORD_SETTING_GONE] = "DELETE FROM setting WHERE key = ?1",
	/* Adds the amounts to the sums of the minute, the hour and the day. */
	[RECORD_LEDGER] = "INSERT INTO ledger VALUES" LEDGER_STEP("60") "," LEDGER_STEP(
		"3600") "," LEDGER_STEP("86400") " ON CONFLICT DO UPDATE SET sold_cap_s = "
						 "sold_cap_s + ?5,"
						 " sold_broken_s = sold_broken_s + ?6, "
						 "sold_revenue = sold_revenue + ?7,"
						 " sold_penalty = sold_penalty + ?8, kept_cap_s = "
						 "kept_cap_s + ?9,"
						 " kept_broken_s = kept_broken_s + ?10, "
						 "kept_revenue = kept_revenue + ?11,"
						 " kept_penalty = kept_penalty + ?12",
	[RECORD_LEDGER_GPU] = "INSERT INTO ledger_gpu VALUES (60, ?1 - ?1 % 60000, ?2, ?3),"
			      " (3600, ?1 - ?1 % 3600000, ?2, ?3),"
			      " (86400, ?1 - ?1 % 86400000, ?2, ?3)"
			      " ON CONFLICT DO UPDATE SET watched_s = watched_s + ?3",
	[RECORD_PRICE] =
		"INSERT OR REPLACE INTO price SELECT ?1, ?2, ?3, ?4 WHERE (?3, ?4) IS NOT"
		" (SELECT price_per_cap_hour, penalty_per_broken_s FROM price WHERE flavor = ?2"
		" ORDER BY ts_ms DESC LIMIT 1)",
	[RECORD_AUDIT] = "INSERT INTO audit (ts_ms, who, origin, method, path, status, before_json,"
			 " after_json) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[RECORD_SILENCE] = "INSERT OR REPLACE INTO silence VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[PUT_VGPU] = ("INSERT INTO vgpu (id, gpu) VALUES (?1, ?2)"
		      " ON CONFLICT (id) DO UPDATE SET gpu = excluded.gpu RETURNING num"),
	[FIND_VGPU] = "SELECT num FROM vgpu WHERE id = ?1 AND gpu = ?2",
	[DATA_VERSION] = "PRAGMA data_version",
	[BEGIN] = "BEGIN IMMEDIATE",
	[COMMIT] = "COMMIT",
	[ROLLBACK] = "ROLLBACK",
	[SAVE_CONTRACTS] = "INSERT OR REPLACE INTO contracts VALUES (1, ?1, ?2)",
};

struct cached_vgpu {
	char id[ID_MAX], gpu[ID_MAX];
	int64_t num;
};

struct store {
	sqlite3 *db;
	sqlite3_stmt *statements[STATEMENTS];
	struct rollup *rollup;
	struct cached_vgpu *cached;
	size_t n_cached, size_cached;
	size_t next_cached; /* index in cached where the next search begins */
	int64_t cached_minute;
	/* PRAGMA data_version; changes if another connection changes the file */
	int64_t data_version;
};

/*
 * secure_delete = OFF avoids overwriting deleted rows. journal_size_limit truncates a large WAL
 * file.
 */
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

int store_open(const char *path, enum store_mode mode, const struct db_retention *retention,
	       struct store **ret_store, struct err *reterr)
{
	int flags = SQLITE_OPEN_READWRITE | (mode == STORE_CREATE ? SQLITE_OPEN_CREATE : 0);
	struct store *store;
	int r;

	store = xcalloc(1, sizeof(*store));
	r = conn_open(path, flags, BUSY_MS, &store->db, reterr);
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
	free(store->cached);
	sqlite3_close(store->db);
	free(store);
	return NULL;
}

struct store *store_abandon(struct store *store)
{
	(void)sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	return store_close(store);
}

static int take_verdict(void *userdata, int n, char *values[], char *names[])
{
	(void)n;
	(void)names;
	snprintf(userdata, DB_MESSAGE_MAX, "%.*s", DB_MESSAGE_MAX - 1, values[0] ? values[0] : "");
	return 0;
}

bool store_check(struct store *store, char message[DB_MESSAGE_MAX])
{
	const char *path = sqlite3_db_filename(store->db, "main");
	sqlite3 *other = NULL; /* reads each page from the file, not from the cache of the store */
	struct err err = {""};
	struct stat st;
	int r, rc;

	if (stat(path, &st) == 0 && st.st_size == 0) { /* sqlite would find no fault */
		strcpy(message, "the file is empty");
		return false;
	}
	/* copies the pages in the log to the file, which may repair it */
	(void)sqlite3_wal_checkpoint_v2(store->db, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	r = conn_open(path, SQLITE_OPEN_READONLY, BUSY_MS, &other, &err);
	if (r == 0) {
		rc = sqlite3_exec(other, "PRAGMA quick_check(1)", take_verdict, message, NULL);
		r = rc == SQLITE_OK ? 0 : conn_fail(other, rc, path, &err);
		sqlite3_close(other);
	}
	if (r == 0)
		return strcmp(message, "ok") == 0;
	snprintf(message, DB_MESSAGE_MAX, "%.*s", DB_MESSAGE_MAX - 1, err.msg);
	return r != -EUCLEAN;
}

/* --- the numbers of vGPUs --- */

static void clear_cache(struct store *store)
{
	store->n_cached = store->next_cached = 0;
}

static const struct cached_vgpu *find_cached(struct store *store, const char *id, const char *gpu)
{
	for (size_t i = 0; i < store->n_cached; i++) {
		size_t at = (store->next_cached + i) % store->n_cached;
		const struct cached_vgpu *cached = &store->cached[at];

		if (strcmp(cached->id, id) != 0 || strcmp(cached->gpu, gpu) != 0)
			continue;
		store->next_cached = at + 1;
		return cached;
	}
	return NULL;
}

static void cache_vgpu(struct store *store, const char *id, const char *gpu, int64_t num)
{
	struct cached_vgpu *cached;

	if (store->n_cached == store->size_cached) {
		store->size_cached = store->size_cached ? 2 * store->size_cached : 64;
		store->cached = xreallocarray(store->cached, store->size_cached, sizeof(*cached));
	}
	cached = &store->cached[store->n_cached++];
	store->next_cached = store->n_cached;
	cached->num = num;
	if (id_copy(cached->id, id) < 0 || id_copy(cached->gpu, gpu) < 0)
		store->n_cached--;
}

/* Runs @statement to get the numeric id of a vGPU. Returns SQLITE_NOTFOUND if the vGPU has none. */
static int get_number(struct store *store, int statement, const char *id, const char *gpu,
		      int64_t *ret_num)
{
	sqlite3_stmt *get = store->statements[statement];
	int rc = sqlite3_bind_text(get, 1, id, -1, SQLITE_STATIC);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(get, 2, gpu, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = conn_run_int(get, ret_num);
	/* the bindings point to names of the caller, which may free them */
	(void)sqlite3_clear_bindings(get);
	return rc;
}

static int find_vgpu(struct store *store, const char *id, const char *gpu, int64_t *ret_num)
{
	const struct cached_vgpu *cached = find_cached(store, id, gpu);
	int rc;

	if (cached) {
		*ret_num = cached->num;
		return SQLITE_OK;
	}
	rc = get_number(store, FIND_VGPU, id, gpu, ret_num);
	if (rc == SQLITE_NOTFOUND) { /* the vGPU is new or moved to another GPU */
		clear_cache(store);
		rc = get_number(store, PUT_VGPU, id, gpu, ret_num);
	}
	if (rc == SQLITE_OK)
		cache_vgpu(store, id, gpu, *ret_num);
	return rc;
}

/* --- records --- */

int store_begin(struct store *store)
{
	int rc = conn_run(store->statements[BEGIN]);
	int64_t version = 0;

	if (rc != SQLITE_OK)
		return rc;
	rc = conn_run_int(store->statements[DATA_VERSION], &version);
	if (version != store->data_version)
		clear_cache(store);
	store->data_version = version;
	return rc;
}

static int write_record(struct store *store, enum record_kind kind, const void *record)
{
	int rc = record_bind(kind, record, store->statements[kind]);

	return rc == SQLITE_OK ? conn_run(store->statements[kind]) : rc;
}

/* Writes a record whose second parameter is the number of its vGPU. */
static int write_named(struct store *store, enum record_kind kind, const void *record,
		       const char *vgpu, const char *gpu)
{
	int64_t num;
	int rc = find_vgpu(store, vgpu, gpu, &num);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(store->statements[kind], 2, num);
	return rc == SQLITE_OK ? write_record(store, kind, record) : rc;
}

static int write_sample(struct store *store, const struct db_sample *sample)
{
	int64_t minute = sample->ts_ms / ROLLUP_MINUTE_MS;

	if (minute != store->cached_minute)
		clear_cache(store);
	store->cached_minute = minute;
	return write_named(store, RECORD_SAMPLE, sample, sample->vgpu, sample->gpu);
}

void store_read_clock(struct store *store, const struct record_clock *clock)
{
	rollup_clock(store->rollup, clock->wall_ms, clock->boot_ms);
}

int store_write(struct store *store, enum record_kind kind, const void *record)
{
	const struct db_ledger *ledger = record;
	int rc = SQLITE_OK;

	if (kind == RECORD_LEDGER)
		return write_named(store, kind, ledger, ledger->vgpu, ledger->gpu);
	if (kind == RECORD_CLOCK) {
		store_read_clock(store, record);
		return SQLITE_OK;
	}
	if (kind == RECORD_SAMPLE)
		rc = rollup_advance(store->rollup, ((const struct db_sample *)record)->ts_ms);
	else if (kind == RECORD_GPU_SAMPLE)
		rc = rollup_advance(store->rollup, ((const struct db_gpu_sample *)record)->ts_ms);
	if (rc == SQLITE_OK && kind == RECORD_SAMPLE)
		return write_sample(store, record);
	return rc == SQLITE_OK ? write_record(store, kind, record) : rc;
}

int store_commit(struct store *store)
{
	return conn_run(store->statements[COMMIT]);
}

int store_rollback(struct store *store)
{
	int rc;

	clear_cache(store);
	/* No ROLLBACK if sqlite has already rolled back, as it does after some failures. */
	rc = sqlite3_get_autocommit(store->db) ? SQLITE_OK : conn_run(store->statements[ROLLBACK]);
	return rc == SQLITE_OK ? rollup_reload(store->rollup) : rc;
}

int store_save_contracts(struct store *store, int64_t revision, const char *text)
{
	sqlite3_stmt *statement = store->statements[SAVE_CONTRACTS];
	int rc = sqlite3_bind_int64(statement, 1, revision);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(statement, 2, text, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = conn_run(statement);
	/* the binding points to the text of the caller, which may free it */
	(void)sqlite3_clear_bindings(statement);
	return rc;
}

int64_t store_clock_ahead_ms(const struct store *store)
{
	return rollup_clock_ahead_ms(store->rollup);
}

const char *store_message(const struct store *store)
{
	return sqlite3_errmsg(store->db);
}

bool store_moved(const struct store *store)
{
	return conn_moved(store->db);
}
