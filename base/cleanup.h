/* SPDX-License-Identifier: MIT */
/* Local variables that are freed or closed at the end of their scope. */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static inline void cleanup_freep(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_closep(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

#define CLEANUP_FREE  __attribute__((cleanup(cleanup_freep)))
#define CLEANUP_CLOSE __attribute__((cleanup(cleanup_closep)))

/* Returns *@fd and sets it to -1, so that CLEANUP_CLOSE does not close it. */
static inline int steal_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#endif
