/* SPDX-License-Identifier: MIT */
/*
 * Measures the history database. First result: rows per second through the queue and the writer
 * thread, including roll-ups, compared with plain inserts into one table. Second result: the time
 * to query one day of one vGPU, compared with plain SQL over the samples. Arguments: hours of
 * history (default 24), vGPUs (default 64). Each row needs about 100 bytes of disk space in TMPDIR.
 */
#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/parse.h"
#include "tests/bench/figures.h"
#include "db/db.h"

#define START_MS       (20000 * INT64_C(86400000))
#define REFERENCE_ROWS 500000
#define QUEUED_MAX     8000

static char folder[256], path[280];

static double seconds_since(uint64_t begin_ns)
{
	return (double)(clock_now().mono_ns - begin_ns) / (double)NS_PER_S;
}

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "bench-db: %s: %s\n", what, why);
	return -1;
}

static struct db_sample make_sample(int64_t second, int vgpu)
{
	struct db_sample sample = {
		.ts_ms = START_MS + second * 1000 + 7,
		.gpu = "gpu0",
		.sample = {.dt_s = 1.0003,
			   .busy_valid = true,
			   .load = (double)((second * 7 + vgpu) % 1009) / 1010,
			   .util = (double)((second * 3 + vgpu) % 997) / 990,
			   .fps_valid = true,
			   .fps = 30 + (double)((second + vgpu) % 301) / 9.7,
			   .p99_valid = true,
			   .frame_p99_ms = 10 + (double)((second + vgpu) % 103) / 7.3},
		.cap_pct = 1 + (int)((second / 60 + vgpu) % 100),
		.initial_cap_pct = 50,
		.target_fps = 60,
	};

	snprintf(sample.vgpu, sizeof(sample.vgpu), "vm%d", vgpu);
	return sample;
}

/* --- writing --- */

static int write_reference(double *ret_rate)
{
	static const char schema[] =
		"PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
		"CREATE TABLE sample (ts_ms INTEGER, vgpu INTEGER, dt_s REAL, cap_pct INTEGER,"
		" initial_cap_pct INTEGER, load_pct REAL, util_pct REAL, fps REAL, target_fps REAL,"
		" frame_p99_ms REAL, short INTEGER, broken INTEGER, gap INTEGER,"
		" PRIMARY KEY (ts_ms, vgpu)) WITHOUT ROWID;";
	uint64_t begin_ns = clock_now().mono_ns;
	sqlite3_stmt *insert = NULL;
	sqlite3 *db = NULL;
	char name[300];

	snprintf(name, sizeof(name), "%s/reference.db", folder);
	if (sqlite3_open(name, &db) || sqlite3_exec(db, schema, NULL, NULL, NULL) ||
	    sqlite3_prepare_v2(db, "INSERT INTO sample VALUES (?,?,?,?,?,?,?,?,?,?,0,0,0)", -1,
			       &insert, NULL))
		return fail(name, sqlite3_errmsg(db));
	for (int i = 0; i < REFERENCE_ROWS; i++) {
		struct db_sample sample = make_sample(i / 64, i % 64);

		if (i % 1000 == 0)
			(void)sqlite3_exec(db, i ? "COMMIT; BEGIN" : "BEGIN", NULL, NULL, NULL);
		sqlite3_bind_int64(insert, 1, sample.ts_ms);
		sqlite3_bind_int(insert, 2, i % 64);
		sqlite3_bind_double(insert, 3, sample.sample.dt_s);
		sqlite3_bind_int(insert, 4, sample.cap_pct);
		sqlite3_bind_int(insert, 5, sample.initial_cap_pct);
		sqlite3_bind_double(insert, 6, 100 * sample.sample.load);
		sqlite3_bind_double(insert, 7, 100 * sample.sample.util);
		sqlite3_bind_double(insert, 8, sample.sample.fps);
		sqlite3_bind_double(insert, 9, sample.target_fps);
		sqlite3_bind_double(insert, 10, sample.sample.frame_p99_ms);
		if (sqlite3_step(insert) != SQLITE_DONE)
			return fail(name, sqlite3_errmsg(db));
		sqlite3_reset(insert);
	}
	if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL))
		return fail(name, sqlite3_errmsg(db));
	sqlite3_finalize(insert);
	sqlite3_close(db);
	*ret_rate = REFERENCE_ROWS / seconds_since(begin_ns);
	return 0;
}

/* Waits until the queue has room. The daemon may drop samples, but this benchmark must not. */
static void wait_for_room(struct db *db)
{
	struct db_stats stats;

	db_stats(db, &stats);
	if (stats.queued > QUEUED_MAX)
		db_flush(db);
}

static int write_history(int64_t hours, int64_t vgpus, double *ret_rate)
{
	static const struct db_retention keep_all = {0};
	uint64_t begin_ns = clock_now().mono_ns;
	struct db_stats stats;
	struct err err;
	struct db *db;

	if (db_open(path, &keep_all, &db, &err) < 0)
		return fail("db_open", err.msg);
	for (int64_t second = 0; second < hours * 3600; second++) {
		for (int64_t i = 0; i < vgpus; i++) {
			struct db_sample sample = make_sample(second, (int)i);

			/* The end of this function checks that no sample was dropped. */
			(void)db_append_samples(db, NULL, &sample, 1);
		}
		db_commit(db);
		wait_for_room(db);
	}
	db_flush(db);
	db_stats(db, &stats);
	*ret_rate = (double)stats.written / seconds_since(begin_ns);
	db_close(db);
	return stats.dropped ? fail("dropped records", stats.last_message) : 0;
}

