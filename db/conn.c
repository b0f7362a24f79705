/* SPDX-License-Identifier: MIT */
/* Connections to sqlite. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "db/conn.h"

static const struct {
	int rc, errnum;
} errnos[] = {
	{SQLITE_NOMEM, ENOMEM},	  {SQLITE_BUSY, EBUSY},		{SQLITE_LOCKED, EBUSY},
	{SQLITE_READONLY, EROFS}, {SQLITE_PERM, EACCES},	{SQLITE_AUTH, EACCES},
	{SQLITE_FULL, ENOSPC},	  {SQLITE_NOTADB, EUCLEAN},	{SQLITE_CORRUPT, EUCLEAN},
	{SQLITE_ERROR, EUCLEAN},  {SQLITE_CONSTRAINT, EUCLEAN}, {SQLITE_INTERRUPT, EINTR},
};

int conn_errno(sqlite3 *db, int rc)
{
	int primary = rc & 0xff;

	if (primary == SQLITE_CANTOPEN && db && sqlite3_system_errno(db) > 0)
		return -sqlite3_system_errno(db);
	for (size_t i = 0; i < ARRAY_SIZE(errnos); i++) {
		if (errnos[i].rc == primary)
			return -errnos[i].errnum;
	}
	return -EIO;
}

int conn_fail(sqlite3 *db, int rc, const char *path, struct err *reterr)
{
	int r = conn_errno(db, rc);

	return err_fail(reterr, -r, "%s: %s", path, db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
}

/* Returns 0 if @path can be written or created, else a negative errno. */
static int probe_write(const char *path)
{
	CLEANUP_FREE char *dir = NULL;
	char *slash;

	if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0)
		return 0;
	if (errno != ENOENT)
		return -errno;
	dir = xstrdup(path);
	slash = strrchr(dir, '/');
	if (slash)
		slash[1] = '\0';
	return faccessat(AT_FDCWD, slash ? dir : ".", W_OK, AT_EACCESS) == 0 ? 0 : -errno;
}

static sqlite3_mem_methods memory;

static void *allocate(int size)
{
	void *block = memory.xMalloc(size);

	if (!block)
		xalloc_fail((size_t)size);
	return block;
}

static void *reallocate(void *block, int size)
{
	void *larger = memory.xRealloc(block, size);

	if (!larger)
		xalloc_fail((size_t)size);
	return larger;
}

/*
 * A failed allocation of sqlite ends the program. Memory statistics are disabled, because they take
 * a lock for each allocation. If the program has used sqlite before, the calls fail and sqlite
 * stays as it is, which is harmless.
 */
static void set_up_library(void)
{
	sqlite3_mem_methods methods;

	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &memory) != SQLITE_OK)
		return;
	methods = memory;
	methods.xMalloc = allocate;
	methods.xRealloc = reallocate;
	(void)sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
}

/*
 * Creates an empty file that other users cannot read, because the history contains names of
 * customers. Further files that sqlite creates get the same mode.
 */
static void create_database(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);

	if (fd >= 0)
		(void)close(fd);
}

const char *const conn_file_ends[CONN_FILES] = {"", "-wal", "-shm", "-journal"};

#define CONN_URI_MAX (PATH_MAX + 64)

static int check_kind(const char *path, struct err *reterr)
{
	char file[PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < CONN_FILES; i++)
		if (snprintf(file, sizeof(file), "%s%s", path, conn_file_ends[i]) < PATH_MAX &&
		    stat(file, &st) == 0 && !S_ISREG(st.st_mode))
			return err_fail(reterr, EUCLEAN, "%s: %s", file, file_error(-EINVAL));
	return 0;
}

/* Writes "file:PATH?immutable=1" to @uri. */
static int make_uri(const char *path, char uri[CONN_URI_MAX])
{
	size_t n = (size_t)snprintf(uri, CONN_URI_MAX, "file:");

	for (const char *c = path; *c; c++) {
		if (n + sizeof("%00?immutable=1") > CONN_URI_MAX)
			return -ENAMETOOLONG;
		n += (size_t)snprintf(uri + n, CONN_URI_MAX - n,
				      strchr("%?#", *c) ? "%%%02x" : "%c", *c);
	}
	snprintf(uri + n, CONN_URI_MAX - n, "?immutable=1");
	return 0;
}

bool conn_is_fixed(const char *path)
{
	char file[PATH_MAX];
	struct stat st;

	if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 || errno != EROFS)
		return false;
	for (size_t i = CONN_LOG; i < CONN_FILES; i++)
		if (i != CONN_INDEX &&
		    snprintf(file, sizeof(file), "%s%s", path, conn_file_ends[i]) < PATH_MAX &&
		    stat(file, &st) == 0 && st.st_size > 0)
			return false;
	return true;
}

