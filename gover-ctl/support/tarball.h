/* SPDX-License-Identifier: MIT */
/* A compressed tar archive of texts, written with libarchive. An existing file is never
 * overwritten, and an incomplete file is removed. */
#ifndef GOVER_CTL_SUPPORT_TARBALL_H
#define GOVER_CTL_SUPPORT_TARBALL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct tarball;

/*
 * Creates an archive that only its owner can read. If @path is "-", the archive is written to
 * standard output. Returns 0 or a negative errno, -EEXIST if the file exists.
 */
int tarball_new(const char *path, struct tarball **ret_tarball, struct err *reterr);

/* Adds a file with the modification time @time_s, in Unix seconds. */
int tarball_add(struct tarball *tarball, const char *name, int64_t time_s, const char *text,
		size_t length, struct err *reterr);

/* Finishes the archive; on failure the file is removed. Always frees @tarball. */
int tarball_finish(struct tarball *tarball, struct err *reterr);

/* Removes the file and frees @tarball. Accepts NULL. */
void tarball_abandon(struct tarball *tarball);

#endif