/* --- reading --- */

static int count_point(void *userdata, const struct db_point *point)
{
	(void)point;
	++*(int *)userdata;
	return 0;
}

static int time_queries(const char *what, int64_t hours, int64_t vgpus, int step_s)
{
	int64_t end_ms = START_MS + hours * 3600000;
	int64_t from_ms = step_s < 60 ? end_ms - 3600000 : START_MS;
	struct db_reader *reader;
	double ms[1024];
	struct err err;
	int points = 0;

	if (db_reader_open(path, &reader, &err) < 0)
		return fail("db_reader_open", err.msg);
	for (int64_t i = 0; i < vgpus; i++) {
		uint64_t begin_ns = clock_now().mono_ns;
		char vgpu[ID_MAX];
		int r;

		points = 0;
		snprintf(vgpu, sizeof(vgpu), "vm%" PRId64, i);
		r = db_query_history(reader, vgpu, from_ms, end_ms, step_s, 100000, count_point,
				     &points);
		if (r < 0)
			return fail("db_query_history", strerror(-r));
		ms[i] = seconds_since(begin_ns) * 1000;
	}
	db_reader_close(reader);
	qsort(ms, (size_t)vgpus, sizeof(ms[0]), figures_compare);
	printf("  %-34s p50 %8.2f ms   max %8.2f ms   (%d points)\n", what, ms[vgpus / 2],
	       ms[vgpus - 1], points);
	return 0;
}

static int time_plain_sql(void)
{
	static const char sql[] =
		"SELECT ts_ms / 60000, avg(cap_pct), avg(load_pct), avg(util_pct), avg(fps),"
		" avg(target_fps), avg(frame_p99_ms), count(*) FROM sample"
		" WHERE vgpu = (SELECT num FROM vgpu WHERE id = 'vm1') GROUP BY 1";
	uint64_t begin_ns = clock_now().mono_ns;
	sqlite3_stmt *statement = NULL;
	sqlite3 *db = NULL;
	int points = 0;

	if (sqlite3_open(path, &db) || sqlite3_prepare_v2(db, sql, -1, &statement, NULL))
		return fail("plain SQL", sqlite3_errmsg(db));
	while (sqlite3_step(statement) == SQLITE_ROW)
		points++;
	sqlite3_finalize(statement);
	sqlite3_close(db);
	printf("  %-34s     %8.2f ms                     (%d points)\n",
	       "reference: plain SQL, samples", seconds_since(begin_ns) * 1000, points);
	return 0;
}

/* --- all --- */

static int run(int64_t hours, int64_t vgpus)
{
	double rate, reference;
	struct stat st;

	if (write_reference(&reference) < 0 || write_history(hours, vgpus, &rate) < 0)
		return -1;
	if (stat(path, &st) < 0)
		return fail(path, strerror(errno));
	printf("writing, rows per second (target 100,000)\n");
	printf("  %-34s %10.0f   (%" PRId64 " rows, %.0f bytes each)\n", "gover, with roll-ups",
	       rate, hours * 3600 * vgpus, (double)st.st_size / (double)(hours * 3600 * vgpus));
	printf("  %-34s %10.0f   (%d rows)\n", "reference: plain inserts", reference,
	       REFERENCE_ROWS);
	printf("reading 1 of %" PRId64 " vGPUs (target 20 ms for a day)\n", vgpus);
	if (time_queries("all hours, step 1 minute", hours, vgpus, 60) < 0 ||
	    time_plain_sql() < 0 ||
	    time_queries("all hours, step 1 hour", hours, vgpus, 3600) < 0 ||
	    time_queries("last hour, step 6 s", hours, vgpus, 6) < 0)
		return -1;
	return 0;
}

static void remove_files(void)
{
	static const char *const names[] = {"history.db", "reference.db"};
	static const char *const suffixes[] = {"", "-wal", "-shm"};
	char name[320];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(suffixes); j++) {
			snprintf(name, sizeof(name), "%s/%s%s", folder, names[i], suffixes[j]);
			(void)unlink(name);
		}
	}
	(void)rmdir(folder);
}

int main(int argc, char *argv[])
{
	const char *tmp = getenv("TMPDIR");
	int64_t hours = 24, vgpus = 64;
	int r;

	if ((argc > 1 && parse_int(argv[1], 1, 1000, &hours) < 0) ||
	    (argc > 2 && parse_int(argv[2], 1, 1024, &vgpus) < 0) || argc > 3) {
		fprintf(stderr, "usage: bench-db [HOURS (1-1000) [VGPUS (1-1024)]]\n");
		return 2;
	}
	snprintf(folder, sizeof(folder), "%.200s/gover-bench-db-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(folder)) {
		fail(folder, strerror(errno));
		return 1;
	}
	snprintf(path, sizeof(path), "%s/history.db", folder);
	r = run(hours, vgpus);
	remove_files();
	return r < 0 ? 1 : 0;
}
