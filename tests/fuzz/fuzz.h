/* SPDX-License-Identifier: MIT */
/*
 * Helpers shared by the fuzz targets. A target is a file fuzz-NAME.c with one FUZZ(NAME) { ... }.
 * libFuzzer (see tests/fuzz/run) or tests/unit/base/test-fuzz-corpus.c, which includes all targets
 * and defines FUZZ_CORPUS, calls this function with an input. No input may crash a parser. An
 * accepted input must be the same after it is written and read again.
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

/* Begins the function of a target, which parses @size bytes of @data and returns 0. */
#ifdef FUZZ_CORPUS
#define FUZZ(name) static int fuzz_##name(const uint8_t *data, size_t size)
#else
#define FUZZ(name)                                                    \
	int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size); \
	int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
#endif

/* Aborts the program if @condition is false. The fuzzer then saves the input, as after a crash. */
#define FUZZ_CHECK(condition)                                                            \
	do {                                                                             \
		if (!(condition)) {                                                      \
			fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, \
				#condition);                                             \
			abort();                                                         \
		}                                                                        \
	} while (0)

/* Returns a copy of the bytes, followed by a NUL. The caller frees the copy. */
static inline char *fuzz_text(const void *data, size_t size)
{
	char *text = malloc(size + 1);

	FUZZ_CHECK(text);
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

/*
 * Creates a file in memory that contains the bytes. Returns its descriptor, which the caller
 * closes, and its path in @path.
 */
static inline int fuzz_file(const void *data, size_t size, char path[FUZZ_PATH_MAX])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	FUZZ_CHECK(fd >= 0);
	FUZZ_CHECK(size == 0 || write(fd, data, size) == (ssize_t)size);
	snprintf(path, FUZZ_PATH_MAX, "/proc/self/fd/%d", fd);
	return fd;
}

#endif
