/* SPDX-License-Identifier: MIT */
/*
 * A preload library that counts allocations and locks, because a frame must use none. Prints
 * "allocations N locks N" on stderr at exit.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static unsigned long allocations, locks;

static void count(unsigned long *counter)
{
	(void)__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

void *malloc(size_t size)
{
	count(&allocations);
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	count(&allocations);
	return __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	count(&allocations);
	return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	count(&allocations);
	return __libc_memalign(alignment, size);
}

#define LOCK(name, type)                                                \
	int name(type *lock)                                            \
	{                                                               \
		static int (*real)(type *);                             \
                                                                        \
		count(&locks);                                          \
		if (!real) {                                            \
			void *volatile found = dlsym(RTLD_NEXT, #name); \
                                                                        \
			real = (int (*)(type *))found;                  \
		}                                                       \
		return real(lock);                                      \
	}

LOCK(pthread_mutex_lock, pthread_mutex_t)
LOCK(pthread_mutex_trylock, pthread_mutex_t)
LOCK(pthread_spin_lock, pthread_spinlock_t)
LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)

__attribute__((destructor)) static void print_counts(void)
{
	char text[80];
	int length =
		snprintf(text, sizeof(text), "allocations %lu locks %lu\n", allocations, locks);

	if (write(STDERR_FILENO, text, (size_t)length) < 0)
		return;
}
