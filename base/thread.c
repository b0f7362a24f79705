/* SPDX-License-Identifier: MIT */
/* A new thread inherits the signal mask of its creator, so all signals are blocked while a thread
 * is created. */
#include <signal.h>

#include "base/thread.h"

int thread_start(pthread_t *ret_thread, void *(*run)(void *userdata), void *userdata,
		 const char *name)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	r = -pthread_sigmask(SIG_SETMASK, &all, &before);
	if (r < 0)
		return r;
	r = -pthread_create(ret_thread, NULL, run, userdata);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r >= 0)
		(void)pthread_setname_np(*ret_thread, name);
	return r;
}
