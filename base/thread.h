/* SPDX-License-Identifier: MIT */
/* A thread beside a loop. Must never let a signal come to it: those are for the loop, and that of a
 * file size limit would end the program. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

/* @name has at most 15 characters. A negative errno: there is no thread. */
int thread_start(pthread_t *ret_thread, void *(*run)(void *userdata), void *userdata,
		 const char *name);

#endif
