/* SPDX-License-Identifier: MIT */
/*
 * Shared memory of a fixed size. Another process maps only memory with these seals, because an
 * access beyond the end of a file that was cut would end that process (SIGBUS).
 */
#ifndef BASE_PRELOAD_SEALED_MEMFD_H
#define BASE_PRELOAD_SEALED_MEMFD_H

#include <stddef.h>

/* Creates a memfd of @bytes without seals, not executable and O_CLOEXEC. Returns the fd, or -1 and
 * sets errno. */
int sealed_memfd_create(const char *name, size_t bytes);

/*
 * Seals @fd against changes of its size, with the further @seals, and against further seals. Map
 * the memory before if @seals contains F_SEAL_FUTURE_WRITE. Returns 0 or a negative errno.
 */
int sealed_memfd_seal(int fd, int seals);

#endif
