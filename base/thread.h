/* SPDX-License-Identifier: MIT */
/* Threads that receive no signals. The main loop handles signals, and an unblocked SIGXFSZ in a
 * thread would end the program. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

/* Starts a thread that runs @run(@userdata). @name has at most 15 characters. */
int thread_start(pthread_t *ret_thread, void *(*run)(void *userdata), void *userdata,
		 const char *name);

/*
 * Runs @job(@userdata, 0) to @job(@userdata, @n - 1) on all CPUs, and returns after the last one.
 * The calling thread runs jobs too, so that it works even if no thread can be started.
 */
void thread_run_all(int n, void (*job)(void *userdata, int index), void *userdata);

#endif
