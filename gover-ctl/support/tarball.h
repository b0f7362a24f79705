/* SPDX-License-Identifier: MIT */
/* A compressed tar archive of texts, by libarchive. Must never overwrite a file, nor leave half of
 * one behind. */
#ifndef GOVER_CTL_SUPPORT_TARBALL_H
#define GOVER_CTL_SUPPORT_TARBALL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct tarball;

/* @path "-": standard output. A file is made for its owner alone. -EEXIST and others, with a
 * sentence. */
int tarball_new(const char *path, struct tarball **ret_tarball, struct err *reterr);

/* Adds a file of this name, as of @time_s (Unix). */
int tarball_add(struct tarball *tarball, const char *name, int64_t time_s, const char *text,
		size_t length, struct err *reterr);

/* Finishes it; after a failure the file is gone. @tarball is freed in any case. */
int tarball_finish(struct tarball *tarball, struct err *reterr);

/* Gives it up: the file is gone. NULL is fine. */
void tarball_abandon(struct tarball *tarball);

#endif