int conn_probe_locks(const char *path)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char probe[PATH_MAX];
	int fd, r;

	if (snprintf(probe, sizeof(probe), "%s.probe", path) >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = open(probe, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = fcntl(fd, F_SETLK, &lock) < 0 ? -errno : 0;
	(void)close(fd);
	(void)unlink(probe);
	return r;
}

int conn_open(const char *path, int flags, int busy_ms, sqlite3 **ret_db, struct err *reterr)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	bool write = flags & SQLITE_OPEN_READWRITE;
	char uri[CONN_URI_MAX];
	sqlite3 *db = NULL;
	int rc, r;

	(void)pthread_once(&once, set_up_library);
	r = check_kind(path, reterr);
	if (r >= 0 && flags & SQLITE_OPEN_URI)
		r = make_uri(path, uri);
	if (r < 0)
		return r;
	if (flags & SQLITE_OPEN_CREATE)
		create_database(path); /* sqlite3_open_v2() below reports a failure */
	rc = sqlite3_open_v2(flags & SQLITE_OPEN_URI ? uri : path, &db,
			     flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
	r = rc == SQLITE_OK ? 0 : conn_fail(db, rc, path, reterr);
	/* Without permission to write, sqlite opens the file for reading without an error; only
	 * sqlite3_db_readonly() reports this case. */
	if (write && (r < 0 || sqlite3_db_readonly(db, "main") == 1)) {
		int denied = probe_write(path);

		if (denied < 0)
			r = err_fail(reterr, -denied, "%s: cannot be written: %s", path,
				     strerror(-denied));
	}
	if (r < 0) {
		sqlite3_close(db);
		return r;
	}
	sqlite3_busy_timeout(db, busy_ms);
	*ret_db = db;
	return 0;
}

int conn_prepare(sqlite3 *db, const char *const sql[], int n, sqlite3_stmt *statements[])
{
	for (int i = 0; i < n; i++)
		statements[i] = NULL;
	for (int i = 0; i < n; i++) {
		int rc;

		if (!sql[i])
			continue;
		rc = sqlite3_prepare_v3(db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &statements[i],
					NULL);

		if (rc != SQLITE_OK)
			return rc;
	}
	return SQLITE_OK;
}

void conn_finalize(sqlite3_stmt *statements[], int n)
{
	for (int i = 0; i < n; i++) {
		sqlite3_finalize(statements[i]);
		statements[i] = NULL;
	}
}

int conn_run(sqlite3_stmt *statement)
{
	int rc;

	do
		rc = sqlite3_step(statement);
	while (rc == SQLITE_ROW);
	sqlite3_reset(statement);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int conn_run_int(sqlite3_stmt *statement, int64_t *ret_value)
{
	bool found = false;
	int rc;

	while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
		*ret_value = sqlite3_column_int64(statement, 0);
		found = true;
	}
	sqlite3_reset(statement);
	if (rc != SQLITE_DONE)
		return rc;
	return found ? SQLITE_OK : SQLITE_NOTFOUND;
}

int conn_get_int(sqlite3 *db, const char *sql, int64_t *ret_value)
{
	sqlite3_stmt *statement;
	int rc;

	rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite3_step(statement);
	if (rc == SQLITE_ROW) {
		*ret_value = sqlite3_column_int64(statement, 0);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(statement);
	return rc;
}

bool conn_moved(sqlite3 *db)
{
	int moved = 0;

	return sqlite3_file_control(db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
	       moved;
}

static struct conn_file find_file(const char *path, size_t i)
{
	char file[PATH_MAX];
	struct stat st;

	if (snprintf(file, sizeof(file), "%s%s", path, conn_file_ends[i]) >= PATH_MAX ||
	    stat(file, &st) < 0)
		return (struct conn_file){.inode = 0};
	return (struct conn_file){.device = st.st_dev, .inode = st.st_ino};
}

void conn_find_files(const char *path, struct conn_files *ret_files)
{
	ret_files->log = find_file(path, CONN_LOG);
	ret_files->index = find_file(path, CONN_INDEX);
}

static bool are_same(const struct conn_file *a, const struct conn_file *b)
{
	return a->device == b->device && a->inode == b->inode;
}

const char *conn_changed_file(const char *path, const struct conn_files *opened)
{
	struct conn_files now;

	conn_find_files(path, &now);
	if (!are_same(&now.log, &opened->log))
		return conn_file_ends[CONN_LOG];
	return are_same(&now.index, &opened->index) ? NULL : conn_file_ends[CONN_INDEX];
}
