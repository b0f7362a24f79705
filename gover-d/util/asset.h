/* SPDX-License-Identifier: MIT */
/* The files of the web page (gover-d/web/), embedded in the program. */
#ifndef GOVER_D_UTIL_ASSET_H
#define GOVER_D_UTIL_ASSET_H

#include <stddef.h>

struct asset {
	const char *path, *type;
	/* The file, and its form compressed with gzip. */
	struct asset_form {
		char *bytes; /* read-only; not const: libmicrohttpd takes a non-const pointer */
		size_t size;
		const char *etag; /* with quotes; the same for all files of a build */
	} plain, packed;
};

/* Finds the file for the URL path @path: "/" or "/web/FILE". -ENOENT: unknown path. */
int asset_find(const char *path, struct asset *ret_asset);

#endif
