/* SPDX-License-Identifier: MIT */
/* Small files: kernel attributes kept open, and files of ours that are replaced whole or not at
 * all. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Reads a kernel attribute from its start on a kept-open fd, as text without its last newline.
 * Returns the length, or a negative errno (-ENOBUFS: longer than @size - 1).
 */
int file_pread_text(int fd, char *text, size_t size);

/* The same, parsed strictly as one unsigned decimal number. -EINVAL: something else stands there.
 */
int file_pread_u64(int fd, uint64_t *ret_value);

/* Writes @value in decimal at offset 0. Returns 0 or a negative errno (-EIO: short write). */
int file_pwrite_i64(int fd, int64_t value);

/* Opens (O_CLOEXEC), reads and closes. *ret_text is NUL-terminated and the caller's to free.
 * -EFBIG: larger than @max bytes. */
int file_read(const char *path, size_t max, char **ret_text, size_t *ret_length);

/* Opens a regular file for reading as a stream, the caller's to close. -EINVAL: it is something
 * else, which might never end or never begin. */
int file_open_stream(const char *path, FILE **ret_file);

/*
 * Replaces @path atomically and durably (temporary file beside it, fsync, rename, fsync of the
 * folder). After a failure the old file stands untouched.
 */
int file_replace(const char *path, const char *text, size_t length);

/* Creates the folder @path and its parents, mode 0755. Succeeds if it exists already. */
int file_make_dirs(const char *path);

/* Creates the folder that contains @path. */
int file_make_parents(const char *path);

#endif
