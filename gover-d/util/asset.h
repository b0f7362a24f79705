/* SPDX-License-Identifier: MIT */
/* The files of the page (gover-d/web/), as they were built in. Knows no route, and reads nothing
 * from a disk. */
#ifndef GOVER_D_UTIL_ASSET_H
#define GOVER_D_UTIL_ASSET_H

#include <stddef.h>

struct asset {
	const char *path, *type;
	char *bytes; /* never to be written; not const, as those who send it want it */
	size_t size;
	const char *etag; /* with its quotes; the same for all, they are of one build */
};

/* -ENOENT: there is nothing at @path ("/", or "/web/" and a file's name). */
int asset_find(const char *path, struct asset *ret_asset);

#endif
