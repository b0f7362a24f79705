/* SPDX-License-Identifier: MIT */
/*
 * The target of a request (RFC 9112, section 3.2): decodes escapes, and finds the path and the
 * authority. Performs no I/O and allocates no memory.
 */
#ifndef GOVER_D_HTTP_TARGET_H
#define GOVER_D_HTTP_TARGET_H

#include <stdbool.h>
#include <stddef.h>

struct http_target {
	const char *path;      /* still escaped; "/" if the target has no path */
	const char *authority; /* not terminated by NUL; NULL: the target has the origin form */
	size_t authority_length;
};

/*
 * Splits @target, which has no query: "/path" or "http://authority/path". Another text, such as
 * "*", is a path that no route has. -EINVAL: the target has a scheme, but its authority is empty or
 * contains "@".
 */
int http_target_split(const char *target, struct http_target *ret_target);

/*
 * Decodes @text into *@at, which must have space for strlen(@text) + 1 bytes, and advances *@at
 * after the NUL. Returns the decoded text. These escapes remain: those of NUL, which would end the
 * text early; in a path also those of "/", which is not a separator if it is escaped (RFC 3986,
 * section 2.2); and malformed ones. Such a text matches no object, because no name contains "%".
 */
const char *http_target_decode(char **at, const char *text, bool is_path);

#endif
