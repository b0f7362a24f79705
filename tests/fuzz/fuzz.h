/* SPDX-License-Identifier: MIT */
/*
 * What the fuzz targets share. Each target is a file fuzz-NAME.c with one function that libFuzzer
 * (see tests/fuzz/run) or tests/unit/base/test-fuzz-corpus.c calls with bytes: a parser must
 * neither fall over them, nor take what it would not give back. Must never hold what one target
 * alone needs.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

#define FUZZ_PATH_MAX 32

/* An input that breaks a promise ends the program, as one that crashes it does. */
#define FUZZ_CHECK(promise)                                                                     \
	do {                                                                                    \
		if (!(promise)) {                                                               \
			fprintf(stderr, "%s:%d: not kept: %s\n", __FILE__, __LINE__, #promise); \
			abort();                                                                \
		}                                                                               \
	} while (0)

/* The bytes as a text of their own, which ends at the first zero byte; the caller frees it. */
static inline char *fuzz_text(const void *data, size_t size)
{
	char *text = malloc(size + 1);

	FUZZ_CHECK(text);
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

/* The bytes as a file without a place on a disk; the caller closes it. */
static inline int fuzz_file(const void *data, size_t size, char path[FUZZ_PATH_MAX])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	FUZZ_CHECK(fd >= 0);
	FUZZ_CHECK(size == 0 || write(fd, data, size) == (ssize_t)size);
	snprintf(path, FUZZ_PATH_MAX, "/proc/self/fd/%d", fd);
	return fd;
}

#endif
