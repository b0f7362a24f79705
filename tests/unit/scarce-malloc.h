/* SPDX-License-Identifier: MIT */
/*
 * Replaces malloc() in a test program, so that chosen allocations of one thread fail, including
 * those of libraries. Include it once in a program. With a sanitizer, the other allocations are
 * those of the sanitizer, so that it finds every misuse and every leak.
 */
#ifndef TESTS_UNIT_SCARCE_MALLOC_H
#define TESTS_UNIT_SCARCE_MALLOC_H

#include <errno.h>
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

void *SCARCE_REAL(malloc)(size_t size);
void *SCARCE_REAL(calloc)(size_t n, size_t size);
void *SCARCE_REAL(realloc)(void *block, size_t size);

/* The state of this thread: allocations since scarce_begin(), and the one that fails. */
static _Thread_local struct {
	bool armed, lasting;
	long n, failing, n_failed;
} scarce;

/*
 * From now on, the allocation @failing (1, 2, ...) of this thread fails; 0: none fails. @lasting:
 * all later allocations fail as well.
 */
static inline void scarce_begin(long failing, bool lasting)
{
	scarce.n = scarce.n_failed = 0;
	scarce.failing = failing;
	scarce.lasting = lasting;
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

static inline bool scarce_fails(void)
{
	if (!scarce.armed)
		return false;
	scarce.n++;
	if (scarce.failing == 0 || scarce.n < scarce.failing ||
	    (scarce.n > scarce.failing && !scarce.lasting))
		return false;
	scarce.n_failed++;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return scarce_fails() ? NULL : SCARCE_REAL(malloc)(size);
}

void *calloc(size_t n, size_t size)
{
	return scarce_fails() ? NULL : SCARCE_REAL(calloc)(n, size);
}

void *realloc(void *block, size_t size)
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
