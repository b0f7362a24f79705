/* SPDX-License-Identifier: MIT */
/* Sets damaged databases aside. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "db/damage.h"

/* The database, the write-ahead log and its index. */
static const char *const ends[] = {"", "-wal", "-shm"};

/* --- the files that were set aside --- */

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Writes the path of file @name in the folder of @path. */
static int write_path(const char *path, const char *name, const char *end, char ret_path[PATH_MAX])
{
	int n = snprintf(ret_path, PATH_MAX, "%.*s%s%s", (int)(name_of(path) - path), path, name,
			 end);

	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static bool is_damaged_name(const char *path, const char *name)
{
	const char *own = name_of(path);
	size_t length = strlen(own), n = strlen(name);

	if (strncmp(name, own, length) != 0 ||
	    strncmp(name + length, FILE_ASIDE_MARK, strlen(FILE_ASIDE_MARK)) != 0 ||
	    n >= DB_DAMAGED_NAME_MAX)
		return false;
	return strcmp(name + n - 4, ends[1]) != 0 && strcmp(name + n - 4, ends[2]) != 0;
}

static void remove_files(const char *path, const char *name)
{
	char victim[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (write_path(path, name, ends[i], victim) == 0)
			(void)remove(victim);
}

/* Calls @each for the name of each damaged database, oldest first. */
static void for_each_damaged(const char *path, void (*each)(void *userdata, const char *name),
			     void *userdata)
{
	char folder[PATH_MAX];
	struct dirent **entries;
	int n = write_path(path, ".", "", folder);

	if (n == 0)
		n = scandir(folder, &entries, NULL, alphasort); /* names are sorted by time */
	if (n < 0)
		return;
	for (int i = 0; i < n; i++) {
		if (is_damaged_name(path, entries[i]->d_name))
			each(userdata, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

/* If the list is full, replaces the newest name. */
static void add_name(void *userdata, const char *name)
{
	struct db_damaged *damaged = userdata;

	damaged->n -= damaged->n == DB_DAMAGED_MAX;
	strcpy(damaged->names[damaged->n++], name);
}

void damage_list(const char *path, struct db_damaged *ret_damaged)
{
	CLEANUP_FREE char *real = realpath(path, NULL);

	*ret_damaged = (struct db_damaged){.n = 0};
	for_each_damaged(real ? real : path, add_name, ret_damaged);
}

struct trimming {
	const char *path, *newest;
	int others;
};

static void trim(void *userdata, const char *name)
{
	struct trimming *t = userdata;

	if (strcmp(name, t->newest) != 0 && ++t->others >= DB_DAMAGED_MAX)
		remove_files(t->path, name);
}

/* --- setting aside --- */

static int choose_name(const char *path, char ret_name[DB_DAMAGED_NAME_MAX])
{
	char aside[PATH_MAX];
	int r = file_name_aside(path, aside);

	if (r < 0)
		return r;
	if (strlen(name_of(aside)) >= DB_DAMAGED_NAME_MAX)
		return -ENAMETOOLONG;
	strcpy(ret_name, name_of(aside));
	return 0;
}

/* sqlite cannot open a database if its log or index is a folder: sets such a folder aside alone. */
static int move_folder(const char *path, const char *end, struct damage_result *result)
{
	char from[PATH_MAX], to[PATH_MAX];
	struct stat st;
	int r = write_path(path, name_of(path), end, from);

	if (r < 0 || lstat(from, &st) < 0 || !S_ISDIR(st.st_mode))
		return r;
	r = choose_name(path, result->set_aside);
	if (r == 0)
		r = write_path(path, result->set_aside, "", to);
	if (r == 0 && rename(from, to) < 0)
		r = -errno;
	if (r < 0)
		result->set_aside[0] = '\0';
	else
		snprintf(result->why, sizeof(result->why), "%s%s is a folder", name_of(path), end);
	return r;
}

static int rename_files(const char *path, const char *name)
{
	char from[PATH_MAX], to[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		int r = write_path(path, name_of(path), ends[i], from);

		if (r == 0)
			r = write_path(path, name, ends[i], to);
		if (r == 0 && rename(from, to) < 0 && (i == 0 || errno != ENOENT))
			r = -errno;
		if (r < 0)
			return r;
	}
	return 0;
}

static int set_aside(const char *path, struct damage_result *result, struct err *reterr)
{
	int r = choose_name(path, result->set_aside);

	if (r == 0)
		r = rename_files(path, result->set_aside);
	if (r < 0) {
		result->set_aside[0] = '\0';
		return err_fail(reterr, -r, "the file cannot be renamed: %s", strerror(-r));
	}
	for_each_damaged(path, trim, &(struct trimming){.path = path, .newest = result->set_aside});
	return 0;
}

/* --- opening --- */

/* Creates a complete database under another name, so that no crash leaves an incomplete one. */
static int create_new(const char *path, const struct db_retention *retention,
		      char ret_new[PATH_MAX], struct err *reterr)
{
	char name[NAME_MAX + 1];
	struct store *store;
	int r = -ENAMETOOLONG;

	if ((size_t)snprintf(name, sizeof(name), "%s.new", name_of(path)) < sizeof(name))
		r = write_path(path, name, "", ret_new);
	if (r < 0)
		return err_fail(reterr, -r, "%s: %s", path, strerror(-r));
	remove_files(path, name);
	r = store_open(ret_new, STORE_CREATE, retention, &store, reterr);
	if (r == -EUCLEAN) /* it is not the file: sqlite does not accept the statements */
		r = -EIO;
	if (r < 0)
		remove_files(path, name);
	else
		store_close(store);
	return r;
}

static int begin_anew(const char *path, const struct db_retention *retention,
		      struct damage_result *result, struct err *reterr)
{
	char fresh[PATH_MAX], stale[PATH_MAX];
	int r = create_new(path, retention, fresh, reterr);

	if (r >= 0 && result->why[0])
		r = set_aside(path, result, reterr);
	if (r < 0)
		return r;
	/* a log without its database would be applied to the new one */
	for (size_t i = 1; i < ARRAY_SIZE(ends); i++)
		if (write_path(path, name_of(path), ends[i], stale) == 0)
			(void)unlink(stale);
	if (rename(fresh, path) < 0)
		return err_fail(reterr, errno, "%s: cannot be created: %s", path, strerror(errno));
	result->created = true;
	return 0;
}

/* True if the database has a log: sqlite removes it when the last connection is closed. */
static bool has_log(const char *path)
{
	char log[PATH_MAX];
	struct stat st;

	return write_path(path, name_of(path), ends[1], log) == 0 && stat(log, &st) == 0 &&
	       st.st_size > 0;
}

/* Returns -EUCLEAN if there is no file with content. sqlite would accept an empty file. */
static int check_file(const char *path, struct err *reterr)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return 0; /* the open reports the error */
	if (S_ISDIR(st.st_mode))
		return err_fail(reterr, EUCLEAN, "%s: is a folder", path);
	if (S_ISREG(st.st_mode) && st.st_size == 0)
		return err_fail(reterr, EUCLEAN, "%s: the file is empty", path);
	return 0;
}

/* Removes "PATH: " from a message. */
static const char *without_path(const char *path, const char *message)
{
	size_t n = strlen(path);

	return strncmp(message, path, n) == 0 && strncmp(message + n, ": ", 2) == 0
		       ? message + n + 2
		       : message;
}

int damage_open(const char *path, const struct db_retention *retention, const char *why,
		struct store **ret_store, struct damage_result *ret_result, struct err *reterr)
{
	CLEANUP_FREE char *real = realpath(path, NULL); /* the log is beside the target of a link */
	struct damage_result *result = ret_result;
	struct err err = {""};
	struct stat st;
	int r;

	*result = (struct damage_result){.created = false};
	if (!real && lstat(path, &st) == 0) /* for example, the disk is not mounted */
		return err_fail(reterr, errno, "%s: the target of the link is missing", path);
	path = real ? real : path;
	for (size_t i = 1; i < ARRAY_SIZE(ends); i++) {
		r = move_folder(path, ends[i], result);
		if (r < 0)
			return err_fail(reterr, -r, "%s%s: cannot be renamed: %s", path, ends[i],
					strerror(-r));
	}
	r = why ? -EUCLEAN : check_file(path, &err);
	result->unclean = r == 0 && has_log(path);
	if (r == 0)
		r = store_open(path, STORE_EXISTING, retention, ret_store, &err);
	if (r != -EUCLEAN && r != -ENOENT) {
		if (r < 0)
			(void)err_fail(reterr, -r, "%s", err.msg);
		return r;
	}
	if (r == -EUCLEAN)
		snprintf(result->why, sizeof(result->why), "%.*s", DB_MESSAGE_MAX - 1,
			 without_path(path, why ? why : err.msg));
	result->unclean = false;
	r = begin_anew(path, retention, result, &err);
	if (r < 0 && result->why[0])
		return err_fail(reterr, -r, "%s: damaged (%s); a new one cannot be created: %s",
				path, result->why, err.msg);
	if (r < 0)
		return err_fail(reterr, -r, "%s", err.msg);
	return store_open(path, STORE_EXISTING, retention, ret_store, reterr);
}
