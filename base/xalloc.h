/* SPDX-License-Identifier: MIT */
/*
 * Memory that is always available: if an allocation fails, the program logs one line and ends with
 * status 1. No function returns NULL. Programs give xmalloc() to jansson and sqlite too, so that
 * these fail for other reasons only. Not for libraries in customers' programs and not for
 * gover-arbiter, which handle a failed allocation instead.
 *
 * A daemon also opens a mark, a file that shows the next start that memory was exhausted.
 */
#ifndef BASE_XALLOC_H
#define BASE_XALLOC_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins each program. @program (static) is its name in the line of a failed allocation. */
void xalloc_init(const char *program);

/*
 * The functions of libc with the same name without x. xrealloc() with a size of 0 returns a block
 * as well.
 */
#define XALLOC(...) __attribute__((malloc, returns_nonnull, warn_unused_result, ##__VA_ARGS__))
void *xmalloc(size_t size) XALLOC(alloc_size(1));
void *xcalloc(size_t n, size_t size) XALLOC(alloc_size(1, 2));
char *xstrdup(const char *text) XALLOC(nonnull);
char *xstrndup(const char *text, size_t max) XALLOC(nonnull);
char *xasprintf(const char *format, ...) XALLOC(format(printf, 1, 2));
void *xrealloc(void *block, size_t size)
	__attribute__((returns_nonnull, warn_unused_result, alloc_size(2)));
void *xreallocarray(void *block, size_t n, size_t size)
	__attribute__((returns_nonnull, warn_unused_result, alloc_size(2, 3)));

/*
 * Ends the program as a failed allocation of @size bytes does; 0: the size is unknown. Called in
 * any thread, also if a library reports that it has no memory.
 */
_Noreturn void xalloc_fail(size_t size);

/*
 * Opens the mark @path, which is created if missing and stays open. Returns 0 or a negative errno;
 * the program then ends without a mark.
 */
int xalloc_open_mark(const char *path);

bool xalloc_has_mark(void); /* true after xalloc_open_mark() has succeeded */

/*
 * Returns true if the mark is set. *ret_wall_ms is the time at which memory was exhausted
 * (instant.wall_ms), or the time of the last of several such ends.
 */
bool xalloc_marked(int64_t *ret_wall_ms);

/* Clears the mark. Returns 0 or a negative errno. */
int xalloc_clear_mark(void);

#endif
