/* SPDX-License-Identifier: MIT */
/* Decompresses gzip for tests. */
#ifndef TESTS_UNIT_UNPACK_H
#define TESTS_UNIT_UNPACK_H

#include <stddef.h>
#include <stdlib.h>
#include <zlib.h>

#define UNPACK_MAX ((size_t)4 << 20)

/*
 * Returns the text, to be freed by the caller. NULL: the data are not exactly one complete gzip
 * member, or the text is longer than UNPACK_MAX.
 */
static inline char *unpack(const void *data, size_t length)
{
	char *text = malloc(UNPACK_MAX + 1);
	z_stream stream = {
		.next_in = (Bytef *)(uintptr_t)data,
		.avail_in = (uInt)length,
		.next_out = (Bytef *)text,
		.avail_out = UNPACK_MAX,
	};
	int r;

	if (!text || inflateInit2(&stream, MAX_WBITS + 16) != Z_OK) {
		free(text);
		return NULL;
	}
	r = inflate(&stream, Z_FINISH);
	(void)inflateEnd(&stream);
	if (r != Z_STREAM_END || stream.avail_in > 0) {
		free(text);
		return NULL;
	}
	text[stream.total_out] = '\0';
	return text;
}

#endif
