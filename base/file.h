/* SPDX-License-Identifier: MIT */
/* Small files: kernel attributes that are read repeatedly through an open fd, and files that are
 * replaced atomically. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Reads a kernel attribute from offset 0 as text without its last newline. Returns the length of
 * the text, or a negative errno (-ENOBUFS: the text is longer than @size - 1).
 */
int file_pread_text(int fd, char *text, size_t size);
int file_read_text(const char *path, char *text, size_t size); /* opens the file */

/*
 * Reads a kernel attribute that is one unsigned decimal number. Returns -EINVAL if the text is not
 * such a number.
 */
int file_pread_u64(int fd, uint64_t *ret_value);

/*
 * Writes @text, or @value in decimal, with one system call at offset 0. Returns 0 or a negative
 * errno (-EIO: short write).
 */
int file_pwrite_text(int fd, const char *text);
int file_pwrite_i64(int fd, int64_t value);
int file_write_text(const char *path, const char *text); /* opens the file */

/*
 * Opens a regular file or /dev/null with @flags of open(2) and, with O_CREAT, @mode. Never waits
 * for the other end of a FIFO. Returns the descriptor, or a negative errno: -EISDIR for
 * a folder, and -EINVAL for any other kind of file, because reading a FIFO or a device could block
 * or never end.
 */
int file_open(const char *path, int flags, unsigned int mode);
/*
 * Returns the text of a negative errno of these functions: -EINVAL is "not a regular file", and
 * -EOPNOTSUPP is about fsync() of a folder.
 */
const char *file_error(int r);

/* Reads a whole regular file. *ret_text ends with a NUL and the caller frees it; @ret_length may be
 * NULL. Returns -EFBIG if the file is larger than @max bytes, and errors of file_open(). */
int file_read(const char *path, size_t max, char **ret_text, size_t *ret_length);
/* Like file_read(), for a file that a user names: also reads a FIFO, and waits for its other end.
 */
int file_read_input(const char *path, size_t max, char **ret_text);

/* Opens a regular file for reading; the caller closes it. Errors: as file_open(). */
int file_open_stream(const char *path, FILE **ret_file);

/*
 * Replaces @path atomically and durably: writes PATH.new, fsync, rename, fsync of the folder. After
 * a failure, also of the last step, @path has its old content. Until the last step has succeeded,
 * PATH.before is a link to the old file, or a copy if the file system has no hard links. A file
 * or link of the name PATH.new is removed and not followed; a folder of this name is an error.
 * -EOPNOTSUPP: the file system cannot make the rename durable.
 */
int file_replace(const char *path, const char *text, size_t length);

/* Files that are damaged are not removed, but renamed to PATH.damaged-TIME. */
#define FILE_ASIDE_MARK ".damaged-"
/* Finds the first such name that no file has. Returns 0 or a negative errno. */
int file_name_aside(const char *path, char ret_path[PATH_MAX]);
/* Renames @path to such a name. Returns 0 or a negative errno. */
int file_set_aside(const char *path, char ret_path[PATH_MAX]);
/* True if @path exists and is not a regular file; a symbolic link is none. */
bool file_is_other(const char *path);

/*
 * Calls @found (may be NULL) for each path that matches @pattern, glob(7), in order. Returns the
 * number of these paths.
 */
int file_each_match(const char *pattern, void (*found)(void *userdata, const char *path),
		    void *userdata);

/* Creates the folder @path and its parents, mode 0755. Succeeds if the folder exists already. */
int file_make_dirs(const char *path);

/* Creates the folder that contains @path, and the parents of that folder. */
int file_make_parents(const char *path);

/*
 * Checks that execvp() finds @command in @search_path (PATH). Returns 0, -ENOENT, or -EACCES if
 * @command is found but not executable.
 */
int file_find_command(const char *command, const char *search_path);

#endif
