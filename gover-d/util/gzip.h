/* SPDX-License-Identifier: MIT */
/* Compresses texts into the gzip format (RFC 1952) with zlib: at once, or in parts. */
#ifndef GOVER_D_UTIL_GZIP_H
#define GOVER_D_UTIL_GZIP_H

#include <stddef.h>

/*
 * Compresses @length bytes. The result is in memory from malloc and smaller than @length. -ENOSPC:
 * it would not be smaller. -ENOMEM: out of memory.
 */
int gzip_pack(const char *data, size_t length, char **ret_packed, size_t *ret_length);

/* The compression of one text in parts of at most 64 KiB of the text. Needs 256 KiB. */
struct gzip_stream;

/* @data must exist as long as the stream. Returns NULL if out of memory. */
struct gzip_stream *gzip_stream_new(const char *data, size_t length);
struct gzip_stream *gzip_stream_free(struct gzip_stream *stream); /* accepts NULL; returns NULL */

/*
 * Writes the next part into @buffer, which must not be empty. Returns its length; 0 after the last
 * part.
 */
size_t gzip_stream_read(struct gzip_stream *stream, char *buffer, size_t size);

#endif
