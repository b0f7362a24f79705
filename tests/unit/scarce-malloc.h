/* SPDX-License-Identifier: MIT */
/*
 * Replaces malloc() in a test program, so that chosen allocations fail, including those of
 * libraries: of one thread, or of every thread if the test sets scarce.every_thread. Include it
 * once in a program. With a sanitizer, the other allocations are those of the sanitizer, so that it
 * finds every misuse and every leak.
 */
#ifndef TESTS_UNIT_SCARCE_MALLOC_H
#define TESTS_UNIT_SCARCE_MALLOC_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#if defined(__has_feature)
#define SCARCE_HAS_FEATURE(feature) __has_feature(feature)
#else
#define SCARCE_HAS_FEATURE(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
	SCARCE_HAS_FEATURE(address_sanitizer) || SCARCE_HAS_FEATURE(thread_sanitizer)
#define SCARCE_REAL(function) __interceptor_##function
#else
#define SCARCE_REAL(function) __libc_##function
#endif

/* The sanitizer itself allocates memory before it can check memory. */
#define SCARCE_UNCHECKED __attribute__((no_sanitize("address", "thread", "undefined")))

void *SCARCE_REAL(malloc)(size_t size);
void *SCARCE_REAL(calloc)(size_t n, size_t size);
void *SCARCE_REAL(realloc)(void *block, size_t size);

/* The allocations since scarce_begin(), and the one that fails. */
static struct {
	atomic_bool armed;
	bool lasting, every_thread;
	long failing;
	atomic_long n, n_failed;
} scarce;
static _Thread_local bool scarce_here; /* scarce_begin() was called in this thread */

/*
 * From now on, the allocation @failing (1, 2, ...) of this thread fails; 0: none fails. @lasting:
 * all later allocations fail as well.
 */
static inline void scarce_begin(long failing, bool lasting)
{
	scarce.n = scarce.n_failed = 0;
	scarce.failing = failing;
	scarce.lasting = lasting;
	scarce_here = true;
	scarce.armed = true;
}

/* Stop and continue counting, for code between two parts of a test. */
static inline void scarce_pause(void)
{
	scarce.armed = false;
}

static inline void scarce_resume(void)
{
	scarce.armed = true;
}

/* Ends the failures. Returns true if an allocation has failed. */
static inline bool scarce_end(void)
{
	scarce.armed = false;
	return scarce.n_failed > 0;
}

SCARCE_UNCHECKED static inline bool scarce_fails(void)
{
	long n;

	if (!scarce.armed || !(scarce_here || scarce.every_thread))
		return false;
	n = ++scarce.n;
	if (scarce.failing == 0 || n < scarce.failing || (n > scarce.failing && !scarce.lasting))
		return false;
	scarce.n_failed++;
	errno = ENOMEM;
	return true;
}

SCARCE_UNCHECKED void *malloc(size_t size)
{
	return scarce_fails() ? NULL : SCARCE_REAL(malloc)(size);
}

SCARCE_UNCHECKED void *calloc(size_t n, size_t size)
{
	return scarce_fails() ? NULL : SCARCE_REAL(calloc)(n, size);
}

SCARCE_UNCHECKED void *realloc(void *block, size_t size)
{
	return scarce_fails() ? NULL : SCARCE_REAL(realloc)(block, size);
}

/* A sanitizer replaces strdup() by a function that does not call malloc(). */
char *strdup(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = malloc(size);

	return copy ? memcpy(copy, text, size) : NULL;
}

char *strndup(const char *text, size_t max)
{
	size_t n = strnlen(text, max);
	char *copy = malloc(n + 1);

	if (!copy)
		return NULL;
	memcpy(copy, text, n);
	copy[n] = '\0';
	return copy;
}

#endif
