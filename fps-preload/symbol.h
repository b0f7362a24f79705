/* SPDX-License-Identifier: MIT */
/* The functions behind the hooks: what the host program would have reached without us. */
#ifndef FPS_PRELOAD_SYMBOL_H
#define FPS_PRELOAD_SYMBOL_H

#include <stdbool.h>

/*
 * Marks what may run before any constructor, when a sanitizer or an allocator looks up its own
 * first functions: such code calls no function of the C library, any of which may be somebody's
 * stand-in that is not ready yet.
 */
#define SYMBOL_EARLY __attribute__((no_sanitize("address", "undefined")))

typedef void *(*symbol_dlsym_fn)(void *handle, const char *name);
typedef void *(*symbol_dlvsym_fn)(void *handle, const char *name, const char *version);

/* The dlsym() and dlvsym() behind ours: another preload's, or the C library's. Never NULL. */
symbol_dlsym_fn symbol_dlsym(void);
symbol_dlvsym_fn symbol_dlvsym(void);

/* The GL function @name behind ours, or NULL with dlerror() set: none is loaded. */
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
