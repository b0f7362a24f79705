/* SPDX-License-Identifier: MIT */
/* Finds the real functions, which the host program would call without the hooks of this library. */
#ifndef FPS_PRELOAD_SYMBOL_H
#define FPS_PRELOAD_SYMBOL_H

#include <stdbool.h>

/*
 * Marks functions that may run before any constructor, for example when a sanitizer or an allocator
 * calls dlsym(). They call no function of the C library, because such a function may be replaced by
 * a library that is not initialised yet.
 */
#define SYMBOL_EARLY __attribute__((no_sanitize("address", "undefined")))

typedef void *(*symbol_dlsym_fn)(void *handle, const char *name);
typedef void *(*symbol_dlvsym_fn)(void *handle, const char *name, const char *version);

/*
 * Return the real dlsym() and dlvsym(), that is, those of the C library or of another preloaded
 * library. Never return NULL.
 */
symbol_dlsym_fn symbol_dlsym(void);
symbol_dlvsym_fn symbol_dlvsym(void);

/* Returns the real GL function @name, or NULL with dlerror() set if no GL library is loaded. */
void *symbol_find(const char *name);

SYMBOL_EARLY static inline bool symbol_same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

#endif
