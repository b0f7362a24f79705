/* SPDX-License-Identifier: MIT */
/* Reading and replacing small files. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"

#define STAMP_MAX  32
#define STAMPS_MAX 1000 /* names that are tried in one second */
#define COPY_BYTES 16384

int file_pread_text(int fd, char *text, size_t size)
{
	ssize_t n = pread(fd, text, size, 0);

	if (n < 0)
		return -errno;
	if ((size_t)n == size)
		return -ENOBUFS;
	if (n > 0 && text[n - 1] == '\n')
		n--;
	text[n] = '\0';
	return (int)n;
}

int file_read_text(const char *path, char *text, size_t size)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : file_pread_text(fd, text, size);
}

int file_pread_u64(int fd, uint64_t *ret_value)
{
	char text[32];
	int64_t value;
	int r;

	r = file_pread_text(fd, text, sizeof(text));
	if (r < 0)
		return r;
	r = parse_int(text, 0, INT64_MAX, &value);
	if (r < 0)
		return -EINVAL;
	*ret_value = (uint64_t)value;
	return 0;
}

int file_pwrite_text(int fd, const char *text)
{
	ssize_t length = (ssize_t)strlen(text), n = pwrite(fd, text, (size_t)length, 0);

	if (n < 0)
		return -errno;
	return n == length ? 0 : -EIO;
}

int file_pwrite_i64(int fd, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	return file_pwrite_text(fd, text);
}

int file_write_text(const char *path, const char *text)
{
	CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : file_pwrite_text(fd, text);
}

static bool is_null_device(const struct stat *status)
{
	return S_ISCHR(status->st_mode) && status->st_rdev == makedev(1, 3);
}

int file_open(const char *path, int flags, unsigned int mode)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode);
	struct stat status;
	int r = 0;

	if (fd < 0) /* a socket, or a FIFO without a reader */
		return errno == ENXIO ? -EINVAL : -errno;
	if (fstat(fd, &status) < 0)
		r = -errno;
	else if (!S_ISREG(status.st_mode) && !is_null_device(&status))
		r = S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
	if (r < 0)
		(void)close(fd);
	return r < 0 ? r : fd;
}

const char *file_error(int r)
{
	if (r == -EOPNOTSUPP)
		return "the file system does not support fsync() of a folder";
	return r == -EINVAL ? "not a regular file" : strerror(-r);
}

int file_open_stream(const char *path, FILE **ret_file)
{
	CLEANUP_CLOSE int fd = file_open(path, O_RDONLY, 0);
	FILE *file;

	if (fd < 0)
		return fd;
	file = fdopen(fd, "r");
	if (!file)
		return -errno;
	fd = -1;
	*ret_file = file;
	return 0;
}

static int write_all(int fd, const char *text, size_t length)
{
	while (length > 0) {
		ssize_t n = write(fd, text, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		length -= (size_t)n;
	}
	return 0;
}

static int sync_file(int fd)
{
	return fsync(fd) < 0 ? -errno : 0;
}

/* Writes the path of the folder that contains @path to @ret_folder. */
static int folder_of(const char *path, char ret_folder[PATH_MAX])
{
	char *slash;

	if (snprintf(ret_folder, PATH_MAX, "%s", path) >= PATH_MAX)
		return -ENAMETOOLONG;
	slash = strrchr(ret_folder, '/');
	if (slash)
		*(slash == ret_folder ? slash + 1 : slash) = '\0';
	else
		strcpy(ret_folder, ".");
	return 0;
}

static int sync_folder_of(const char *path)
{
	CLEANUP_CLOSE int fd = -1;
	char folder[PATH_MAX];
	int r = folder_of(path, folder);

	if (r < 0)
		return r;
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = fd < 0 ? -errno : sync_file(fd);
	return fd >= 0 && (r == -EINVAL || r == -ENOSYS) ? -EOPNOTSUPP : r;
}

/* A crash or another program may have left a file or a link with this name. */
static int create_anew(const char *path)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	int fd = open(path, flags, 0600);

	if (fd < 0 && errno == EEXIST && unlink(path) == 0)
		fd = open(path, flags, 0600);
	return fd < 0 ? -errno : fd;
}

static int copy(const char *from, const char *to)
{
	CLEANUP_CLOSE int in = file_open(from, O_RDONLY, 0);
	CLEANUP_CLOSE int out = in < 0 ? in : create_anew(to);
	char part[COPY_BYTES];
	ssize_t n = 0;
	int r = out < 0 ? out : 0;

	while (r == 0 && (n = read(in, part, sizeof(part))) > 0)
		r = write_all(out, part, (size_t)n);
	if (n < 0)
		r = -errno;
	return r < 0 ? r : sync_file(out);
}

