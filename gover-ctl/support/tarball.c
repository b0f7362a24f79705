/* SPDX-License-Identifier: MIT */
/* A compressed tar archive. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gover-ctl/support/tarball.h"

struct tarball {
	struct archive *archive;
	int fd;
	char *path; /* path of the file; NULL: standard output */
};

static int archive_fail(struct tarball *tarball, struct err *reterr)
{
	const char *why = archive_error_string(tarball->archive);

	return err_fail(reterr, EIO, "%s: %s", tarball->path ? tarball->path : "standard output",
			why ? why : "cannot be written");
}

static int open_file(struct tarball *tarball, const char *path, struct err *reterr)
{
	tarball->fd = STDOUT_FILENO;
	if (strcmp(path, "-") == 0)
		return 0;
	tarball->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (tarball->fd < 0)
		return err_fail(reterr, errno, "%s: cannot be created: %s", path, strerror(errno));
	tarball->path = strdup(path);
	if (tarball->path)
		return 0;
	(void)unlink(path);
	return err_fail(reterr, ENOMEM, "out of memory");
}

int tarball_new(const char *path, struct tarball **ret_tarball, struct err *reterr)
{
	struct tarball *tarball = calloc(1, sizeof(*tarball));
	int r;

	if (!tarball)
		return err_fail(reterr, ENOMEM, "out of memory");
	r = open_file(tarball, path, reterr);
	if (r == 0) {
		tarball->archive = archive_write_new();
		if (!tarball->archive)
			r = err_fail(reterr, ENOMEM, "out of memory");
	}
	if (r == 0 && (archive_write_add_filter_gzip(tarball->archive) != ARCHIVE_OK ||
		       archive_write_set_format_ustar(tarball->archive) != ARCHIVE_OK ||
		       archive_write_open_fd(tarball->archive, tarball->fd) != ARCHIVE_OK))
		r = archive_fail(tarball, reterr);
	if (r < 0) {
		tarball_abandon(tarball);
		return r;
	}
	*ret_tarball = tarball;
	return 0;
}

int tarball_add(struct tarball *tarball, const char *name, int64_t time_s, const char *text,
		size_t length, struct err *reterr)
{
	struct archive_entry *entry = archive_entry_new();
	int r = 0;

	if (!entry)
		return err_fail(reterr, ENOMEM, "out of memory");
	archive_entry_set_pathname(entry, name);
	archive_entry_set_filetype(entry, S_IFREG);
	archive_entry_set_perm(entry, 0644);
	archive_entry_set_size(entry, (la_int64_t)length);
	archive_entry_set_mtime(entry, (time_t)time_s, 0);
	if (archive_write_header(tarball->archive, entry) != ARCHIVE_OK ||
	    archive_write_data(tarball->archive, text, length) != (la_ssize_t)length)
		r = archive_fail(tarball, reterr);
	archive_entry_free(entry);
	return r;
}

static void release(struct tarball *tarball)
{
	archive_write_free(tarball->archive);
	if (tarball->path && tarball->fd >= 0)
		(void)close(tarball->fd);
	free(tarball->path);
	free(tarball);
}

int tarball_finish(struct tarball *tarball, struct err *reterr)
{
	int r = 0;

	if (archive_write_close(tarball->archive) != ARCHIVE_OK)
		r = archive_fail(tarball, reterr);
	else if (tarball->path && fsync(tarball->fd) < 0)
		r = err_fail(reterr, errno, "%s: %s", tarball->path, strerror(errno));
	if (r < 0 && tarball->path)
		(void)unlink(tarball->path);
	release(tarball);
	return r;
}

void tarball_abandon(struct tarball *tarball)
{
	if (!tarball)
		return;
	if (tarball->path)
		(void)unlink(tarball->path);
	if (tarball->archive)
		(void)archive_write_fail(tarball->archive);
	release(tarball);
}