/* Gives the content of @path the further name @before. Returns false if this fails. */
static bool keep_old(const char *path, const char *before)
{
	(void)unlink(before);
	if (link(path, before) == 0)
		return true;
	if (copy(path, before) == 0) /* the file system has no hard links */
		return true;
	(void)unlink(before);
	return false;
}

/*
 * Puts the folder entry of @temp in place of @path. If the new entry may not be on disk, the old
 * content is put back, so that a failure is not followed by the new content.
 */
static int rename_durably(const char *temp, const char *path, const char *before)
{
	bool new_file = access(path, F_OK) < 0 && errno == ENOENT;
	bool kept = !new_file && keep_old(path, before);
	int r = rename(temp, path) < 0 ? -errno : 0;

	if (r >= 0) {
		r = sync_folder_of(path);
		if (r < 0 && kept && rename(before, path) == 0)
			return r;
		if (r < 0 && new_file)
			(void)unlink(path);
	}
	if (kept)
		(void)unlink(before);
	return r;
}

int file_replace(const char *path, const char *text, size_t length)
{
	char temp[PATH_MAX], before[PATH_MAX];
	CLEANUP_CLOSE int fd = -1;
	int r;

	if (snprintf(temp, sizeof(temp), "%s.new", path) >= (int)sizeof(temp) ||
	    snprintf(before, sizeof(before), "%s.before", path) >= (int)sizeof(before))
		return -ENAMETOOLONG;
	fd = create_anew(temp);
	if (fd < 0)
		return fd;
	r = write_all(fd, text, length);
	if (r >= 0)
		r = sync_file(fd);
	if (r >= 0)
		r = rename_durably(temp, path, before);
	if (r < 0)
		(void)unlink(temp);
	return r;
}

int file_name_aside(const char *path, char ret_path[PATH_MAX])
{
	char stamp[STAMP_MAX];
	time_t now = time(NULL);
	struct stat st;
	struct tm tm;

	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
	for (int i = 1; i <= STAMPS_MAX; i++) {
		char number[8] = "";

		if (i > 1)
			snprintf(number, sizeof(number), "-%d", i);
		if (snprintf(ret_path, PATH_MAX, "%s%s%s%s", path, FILE_ASIDE_MARK, stamp,
			     number) >= PATH_MAX)
			return -ENAMETOOLONG;
		if (lstat(ret_path, &st) < 0)
			return errno == ENOENT ? 0 : -errno;
	}
	return -EEXIST;
}

int file_set_aside(const char *path, char ret_path[PATH_MAX])
{
	int r = file_name_aside(path, ret_path);

	if (r < 0)
		return r;
	return rename(path, ret_path) < 0 ? -errno : 0;
}

bool file_is_other(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

int file_each_match(const char *pattern, void (*found)(void *userdata, const char *path),
		    void *userdata)
{
	glob_t paths;
	int n = glob(pattern, 0, NULL, &paths) == 0 ? (int)paths.gl_pathc : 0;

	for (int i = 0; found && i < n; i++)
		found(userdata, paths.gl_pathv[i]);
	globfree(&paths);
	return n;
}

int file_make_dirs(const char *path)
{
	char part[PATH_MAX];
	struct stat st;

	if (path[0] == '\0')
		return -ENOENT;
	if (snprintf(part, sizeof(part), "%s", path) >= (int)sizeof(part))
		return -ENAMETOOLONG;
	for (char *p = part + 1;; p++) {
		char was = *p;

		if (was != '/' && was != '\0')
			continue;
		*p = '\0';
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			return -errno;
		if (was == '\0')
			break;
		*p = was;
	}
	if (stat(path, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int file_make_parents(const char *path)
{
	char folder[PATH_MAX];
	int r = folder_of(path, folder);

	return r < 0 ? r : file_make_dirs(folder);
}

static int executable(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno == EACCES ? -EACCES : -ENOENT;
	return S_ISREG(st.st_mode) && access(path, X_OK) == 0 ? 0 : -EACCES;
}

int file_find_command(const char *command, const char *search_path)
{
	int result = -ENOENT;
	char path[PATH_MAX];

	if (strchr(command, '/'))
		return executable(command);
	while (command[0] && search_path) {
		size_t n = strcspn(search_path, ":");
		int r;

		r = snprintf(path, sizeof(path), "%.*s%s%s", (int)n, search_path, n ? "/" : "./",
			     command);
		r = r < (int)sizeof(path) ? executable(path) : -ENOENT;
		if (r == 0)
			return 0;
		if (r == -EACCES)
			result = r;
		search_path = search_path[n] ? search_path + n + 1 : NULL;
	}
	return result;
}
